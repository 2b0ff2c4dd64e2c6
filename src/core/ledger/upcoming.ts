/** What is still to come of a trigger, within a window: the slot it waits for, then those that follow. Pure. */
import { type StoredTerms, scheduleOf, termsOf } from '../intents/intent.ts'
import { next, parsedOf, type Schedule, ScheduleError } from '../schedule/index.ts'

export const LANES = ['timer', 'alarm', 'intent', 'work'] as const
export type Lane = (typeof LANES)[number]

/** One trigger shows no more of its slots than this: what comes every second would hide everything else. */
export const SLOTS_PER_TRIGGER_MAX = 60

export interface Repeating {
  readonly schedule: Schedule
  /** Where the grid of an interval begins. */
  readonly anchor: number
}

/** The instants up to and including `to`, ascending. `first` is the one it waits for, however late. */
export function slotsUntil(
  first: Date,
  repeating: Repeating | null,
  now: Date,
  to: Date,
  max: number,
): Date[] {
  if (first > to) return []
  if (repeating === null || max <= 1) return [first]
  // What was missed coalesces into the slot it waits for, so what follows lies after now.
  const after = Math.max(first.getTime(), now.getTime())
  const following = next(repeating.schedule, after, { anchor: repeating.anchor, count: max - 1 })
  return [first, ...following.filter((at) => at <= to.getTime()).map((at) => new Date(at))]
}

/** Of an alarm or a work; null for what happens once, or what cannot be read any more. */
export function repeatingCron(
  cronExpr: string | null,
  timezone: string,
  anchorAt: Date,
): Repeating | null {
  if (cronExpr === null || cronExpr === '') return null
  const parsed = parsedOf({ cron_expr: cronExpr, timezone })
  if (parsed instanceof ScheduleError) return null
  return { schedule: parsed.schedule, anchor: anchorAt.getTime() }
}

/** Of an intent: only where it has times of its own. A condition's next check is told, not its whole rhythm. */
export function repeatingIntent(row: StoredTerms): Repeating | null {
  const schedule = scheduleOf(termsOf(row))
  if (schedule === null || schedule instanceof ScheduleError || schedule.kind === 'once')
    return null
  return { schedule, anchor: row.anchor_at.getTime() }
}
