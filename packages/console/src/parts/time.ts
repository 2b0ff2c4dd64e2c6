/** Instants in words: one format everywhere, in the zone that the reader chose. */
import { shownZone } from './zone.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
const FORMS = {
  clock: { ...CLOCK, second: '2-digit' },
  day: { day: 'numeric', month: 'short', ...CLOCK },
  year: { day: 'numeric', month: 'short', year: 'numeric', ...CLOCK },
  full: { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', ...CLOCK },
  weekday: { weekday: 'long', day: 'numeric', month: 'long' },
  hour: CLOCK,
} as const satisfies Record<string, Intl.DateTimeFormatOptions>
const known = new Map<string, Intl.DateTimeFormat>()

function formatted(form: keyof typeof FORMS, at: number, timeZone: string): string {
  const key = `${form} ${timeZone}`
  const format = known.get(key) ?? new Intl.DateTimeFormat('en-GB', { timeZone, ...FORMS[form] })
  known.set(key, format)
  return format.format(at)
}

const dates = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-17`, on the clock of that zone. */
export function dayIn(instant: string | number, timeZone: string): string {
  const format = dates.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone })
  dates.set(timeZone, format)
  return format.format(new Date(instant))
}

/** The time of day for today, else the day as well, and the year where it is another. */
export function timeOf(instant: string, now = Date.now(), zone = shownZone()): string {
  const at = Date.parse(instant)
  const [day, today] = [dayIn(at, zone), dayIn(now, zone)]
  // Seconds of what was set for a full minute say nothing.
  if (day === today) return formatted(at % MINUTE === 0 ? 'hour' : 'clock', at, zone)
  return formatted(day.slice(0, 4) === today.slice(0, 4) ? 'day' : 'year', at, zone)
}

/** `09:00`. */
export function clockIn(instant: string | number, zone: string): string {
  return formatted('hour', new Date(instant).getTime(), zone)
}

/** `Tuesday, 17 November`, of a day as `dayIn` names it. */
export function dayWords(day: string): string {
  return formatted('weekday', Date.parse(`${day}T12:00:00Z`), 'UTC')
}

/** The whole of an instant, with the name of its zone. */
export function whenIn(instant: string, timeZone: string): string {
  return `${formatted('full', Date.parse(instant), timeZone)} ${timeZone}`
}

/** For a tooltip: the same instant on the clocks of the reader, of the person and of UTC. */
export function everyClock(instant: string, person?: string): string {
  const zones = [...new Set([shownZone(), person ?? 'UTC', 'UTC'])]
  return zones.map((zone) => whenIn(instant, zone)).join('\n')
}

/** When a day begins there; exact to the quarter of an hour that offsets are made of. */
export function startOfDay(now: number, zone: string): number {
  const today = dayIn(now, zone)
  const quarter = 15 * MINUTE
  let at = Math.floor(now / quarter) * quarter
  while (dayIn(at - quarter, zone) === today) at -= quarter
  return at
}

/** When the next day begins there. */
export function endOfDay(now: number, zone: string): number {
  const start = startOfDay(now, zone)
  return startOfDay(start + DAY + 2 * HOUR, zone)
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "in 3 days", "2 minutes ago". */
export function fromNow(instant: string, now: number): string {
  const gap = Date.parse(instant) - now
  const size = Math.abs(gap)
  if (size < 5 * SECOND) return 'now'
  if (size < MINUTE) return relative.format(Math.round(gap / SECOND), 'second')
  if (size < HOUR) return relative.format(Math.round(gap / MINUTE), 'minute')
  if (size < DAY) return relative.format(Math.round(gap / HOUR), 'hour')
  return relative.format(Math.round(gap / DAY), 'day')
}

/** "18 s", "4 min 05 s", "3 h 12 min": what is left until an instant. */
export function leftUntil(instant: string, now: number): string {
  const left = Math.max(0, Date.parse(instant) - now)
  if (left < MINUTE) return `${Math.ceil(left / SECOND)} s`
  if (left < HOUR) return `${Math.floor(left / MINUTE)} min ${two((left % MINUTE) / SECOND)} s`
  if (left < 2 * DAY) return `${Math.floor(left / HOUR)} h ${two((left % HOUR) / MINUTE)} min`
  return `${Math.floor(left / DAY)} days`
}

/** "12 ms", "1.4 s", "18 min", "3 h". */
export function lasting(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`
  return ms < 2 * DAY ? `${Math.round(ms / HOUR)} h` : `${Math.round(ms / DAY)} days`
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, '0')
}
