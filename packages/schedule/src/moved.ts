/** Slots that were computed under other zone rules, or by a clock that was ahead. */
import { next } from './index.ts'
import { cronSchedule } from './parsed.ts'

/** The farthest that a change of rules is taken to move a time of day. */
const SHIFT_MAX_MS = 3 * 3_600_000

/**
 * Where a slot ahead lies by the rules of now; null where it stays. One that is due fires as it is, an interval knows no time of
 * day, and what has no slot within the reach of a change was moved by something else, such as a retry.
 */
export function movedSlot(
  schedule: { readonly cron_expr: string; readonly timezone: string },
  slot: Date,
  now: Date,
): Date | null {
  const read = cronSchedule(schedule)
  if (read?.kind !== 'cron' || slot <= now) return null
  const slotMs = slot.getTime()
  const [at] = next(read, Math.max(now.getTime(), slotMs - SHIFT_MAX_MS - 1))
  if (at === undefined || at === slotMs || at > slotMs + SHIFT_MAX_MS) return null
  return new Date(at)
}

/** The next slot by the clock of now, where a clock that was ahead has moved the row past it; null where the row stays. */
export function pulledSlot(
  schedule: { readonly cron_expr: string; readonly timezone: string; readonly anchor_at: Date },
  slot: Date,
  now: Date,
): Date | null {
  const read = cronSchedule(schedule)
  if (read === null) return null
  const anchor = Math.min(schedule.anchor_at.getTime(), now.getTime())
  const [at] = next(read, now.getTime(), { anchor })
  return at === undefined || at >= slot.getTime() ? null : new Date(at)
}
