/** The stories of slots that became events: every attempt, its turns, and the messages that came of them. */
import type { MessageFact, TurnFact } from '../../core/ledger/ledger.ts'
import { readVerdicts } from '../../core/ledger/ledger.ts'
import type { Db } from '../../store/db/db.ts'
import {
  type ChainPart,
  type EventPart,
  eventParts,
  laterParts,
  type MessagePart,
  messageParts,
  type OutputPart,
  outputParts,
  replyParts,
  type TurnPart,
  turnParts,
} from '../../store/ledger/facts.ts'
import type { SlotRow } from '../../store/ledger/ledger.ts'

export interface EventStory {
  /** One for each attempt, oldest first. */
  readonly events: readonly EventPart[]
  readonly turns: readonly TurnFact[]
  readonly messages: readonly MessageFact[]
  readonly output: OutputPart | null
  readonly reply: { readonly seq: number; readonly at: Date } | null
}

type At = { readonly session_key: string; readonly seq: number }
const keyOf = ({ session_key, seq }: At) => `${session_key} ${seq}`
const partKey = (part: { session_key: string; event_seq: number }) =>
  `${part.session_key} ${part.event_seq}`

export function grouped<T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(key(row))
    if (group === undefined) groups.set(key(row), [row])
    else group.push(row)
  }
  return groups
}

/** By the id of the slot's first event. */
export async function eventStories(
  db: Db,
  rows: readonly SlotRow[],
): Promise<Map<string, EventStory>> {
  const first = new Map((await eventParts(db, rows)).map((part) => [part.id, part]))
  const found = rows.filter(({ id }) => first.has(id))
  const turns = grouped(await turnParts(db, placed(found, first)), partKey)
  const chains = await followed(db, found, first, turns)
  const all = found.flatMap((row) =>
    (chains.get(row.id) ?? []).map((event) => ({ ...event, bucket: row.bucket })),
  )
  const messages = grouped(await messageParts(db, all), partKey)
  const said = all.filter((event) => messages.has(keyOf(event)))
  const replies = new Map(
    (await replyParts(db, said)).map((reply) => [`${reply.session_key} ${reply.asked_seq}`, reply]),
  )
  const runs = rows.filter(({ kind }) => kind === 'work')
  const outputs = new Map((await outputParts(db, runs)).map((part) => [part.event_id, part]))
  return new Map(
    found.map((row) => {
      const events = chains.get(row.id) ?? []
      const reply = events.map((event) => replies.get(keyOf(event))).find((each) => each)
      return [
        row.id,
        {
          events,
          turns: events.flatMap((event) => (turns.get(keyOf(event)) ?? []).map(turnFact)),
          messages: events.flatMap((event) => (messages.get(keyOf(event)) ?? []).map(messageFact)),
          output: outputs.get(row.id) ?? null,
          reply: reply === undefined ? null : { seq: reply.seq, at: reply.created_at },
        },
      ]
    }),
  )
}

function placed(rows: readonly SlotRow[], parts: ReadonlyMap<string, EventPart>) {
  return rows.flatMap(({ bucket, id }) => {
    const part = parts.get(id)
    return part === undefined ? [] : [{ bucket, session_key: part.session_key, seq: part.seq }]
  })
}

type Turns = Map<string, TurnPart[]>

/** Only where the first attempt did not get through can there be another: `turns` grows by those of the others. */
async function followed(
  db: Db,
  rows: readonly SlotRow[],
  first: ReadonlyMap<string, EventPart>,
  turns: Turns,
): Promise<Map<string, EventPart[]>> {
  const chains = new Map(rows.map(({ id }) => [id, [first.get(id) as EventPart]]))
  const open = rows.filter(
    ({ kind, id }) =>
      (kind === 'alarm' || kind === 'intent') && canGoOn(chains.get(id)?.at(-1), turns),
  )
  const later = await laterParts(db, open)
  const buckets = later.map((part) => ({ ...part, bucket: open[part.place]?.bucket ?? 0 }))
  // Of two slots of one instant, one's first event is among the other's later ones: its turns are here already.
  const unread = uniqueBy(buckets).filter((event) => !turns.has(keyOf(event)))
  for (const turn of await turnParts(db, unread)) {
    const key = partKey(turn)
    turns.set(key, [...(turns.get(key) ?? []), turn])
  }
  const taken = new Set<string>()
  for (const part of later.toSorted(oldestFirst)) {
    const chain = chains.get(open[part.place]?.id ?? '')
    if (chain === undefined || taken.has(part.id) || !follows(chain, part, turns)) continue
    taken.add(part.id)
    chain.push(part)
  }
  return chains
}

/** An event that two slots of one instant might both claim is asked for once. */
function uniqueBy<T extends { readonly id: string }>(parts: readonly T[]): T[] {
  return [...new Map(parts.map((part) => [part.id, part])).values()]
}

function oldestFirst(a: ChainPart, b: ChainPart): number {
  return a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/** The next attempt at the same slot: of an alarm the one numbered so, after one that failed. */
function follows(chain: readonly EventPart[], part: EventPart, turns: Turns): boolean {
  const last = chain.at(-1)
  if (!canGoOn(last, turns)) return false
  return part.attempt === null || part.attempt === (last?.attempt ?? 0) + 1
}

/** Another attempt comes only after one that failed. */
function canGoOn(event: EventPart | undefined, turns: Turns): boolean {
  return event !== undefined && turns.get(keyOf(event))?.at(-1)?.status === 'failed'
}

function turnFact(turn: TurnPart): TurnFact {
  return {
    eventSeq: turn.event_seq,
    status: turn.status,
    startedAt: turn.started_at,
    finishedAt: turn.finished_at,
    error: turn.error,
    cause: turn.cause,
    verdicts: readVerdicts(turn.verdicts),
  }
}

function messageFact(message: MessagePart): MessageFact {
  return {
    id: message.id,
    status: message.status,
    channel: message.channel,
    reason: message.reason,
    attempts: message.attempt_count,
    at: message.updated_at,
    error: message.last_error,
    preview: message.preview,
  }
}
