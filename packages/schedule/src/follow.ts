/** Schedules that follow a person from zone to zone: what has fired on one clock does not fire again on the next one. */
import { DAY } from './calendar.ts'
import { next } from './index.ts'
import { offsetOf, type Schedule } from './schedule.ts'
import { compile } from './wall.ts'
import { instantOf, wallAt, zoneOf } from './zone.ts'

const LENGTH = 'YYYY-MM-DDTHH:MM:SS'.length

/**
 * What its clock showed at a slot that fires, and the instant. Null for an interval, which knows no time of day, and where `known`
 * is the mark of that slot already: its clock may have been another one then.
 */
export function firedMark(
  schedule: Schedule | null,
  slot: Date,
  known: string | null,
): string | null {
  const instant = slot.toISOString()
  if (schedule?.kind !== 'cron' || known?.endsWith(instant) === true) return null
  const wall = wallAt(zoneOf(schedule.timezone), slot.getTime() - offsetOf(schedule))
  return `${new Date(wall).toISOString().slice(0, LENGTH)} ${instant}`
}

/** At one minute of the day and no other. */
function isOnceADay(expr: string): boolean {
  const [first, ...rest] = compile(expr).parts
  if (first?.spec.hours.length !== 1 || first.spec.minutes.length !== 1) return false
  const [hour, minute] = [first.spec.hours[0], first.spec.minutes[0]]
  return rest.every(
    ({ spec: { hours, minutes } }) =>
      hours.length === 1 && minutes.length === 1 && hours[0] === hour && minutes[0] === minute,
  )
}

/**
 * The first slot strictly after `after` whose local time comes after `mark`; null without one. Of what has one time a day the
 * dates are compared: a clock change may have moved the time that the mark has.
 */
export function nextUnfired(
  schedule: Schedule,
  after: number,
  anchor: number,
  mark: string | null,
): number | null {
  let from = after
  if (mark !== null && schedule.kind === 'cron') {
    const wall = Date.parse(`${mark.slice(0, LENGTH)}Z`)
    const fired = isOnceADay(schedule.expr) ? Math.floor(wall / DAY) * DAY + DAY - 1 : wall
    const { at } = instantOf(zoneOf(schedule.timezone), fired)
    from = Math.max(after, at + offsetOf(schedule))
  }
  return next(schedule, from, { anchor })[0] ?? null
}

/** Of a slot that would be the next one: that, or the first after it that has not fired on another clock. */
export function unfiredFrom(
  schedule: Schedule,
  slot: number | null,
  anchor: number,
  mark: string | null,
): number | null {
  return slot === null || mark === null ? slot : nextUnfired(schedule, slot - 1, anchor, mark)
}

/** The instant at which a clock in another zone shows what one in the first zone shows at this one. */
export function sameLocalTime(at: Date, from: string, to: string): Date {
  return new Date(instantOf(zoneOf(to), wallAt(zoneOf(from), at.getTime())).at)
}
