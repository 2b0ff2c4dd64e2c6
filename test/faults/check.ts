/**
 * Compares what witnesses wrote down with what the database says, by plain SQL over a connection of its own. Answers with
 * complaints; none means that nothing was lost, doubled or left half-way.
 */
import type { Acknowledged, Heard, Mark, Received } from './witness.ts'

export type Ask = <R extends object>(sql: string, values?: readonly unknown[]) => Promise<R[]>

export interface Seen {
  readonly acknowledged?: readonly Acknowledged[]
  readonly received?: readonly Received[]
  readonly heard?: readonly Heard[]
  readonly marks?: readonly Mark[]
}

export async function check(ask: Ask, seen: Seen = {}): Promise<string[]> {
  return [
    ...(await logs(ask)),
    ...(await slots(ask)),
    ...(await acknowledged(ask, seen.acknowledged ?? [])),
    ...(await received(ask, seen.received ?? [])),
    ...(await heard(ask, seen.heard ?? [])),
    ...inOrder(seen.marks ?? []),
  ]
}

interface Log {
  readonly session_key: string
  readonly last_seq: number
  readonly done_seq: number
  readonly seqs: number[]
  readonly turns: number[]
  readonly positions: string[]
}

/** Numbers without a gap, at most one committed turn for each event, none beyond the log, no effect of a turn that is not committed. */
async function logs(ask: Ask): Promise<string[]> {
  const rows = await ask<Log>(
    `select s.session_key, s.last_seq, s.done_seq,
       array(select seq from wakeful.events e where e.session_key = s.session_key order by 1) as seqs,
       array(select event_seq from wakeful.turns t where t.session_key = s.session_key and t.status = 'committed' order by 1) as turns,
       array(select distinct event_seq || '' from wakeful.effects f where f.session_key = s.session_key) as positions
     from wakeful.sessions s`,
  )
  return rows.flatMap(({ session_key: key, last_seq, done_seq, seqs, turns, positions }) => {
    const complaints: string[] = []
    if (seqs.some((seq, n) => seq !== n + 1))
      complaints.push(`${key}: seq has a gap or a double: ${seqs}`)
    if (seqs.length !== last_seq)
      complaints.push(`${key}: last_seq is ${last_seq}, events are ${seqs.length}`)
    if (new Set(turns).size !== turns.length)
      complaints.push(`${key}: an event was completed twice: ${turns}`)
    if (turns.some((seq) => seq > done_seq))
      complaints.push(`${key}: a turn is beyond done_seq ${done_seq}: ${turns}`)
    const known = new Set(turns.map(String))
    const orphans = positions.filter((seq) => !known.has(seq))
    if (orphans.length > 0)
      complaints.push(`${key}: effects of events without a committed turn: ${orphans}`)
    return complaints
  })
}

/** A slot becomes an event once, and is delivered under one id. */
async function slots(ask: Ask): Promise<string[]> {
  const events = await ask<{ name: string; times: number }>(
    `select trigger_id || ' ' || scheduled_for as name, count(*)::int as times from wakeful.events
     where type in ('alarm', 'timer', 'intent', 'work') and trigger_id is not null and scheduled_for is not null
       and coalesce(payload::jsonb ->> 'attempt', '1') = '1'
     group by 1 having count(*) > 1`,
  )
  const wakes = await ask<{ name: string; times: number }>(
    `select alarm_id || ' ' || scheduled_for as name, count(*)::int as times from wakeful.alarm_wakes group by 1 having count(*) > 1`,
  )
  return [...events, ...wakes].map(({ name, times }) => `slot ${name} was taken ${times} times`)
}

/** What callers were told is written is there, once, under the number they were told. */
async function acknowledged(ask: Ask, all: readonly Acknowledged[]): Promise<string[]> {
  if (all.length === 0) return []
  const rows = await ask<{ client_id: string; key: string; seq: number }>(
    `select client_id, session_key as key, seq from wakeful.events where client_id is not null`,
  )
  const found = new Map<string, string[]>()
  for (const { client_id, key, seq } of rows)
    found.set(client_id, [...(found.get(client_id) ?? []), `${key} ${seq}`])
  return all.flatMap(({ id, key, seq }) => {
    const there = found.get(id) ?? []
    return there.length === 1 && there[0] === `${key} ${seq}`
      ? []
      : [`acknowledged ${id} as ${key} ${seq}, found ${JSON.stringify(there)}`]
  })
}

/** A call that came twice for one slot came under one id; and what was answered with 2xx last is recorded as taken. */
async function received(ask: Ask, all: readonly Received[]): Promise<string[]> {
  if (all.length === 0) return []
  const ids = new Map<string, Set<string>>()
  for (const { alarm, slot, delivery } of all) {
    const name = `${alarm} ${slot}`
    ids.set(name, (ids.get(name) ?? new Set()).add(delivery))
  }
  const doubled = [...ids].filter(([, deliveries]) => deliveries.size > 1)
  const taken = new Set(all.filter(({ answer }) => answer < 300).map(({ delivery }) => delivery))
  const rows = await ask<{ delivery_id: string; status: string }>(
    'select delivery_id, status from wakeful.alarm_wakes',
  )
  const complaints = doubled.map(([name]) => `slot ${name} came under several ids`)
  for (const { delivery_id, status } of rows)
    if (status === 'taken' && !taken.has(delivery_id))
      complaints.push(`${delivery_id} is recorded as taken, but no receiver took it`)
  return complaints
}

/** Whatever a reader heard is a message of its session, and each reader heard the messages of a session in their order. */
async function heard(ask: Ask, all: readonly Heard[]): Promise<string[]> {
  if (all.length === 0) return []
  const rows = await ask<{ id: string; session_key: string; position: string }>(
    'select id, session_key, position::text from wakeful.effects',
  )
  const effects = new Map(rows.map((row) => [row.id, row]))
  const complaints: string[] = []
  const last = new Map<string, bigint>()
  const first = new Set<string>()
  for (const { key, id, reader } of all) {
    const effect = effects.get(id)
    if (effect?.session_key !== key)
      complaints.push(`${reader} heard ${id} of ${key}, which is not there`)
    if (effect === undefined || first.has(`${reader} ${id}`)) continue
    first.add(`${reader} ${id}`)
    const before = last.get(`${reader} ${key}`) ?? -1n
    if (BigInt(effect.position) < before)
      complaints.push(`${reader} heard ${id} of ${key} out of order`)
    last.set(`${reader} ${key}`, BigInt(effect.position))
  }
  return complaints
}

/**
 * Agents were entered in the order of the log. One that was held up between its claim and its agent may enter late, when another has
 * taken its lease and gone on: its attempt is then lower than one that was there before, and what it does is not written.
 */
function inOrder(marks: readonly Mark[]): string[] {
  const last = new Map<string, number>()
  const attempts = new Map<string, number>()
  return marks.flatMap(({ what, key, seq, attempt, pid }) => {
    if (what !== 'start') return []
    const before = last.get(key) ?? 0
    last.set(key, Math.max(before, seq))
    const highest = attempts.get(`${key} ${seq}`) ?? 0
    attempts.set(`${key} ${seq}`, Math.max(highest, attempt))
    return seq < before && attempt >= highest
      ? [
          `${key}: event ${seq} (attempt ${attempt}, process ${pid}) was run after ${before}; ${historyOf(marks, key)}`,
        ]
      : []
  })
}

const historyOf = (marks: readonly Mark[], of: string) =>
  marks
    .filter(({ key }) => key === of)
    .map(({ what, seq, attempt, pid }) => `${what} ${seq}/${attempt} by ${pid}`)
    .join(', ')
