/**
 * Schedules, pure: cron in one dialect, `@every`, phrases, zones and clock changes. Nothing here reads a clock,
 * the environment or the process's zone; "now" is always an argument. Instants are epoch milliseconds.
 */

import { LAST_INSTANT, SECOND } from './calendar.ts'
import { nextEvery } from './every.ts'
import { nextCron } from './fire.ts'
import { offsetOf, type Schedule } from './schedule.ts'

export { LAST_INSTANT } from './calendar.ts'
export { maxFiresPerLocalDay, minSpacingMs, missed } from './count.ts'
export { describe } from './describe.ts'
export { firedMark, nextUnfired, sameLocalTime, unfiredFrom } from './follow.ts'
export {
  formatLocal,
  hasOffset,
  instantIn,
  localDay,
  localInstant,
  tzDataVersion,
} from './instant.ts'
export { parseCron } from './parse.ts'
export { cronSchedule, parsedCron, parsedOf } from './parsed.ts'
export { atOtherTime, isTimeOfDay, parseFrequency, parsePhrase } from './phrase.ts'
export { type Parsed, type Schedule, ScheduleError, type Spread } from './schedule.ts'
export { spreadOver } from './spread.ts'
export { isZone, zoneError } from './zone.ts'

/**
 * Up to `count` (default 1) instants strictly after `after`, ascending, never beyond the year 9999. An interval
 * lies on the grid `anchor + k · everyMs`; without an anchor it starts at `after`, cut to whole seconds.
 */
export function next(
  schedule: Schedule,
  after: number,
  options: { anchor?: number; count?: number } = {},
): number[] {
  const count = options.count ?? 1
  if (schedule.kind === 'once')
    return schedule.at !== null && schedule.at > after && count > 0 ? [schedule.at] : []
  const { until = LAST_INSTANT } = schedule
  const anchor = options.anchor ?? Math.floor(after / SECOND) * SECOND
  const offset = offsetOf(schedule)
  const found =
    schedule.kind === 'cron'
      ? nextCron(schedule.expr, schedule.timezone, after - offset, count)
      : nextEvery(schedule.everyMs, after - offset, anchor, count)
  return found.filter((at) => at <= until).map((at) => at + offset)
}

/** Default number of upcoming times in answers. */
export const NEXT_TIMES = 3

/** The times of something that waits for `first`: that one, then those that follow. Null: nothing follows. */
export function nextTimes(first: Date, schedule: Schedule | null, anchor: Date, now: Date): Date[] {
  if (schedule === null) return [first]
  const after = Math.max(first.getTime(), now.getTime())
  const options = { anchor: anchor.getTime(), count: NEXT_TIMES - 1 }
  return [first, ...next(schedule, after, options).map((at) => new Date(at))]
}
