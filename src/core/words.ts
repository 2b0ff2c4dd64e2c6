/**
 * Instants and spans in words, in somebody's zone: "tomorrow 09:00 Europe/Berlin, in 13 h 20 min". Days are told
 * apart by the calendar of the zone, spans by elapsed time, so both stay true when the clocks change. Pure.
 */
import { formatLocal, isZone, localDay } from '../../packages/schedule/src/index.ts'
import { fromNow } from './span.ts'

const WEEK_DAYS = 7
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** `today 18:30 UTC`, `tomorrow 09:00 Europe/Berlin`, `Wednesday 2026-11-18 09:00 UTC`, `2027-01-31 09:00 UTC`. */
export function dayText(at: number, timezone: string, now: number): string {
  const zone = isZone(timezone) ? timezone : 'UTC'
  const local = formatLocal(at, zone)
  const { day, weekday } = localDay(at, zone)
  const days = day - localDay(now, zone).day
  if (days < -1 || days > WEEK_DAYS) return local
  if (days > 1) return `${WEEKDAYS[weekday]} ${local}`
  const name = days === 0 ? 'today' : days === 1 ? 'tomorrow' : 'yesterday'
  return name + local.slice(local.indexOf(' '))
}

/** `tomorrow 09:00 Europe/Berlin, in 13 h 20 min`. */
export function whenText(at: number, timezone: string, now: number): string {
  return `${dayText(at, timezone, now)}, ${fromNow(at, now)}`
}

/** `"…"`, cut where it gets long, on one line. */
export function quoted(text: string, max = 80): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= max) return `"${line}"`
  const characters = [...line]
  return characters.length > max ? `"${characters.slice(0, max - 1).join('')}…"` : `"${line}"`
}

/** `tomorrow 09:00 Europe/Berlin, in 13 h 20 min; then …; then …`; empty without a time. */
export function timesText(times: readonly Date[], timezone: string, now: Date): string {
  const [first, ...rest] = times.map((at) => at.getTime())
  if (first === undefined) return ''
  const then = rest.map((at) => `then ${dayText(at, timezone, now.getTime())}`)
  return [whenText(first, timezone, now.getTime()), ...then].join('; ')
}

export const sentences = (...parts: readonly (string | false | null | undefined)[]) =>
  parts.filter(Boolean).join(' ')

export const notesText = (notes: readonly string[]) =>
  notes.map((note) => `Note: ${note}.`).join(' ')

/** `Wednesday 2026-11-18 10:20`, by the calendar of the zone. */
export function dayAndTime(at: number, timezone: string): string {
  const zone = isZone(timezone) ? timezone : 'UTC'
  const minute = Math.floor(at / 60_000) * 60_000
  const [date = '', time = ''] = formatLocal(minute, zone).split(' ')
  return `${WEEKDAYS[localDay(minute, zone).weekday]} ${date} ${time}`
}
