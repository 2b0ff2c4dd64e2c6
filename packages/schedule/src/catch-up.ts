/** Slots that passed during downtime: which of them fire, and which are skipped. Pure. */
import { missed } from './count.ts'
import { next } from './index.ts'
import type { Schedule } from './schedule.ts'

export const CATCH_UPS = ['once', 'skip', 'all'] as const
export type CatchUp = (typeof CATCH_UPS)[number]

/** Under the names of their columns. */
export interface CatchUpTerms {
  /** `once` by default. */
  readonly catch_up?: CatchUp
  readonly catch_up_within_seconds?: number | null
}

/** Up to this late a slot counts as on time, so that `skip` does not drop slots of a busy second. */
export const ON_TIME_MS = 60_000
/** At most this many missed slots fire one by one; older ones are skipped. */
export const CATCH_UP_MAX = 100

export interface GivenUp {
  readonly first: Date
  readonly last: Date
  readonly count: number
}

export interface CatchUpPlan {
  /** The slot that fires now; null: none does. */
  readonly slot: Date | null
  /** Further slots that it stands for. */
  readonly missedCount: number
  /** The newest slot whose time has come. */
  readonly last: Date
  readonly givenUp: GivenUp | null
  /** Where the schedule goes on after this. */
  readonly nextAt: Date | null
}

/** `schedule` null: there is this one slot and no other. */
export function catchUp(
  terms: CatchUpTerms,
  schedule: Schedule | null,
  slot: Date,
  now: Date,
  anchor: Date,
): CatchUpPlan {
  const line = new Line(schedule, anchor.getTime())
  const [at, until] = [slot.getTime(), Math.max(slot.getTime(), now.getTime())]
  const kept = line.first(Math.max(at, oldest(terms, until)), at, until)
  const capped =
    terms.catch_up === 'all' && kept !== null ? line.newest(kept, until, CATCH_UP_MAX) : kept
  const passed = line.between(at, until)
  const left = capped === null ? 0 : line.between(capped, until) + 1
  const lost = passed + 1 - left
  const last = new Date(passed === 0 ? at : line.newest(at, until, 1))
  const all = terms.catch_up === 'all' && capped !== null
  const nextAt = line.after(all ? capped : until)
  return {
    slot: capped === null ? null : new Date(capped),
    missedCount: all ? 0 : Math.max(0, left - 1),
    last,
    givenUp:
      lost === 0
        ? null
        : {
            first: slot,
            last: capped === null ? last : new Date(line.newest(at, capped - 1, 1)),
            count: lost,
          },
    nextAt: nextAt === null ? null : new Date(nextAt),
  }
}

/** Slots before this are skipped. */
function oldest(
  { catch_up, catch_up_within_seconds: within = null }: CatchUpTerms,
  now: number,
): number {
  if (catch_up === 'skip') return now - ON_TIME_MS
  return within === null ? Number.NEGATIVE_INFINITY : now - within * 1000
}

/** The slots of one schedule, as instants. */
class Line {
  readonly #schedule: Schedule | null
  readonly #anchor: number

  constructor(schedule: Schedule | null, anchor: number) {
    this.#schedule = schedule
    this.#anchor = anchor
  }

  after(at: number): number | null {
    if (this.#schedule === null) return null
    return next(this.#schedule, at, { anchor: this.#anchor })[0] ?? null
  }

  /** How many lie in (from, to]. */
  between(from: number, to: number): number {
    if (this.#schedule === null || to <= from) return 0
    return missed(this.#schedule, from, to, this.#anchor).missedCount
  }

  /** The first slot from `from` on, of those from `slot` until `until`. */
  first(from: number, slot: number, until: number): number | null {
    if (from <= slot) return slot
    const at = this.after(from - 1)
    return at !== null && at <= until ? at : null
  }

  /** The oldest of the newest `count` slots in [slot, until]. */
  newest(slot: number, until: number, count: number): number {
    if (this.between(slot, until) < count) return slot
    // Halved until only it is left: `low` has at least so many after it, `high` fewer.
    let [low, high] = [slot, until]
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2)
      if (this.between(middle, until) >= count) low = middle
      else high = middle
    }
    return this.after(low) ?? slot
  }
}

/** Slots without their own event, as the agent sees them. */
export interface MissedSpan {
  readonly count: number
  readonly from: Date
  readonly to: Date
}

/**
 * The slots that an event stands for, its own not counted: those after it that have passed, and those before it that passed while
 * the previous event had its turn. `since`: when that became an event; null where none passed then.
 */
export function missedSpan(
  { slot, missedCount, last }: CatchUpPlan,
  schedule: Schedule | null,
  anchor: Date,
  since: Date | null,
): MissedSpan | null {
  if (slot === null) return null
  const line = new Line(schedule, anchor.getTime())
  const at = slot.getTime()
  const begin = Math.max(since?.getTime() ?? at, anchor.getTime())
  const before = line.between(begin, at - 1)
  const count = before + missedCount
  const from = line.after(before > 0 ? begin : at)
  if (count === 0 || from === null) return null
  const to = missedCount > 0 ? last : new Date(line.newest(from, at - 1, 1))
  return { count, from: new Date(from), to }
}
