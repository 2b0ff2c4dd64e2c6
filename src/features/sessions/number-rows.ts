/**
 * The numbers of events in their sessions, for slots that become events. A session that is idle can be leased on the way, as a claim would,
 * for who promotes what it then runs: its row is written once instead of twice, and the turn begins without another look.
 */

import type { EventType, SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { inMs, NOW } from '../../store/due.ts'
import type { Appended, Numbered, SlotEvent } from '../../store/slots.ts'
import { type Columns, rowsOf, statement } from '../../store/statement.ts'
import { personOf } from '../people/rows.ts'
import { bindInFlight } from './in-flight-rows.ts'
import { type ClaimedTurn, type SessionLease, stateOf } from './rows.ts'

interface Head {
  readonly session: SessionRef
  total: number
  /** To be leased, if it is idle. */
  wanted: boolean
}

const HEAD: Columns<Head> = {
  bucket: ['smallint', ({ session }) => session.bucket],
  session_key: ['text', ({ session }) => session.key],
  user_id: ['text', ({ session }) => session.userId],
  agent_id: ['text', ({ session }) => session.agentId],
  thread_id: ['text', ({ session }) => session.threadId],
  total: ['int', ({ total }) => total],
}

/** Makes the sessions that are missing and takes the numbers, under the lock of each row, always in the same order. */
const numbering = (i: string, set: string, returning: string) =>
  `insert into wakeful.sessions as s (bucket, session_key, user_id, agent_id, thread_id, last_seq, due_at, created_at, updated_at
      ${set === '' ? '' : ', leased_until, claim_token, claimed_at'})
    select bucket, session_key, user_id, agent_id, thread_id, total, ${NOW}, ${NOW}, ${NOW} ${set}
    from ${i}
    order by bucket, session_key
    on conflict (bucket, session_key) do update
      set last_seq = s.last_seq + excluded.last_seq, due_at = coalesce(s.due_at, excluded.due_at), updated_at = excluded.updated_at
        ${set === '' ? '' : ['leased_until', 'claim_token', 'claimed_at'].map(leasedIfIdle).join('')}
      where s.in_flight is null
    returning s.session_key, s.last_seq${returning}`

const leasedIfIdle = (column: string) =>
  `, ${column} = case when excluded.claim_token is not null and s.done_seq = s.last_seq then excluded.${column} else s.${column} end`

const NUMBER = statement({ i: rowsOf(HEAD) }, ({ i }) => numbering(i, '', ''))

const NUMBER_AND_LEASE = statement(
  {
    i: rowsOf<Head>({ ...HEAD, wanted: ['boolean', ({ wanted }) => wanted] }),
    token: 'uuid',
    leaseMs: 'int',
  },
  ({ i, token, leaseMs }) => {
    const ifWanted = (value: string) => `, case when wanted then ${value} end`
    const lease = [inMs(leaseMs), token, NOW].map(ifWanted).join('')
    const returning = `, s.bucket, s.user_id, s.done_seq, s.checkpoint_id, s.attempt, s.deaths, s.last_user_seq,
      s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to, coalesce(s.claim_token = ${token}, false) as leased`
    return `with heads as (${numbering(i, lease, returning)})
    select h.*, ${NOW} as now, case when h.leased then ${stateOf('h')} end as state, case when h.leased then ${personOf('h')} end as person
    from heads h`
  },
)

/** The rest comes with its event. */
type LeasedHead = Omit<
  ClaimedTurn,
  keyof Appended | 'event_id' | 'type' | 'seq' | 'was_due_at' | 'event_created_at' | 'last_seq'
> & { readonly last_seq: number; readonly done_seq: number; readonly leased: boolean }

interface NumberRow extends Partial<LeasedHead> {
  readonly session_key: string
  readonly last_seq: number
}

/** Leases for turns that are to begin at once, as many as there are places. */
export interface NumberLease extends SessionLease {
  readonly places: number
}

/** An event of a slot that may be late. */
interface TakenEvent extends SlotEvent {
  readonly late: boolean
}

/** What a session was leased for: its next event. */
interface Begun extends Numbered<SlotEvent> {
  readonly head: LeasedHead
}

/** Numbers the events, in the given order within each session. The caller writes them, or undoes the transaction. */
export async function assignSeq<E extends SlotEvent>(
  tx: Db,
  events: readonly E[],
): Promise<readonly Numbered<E>[]> {
  const heads = headsOf(events)
  return inOrder(events, heads, await numbersOf(tx, heads, (i) => NUMBER.run<NumberRow>(tx, { i })))
}

/** Sessions with something in flight are locked but not numbered: its event comes first. */
async function numbersOf<R extends NumberRow>(
  tx: Db,
  heads: ReadonlyMap<string, Head>,
  number: (i: readonly Head[]) => Promise<R[]>,
): Promise<R[]> {
  const numbered = await number([...heads.values()])
  if (numbered.length === heads.size) return numbered
  const left = new Map(heads)
  for (const row of numbered) left.delete(row.session_key)
  await bindInFlight(
    tx,
    [...left.values()].map(({ session }) => session),
  )
  return [...numbered, ...(await number([...left.values()]))]
}

/**
 * Turns due slots into events, within the transaction that holds their locks; answers with the turns whose sessions were leased.
 * `append` writes them all, and tells of those whose ids it is given how they were written.
 */
export async function promoteAsEvents<E extends TakenEvent>(
  tx: Db,
  type: EventType,
  events: readonly E[],
  lease: NumberLease | null,
  append: (i: readonly Numbered<E>[], begun: readonly string[]) => Promise<readonly Appended[]>,
): Promise<readonly ClaimedTurn[]> {
  if (events.length === 0) return []
  const { numbered, begun } = await numberAndLease(tx, events, lease)
  const ids = begun.map(({ event }) => event.eventId)
  return begunTurns(type, begun, await append(numbered, ids))
}

/** What is late has others of its session looked at first, which may be late as well. */
const isOnTime = ({ late }: TakenEvent) => !late

/** Numbers them, and leases their sessions where they were idle. */
async function numberAndLease<E extends TakenEvent>(
  tx: Db,
  events: readonly E[],
  lease: NumberLease | null,
): Promise<{ numbered: readonly Numbered<E>[]; begun: readonly Begun[] }> {
  if (lease === null) return { numbered: await assignSeq(tx, events), begun: [] }
  const { token, leaseMs, agentIds, notUserIds = [], places } = lease
  const heads = headsOf(events)
  const known = new Set(agentIds)
  const leftAlone = new Set(notUserIds)
  for (const head of heads.values())
    head.wanted = known.has(head.session.agentId) && !leftAlone.has(head.session.userId)
  for (const event of events) {
    const head = heads.get(event.session.key)
    if (head !== undefined && !isOnTime(event)) head.wanted = false
  }
  let free = places
  for (const head of heads.values()) if (head.wanted) head.wanted = free-- > 0
  const rows = await numbersOf(tx, heads, (i) =>
    NUMBER_AND_LEASE.run<NumberRow & LeasedHead>(tx, { i, token, leaseMs }),
  )
  const numbered = inOrder(events, heads, rows)
  const leased = new Map(rows.flatMap((row) => (row.leased ? [[row.session_key, row]] : [])))
  const begun = numbered.flatMap(({ event, seq }) => {
    const head = leased.get(event.session.key)
    return head !== undefined && seq === head.done_seq + 1 ? [{ event, seq, head }] : []
  })
  return { numbered, begun }
}

function headsOf(events: readonly SlotEvent[]): Map<string, Head> {
  const heads = new Map<string, Head>()
  for (const { session } of events) {
    const known = heads.get(session.key)
    if (known === undefined) heads.set(session.key, { session, total: 1, wanted: false })
    else known.total++
  }
  return heads
}

function inOrder<E extends SlotEvent>(
  events: readonly E[],
  heads: ReadonlyMap<string, Head>,
  rows: readonly NumberRow[],
): Numbered<E>[] {
  const last = new Map(
    rows.map(({ session_key: key, last_seq }) => [key, last_seq - (heads.get(key)?.total ?? 0)]),
  )
  return events.map((event) => {
    const { key } = event.session
    const seq = (last.get(key) ?? 0) + 1
    last.set(key, seq)
    return { event, seq }
  })
}

/** As claims would have brought them. */
function begunTurns(
  type: EventType,
  begun: readonly Begun[],
  appended: readonly Appended[],
): ClaimedTurn[] {
  const written = new Map(appended.map((each) => [each.id, each]))
  return begun.flatMap(({ event, seq, head }): ClaimedTurn[] => {
    const its = written.get(event.eventId)
    if (its === undefined) return []
    const { userId: user_id, agentId: agent_id, threadId: thread_id } = event.session
    const { id: event_id, ...rest } = its
    const { leased: _, done_seq: __, now, ...held } = head
    return [
      {
        ...{ ...held, user_id, agent_id, thread_id, type, event_id, seq, ...rest, now },
        ...{ was_due_at: now, event_created_at: now },
      },
    ]
  })
}
