/** Quiet hours: windows of the wall clock by weekday, in somebody's zone. Pure. */
import { DAY, MINUTE, weekday } from '../../../packages/schedule/src/calendar.ts'
import { instantOf, wallAt, zoneOf } from '../../../packages/schedule/src/zone.ts'

export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** Begins at `from` on each of these days (every day if none is named) and ends at `to`: on the next day unless that is later. */
export interface QuietWindow {
  readonly days?: readonly Weekday[] | undefined
  readonly from: string
  readonly to: string
}

const WEEK_MINUTES = 7 * 1440
/** Windows that touch are one silence; more of them than this do not fit into a week. */
const CHAIN_MAX = 200

const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5))

interface Bounds {
  readonly days: readonly Weekday[]
  readonly from: number
  /** After `from`, be it beyond midnight. */
  readonly to: number
}

function boundsOf({ days = WEEKDAYS, from, to }: QuietWindow): Bounds {
  const start = minutesOf(from)
  const end = minutesOf(to)
  return { days, from: start, to: end > start ? end : end + 1440 }
}

/** What is wrong with them beside their shape, all of it. */
export function quietErrors(windows: readonly QuietWindow[]): string[] {
  const same = windows.flatMap(({ from, to }, index) =>
    from === to
      ? `quiet_hours[${index}]: begins and ends at ${from}; for a whole day write "from": "00:00", "to": "24:00"`
      : [],
  )
  if (same.length > 0) return same
  const quiet = new Uint8Array(WEEK_MINUTES)
  for (const { days, from, to } of windows.map(boundsOf))
    for (const day of days) {
      const start = WEEKDAYS.indexOf(day) * 1440
      for (let minute = from; minute < to; minute++) quiet[(start + minute) % WEEK_MINUTES] = 1
    }
  return quiet.every((each) => each === 1)
    ? [
        'quiet_hours: they never end, so that nothing would ever be said; leave some minutes of the week open, or pause until a time',
      ]
    : []
}

/** When the silence around `at` ends; null without one. Bounds are instants, whatever the clock does meanwhile. */
export function quietUntil(
  windows: readonly QuietWindow[],
  timezone: string,
  at: Date,
): Date | null {
  if (windows.length === 0) return null
  const bounds = windows.map(boundsOf)
  let until = at.getTime()
  for (let i = 0; i < CHAIN_MAX; i++) {
    const end = endOfWindow(bounds, timezone, until)
    if (end === null) break
    until = end
  }
  return until === at.getTime() ? null : new Date(until)
}

function endOfWindow(bounds: readonly Bounds[], timezone: string, at: number): number | null {
  const zone = zoneOf(timezone)
  const today = Math.floor(wallAt(zone, at) / DAY)
  let latest: number | null = null
  // One that began yesterday may last until the end of today, and a clock that is put back shows an hour twice.
  for (const { days, from, to } of bounds)
    for (const day of [today - 1, today]) {
      const name = WEEKDAYS[weekday(day)]
      if (name === undefined || !days.includes(name)) continue
      const start = instantOf(zone, day * DAY + from * MINUTE).at
      const end = instantOf(zone, day * DAY + to * MINUTE).at
      if (start <= at && at < end) latest = Math.max(latest ?? end, end)
    }
  return latest
}
