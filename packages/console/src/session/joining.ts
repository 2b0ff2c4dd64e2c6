/**
 * The rows of one session, part by part. A part is a stretch of events with their turns and effects; the newest part is read
 * again whenever something happened, older ones when one scrolls back to them. Pure.
 */
import type { Effect, Page, SessionEvent, SessionHead, Turn } from '../api/shapes.ts'

export interface Part {
  /** All in the order in which they came. */
  readonly events: readonly SessionEvent[]
  readonly turns: readonly Turn[]
  readonly effects: readonly Effect[]
  /** Nothing came before. */
  readonly whole: boolean
}

export interface SessionRows extends Part {
  /** Null while nobody has said anything: the session does not exist yet. */
  readonly head: SessionHead | null
}

export const NOTHING: SessionRows = {
  head: null,
  events: [],
  turns: [],
  effects: [],
  whole: true,
}

/** The newest part over what was known. Where rows are missing between them, only the newest is kept. */
export function withNewest(known: Part, newest: Part): Part {
  const from = newest.events[0]?.seq
  const last = known.events.at(-1)?.seq
  if (from === undefined || last === undefined || last < from - 1) return newest
  const older = known.events.filter(({ seq }) => seq < from)
  return older.length === 0
    ? newest
    : joined(
        { ...known, events: older, turns: known.turns.filter((t) => t.event_seq < from) },
        newest,
      )
}

/** What came before, before what is known. Nothing changes if what is known begins elsewhere by now. */
export function withOlder(known: Part, older: Part): Part {
  const last = older.events.at(-1)?.seq
  const first = known.events[0]?.seq
  if (first === undefined) return known
  if (last === undefined) return { ...known, whole: true }
  return last === first - 1 ? joined(older, known) : known
}

function joined(before: Part, after: Part): Part {
  const effects = new Map([...before.effects, ...after.effects].map((each) => [each.id, each]))
  return {
    events: [...before.events, ...after.events],
    turns: [...before.turns, ...after.turns],
    effects: [...effects.values()],
    whole: before.whole,
  }
}

/** The newest events with all they led to, from pages with the newest first. Null: the pages do not reach back far enough. */
export function firstPart(
  events: Page<SessionEvent>,
  turns: Page<Turn>,
  effects: Page<Effect>,
): Part | null {
  const from = events.data.at(-1)?.seq ?? 1
  const own = turns.data.filter(({ event_seq: seq }) => seq >= from)
  if (turns.next_cursor !== null && own.length === turns.data.length) return null
  const known = new Set(effects.data.map(({ id }) => id))
  if (own.some(({ effect_ids: ids }) => ids.some((id) => !known.has(id)))) return null
  return {
    events: events.data.toReversed(),
    turns: own.toReversed(),
    effects: effects.data.toReversed(),
    whole: events.next_cursor === null,
  }
}
