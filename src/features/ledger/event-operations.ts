/** The stories of slots that became events: every attempt, its turns, and the messages that came of them. */

import type { Db } from '../../store/db.ts'
import {
  type ChainPart,
  type DeferredPart,
  deferredParts,
  type EventPart,
  eventParts,
  laterParts,
  messageParts,
  type OutputPart,
  outputParts,
  type ReplyPart,
  replyParts,
  type TurnPart,
  turnParts,
} from './fact-rows.ts'
import type { SlotRow } from './rows.ts'
import { type MessageFact, readVerdicts, type TurnFact } from './rules.ts'

export interface EventStory {
  /** One for each attempt, oldest first. */
  readonly events: readonly EventPart[]
  readonly turns: readonly TurnFact[]
  readonly messages: readonly MessageFact[]
  readonly output: OutputPart | null
  readonly reply: ReplyPart | null
  /** Where it waited for its moment. */
  readonly deferred: DeferredPart | null
}

type At = { readonly session_key: string; readonly seq: number }
const keyOf = ({ session_key, seq }: At) => `${session_key} ${seq}`
const partKey = (part: { session_key: string; eventSeq: number }) =>
  `${part.session_key} ${part.eventSeq}`

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
  const turns = grouped(await turnParts(db, found), partKey)
  const chains = new Map(found.map(({ id }) => [id, [first.get(id) as EventPart]]))
  const deferred = await released(db, chains, turns)
  await followed(db, found, chains, turns)
  for (const [id, part] of await released(db, chains, turns)) deferred.set(id, part)
  const all = [...chains.values()].flat()
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
      const attempts = events.flatMap((event) => turns.get(keyOf(event)) ?? [])
      const story = {
        events,
        turns: attempts.map((turn) => ({ ...turn, verdicts: readVerdicts(turn.verdicts) })),
        messages: events.flatMap((event) => messages.get(keyOf(event)) ?? []),
        output: outputs.get(row.id) ?? null,
        deferred: events.map(({ id }) => deferred.get(id)).findLast((each) => each) ?? null,
        reply: events.map((event) => replies.get(keyOf(event))).find((each) => each) ?? null,
      }
      return [row.id, story]
    }),
  )
}

type Turns = Map<string, TurnPart[]>

/** A mark of verdicts that deferred something, in the JSON of a turn. */
const DEFERRED = '"deferred":true'

/** What was deferred goes on in the event it was released as: the chains that end so grow by it, and `turns` by its own. */
async function released(
  db: Db,
  chains: ReadonlyMap<string, EventPart[]>,
  turns: Turns,
): Promise<Map<string, DeferredPart>> {
  const ends = [...chains.values()].flatMap((chain) => {
    const last = chain.at(-1)
    const turn = last === undefined ? undefined : turns.get(keyOf(last))?.at(-1)
    return last !== undefined && turn?.verdicts.includes(DEFERRED) ? [{ chain, last }] : []
  })
  const parts = await deferredParts(
    db,
    ends.map(({ last }) => last),
  )
  const deferred = new Map(parts.map((part) => [part.id, part]))
  const keys = parts.map(({ bucket, session_key, released_seq: seq }) => ({
    ...{ bucket, session_key, seq },
  }))
  const events = new Map((await eventParts(db, keys)).map((part) => [keyOf(part), part]))
  for (const [key, all] of grouped(await turnParts(db, keys), partKey)) turns.set(key, all)
  for (const { chain, last } of ends) {
    const seq = deferred.get(last.id)?.released_seq ?? -1
    const event = events.get(keyOf({ ...last, seq }))
    if (event !== undefined) chain.push(event)
  }
  return deferred
}

/** Only where the first attempt did not get through can there be another: chains and `turns` grow by the others. */
async function followed(
  db: Db,
  rows: readonly SlotRow[],
  chains: ReadonlyMap<string, EventPart[]>,
  turns: Turns,
): Promise<void> {
  const open = rows.filter(
    ({ kind, id }) =>
      (kind === 'alarm' || kind === 'intent') && canGoOn(chains.get(id)?.at(-1), turns),
  )
  const later = await laterParts(
    db,
    open.map((row, place) => ({ ...row, place })),
  )
  // Of two slots of one instant, one's first event is among the other's later ones: its turns are here already.
  // And what two of them might both claim is asked for once.
  const each = new Map(later.map((part) => [part.id, part]))
  const unread = [...each.values()].filter((event) => !turns.has(keyOf(event)))
  for (const [key, all] of grouped(await turnParts(db, unread), partKey)) turns.set(key, all)
  const taken = new Set<string>()
  for (const part of later.toSorted(oldestFirst)) {
    const chain = chains.get(open[part.place]?.id ?? '')
    if (chain === undefined || taken.has(part.id) || !follows(chain, part, turns)) continue
    taken.add(part.id)
    chain.push(part)
  }
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
