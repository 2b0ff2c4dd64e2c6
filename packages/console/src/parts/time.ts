/** Instants in words. All in the reader's own zone unless one is given. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Only the time of day for today, else the day as well. */
export function timeOf(instant: string, now = Date.now()): string {
  const at = new Date(instant)
  const today = new Date(now).toDateString() === at.toDateString()
  return (today ? clock : dayAndClock).format(at)
}

export function whenIn(instant: string, timeZone: string): string {
  return new Intl.DateTimeFormat(undefined, {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(new Date(instant))
}

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

/** "12 ms", "1.4 s". */
export function lasting(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`
  return `${Math.round(ms / MINUTE)} min`
}

function two(value: number): string {
  return String(Math.floor(value)).padStart(2, '0')
}
