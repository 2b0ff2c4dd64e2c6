/** Instants as text: RFC 3339 in, local time with its zone out. */

import {
  DAY,
  dateText,
  dayNumber,
  daysInMonth,
  HOUR,
  LAST_INSTANT,
  MINUTE,
  SECOND,
  twoDigits,
  weekday,
} from './calendar.ts'
import { instantOf, isZone, wallAt, zoneOf } from './zone.ts'

/** Fixed widths and no nested repetition: linear in its input. */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?(Z|z)|([+-])(\d{2}):?(\d{2}))?$/

/** The day number of a date that exists, or null. */
export function existingDay(year: number, month: number, day: number): number | null {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null
  return dayNumber(year, month, day)
}

/**
 * An RFC 3339 or ISO 8601 instant in epoch milliseconds. Without an offset it is read in `timezone`: in a gap
 * the first instant after it, in an overlap the first pass. Null for what is no instant up to the year 9999.
 */
export function localInstant(text: string, timezone: string): number | null {
  if (text.length > 64 || !isZone(timezone)) return null
  const match = ISO.exec(text.trim())
  if (match === null) return null
  const part = (index: number) => Number(match[index] ?? 0)
  const day = existingDay(part(1), part(2), part(3))
  if (day === null || part(4) > 23 || part(5) > 59 || part(6) > 59) return null
  const fraction = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const wall = day * DAY + part(4) * HOUR + part(5) * MINUTE + part(6) * SECOND + fraction
  const at = toInstant(wall, timezone, match)
  return at === null || at > LAST_INSTANT ? null : at
}

/** Whether a text that is an instant says where it is read. */
export function hasOffset(text: string): boolean {
  return /(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(text.trim())
}

/** Of a text that is known to be an instant. An unknown zone has its own error: until then it is read as UTC. */
export function instantIn(text: string, timezone: string): Date {
  return new Date(localInstant(text, isZone(timezone) ? timezone : 'UTC') ?? 0)
}

function toInstant(wall: number, timezone: string, match: RegExpExecArray): number | null {
  if (match[8] !== undefined) return wall
  if (match[9] === undefined) return instantOf(zoneOf(timezone), wall).at
  const hours = Number(match[10])
  const minutes = Number(match[11])
  if (hours > 23 || minutes > 59) return null
  const offset = hours * HOUR + minutes * MINUTE
  return match[9] === '-' ? wall + offset : wall - offset
}

/** The number of the local day, and the day of its week from Sunday on. */
export function localDay(at: number, timezone: string): { day: number; weekday: number } {
  const day = Math.floor(wallAt(zoneOf(timezone), at) / DAY)
  return { day, weekday: weekday(day) }
}

/** `2026-11-16 09:00 Europe/Berlin`; seconds only where they are not zero. */
export function formatLocal(at: number, timezone: string): string {
  const zone = zoneOf(timezone)
  const wall = wallAt(zone, at)
  const day = Math.floor(wall / DAY)
  const seconds = Math.floor((wall - day * DAY) / SECOND)
  const clock = `${twoDigits(Math.floor(seconds / 3_600))}:${twoDigits(Math.floor(seconds / 60) % 60)}`
  const rest = seconds % 60 === 0 ? '' : `:${twoDigits(seconds % 60)}`
  return `${dateText(day)} ${clock}${rest} ${zone.name}`
}

/** `2026-11-16T08:00:00Z`; milliseconds only where there are some. */
export function isoText(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}

/** The release of the IANA data that `Intl` carries. */
export function tzDataVersion(): string {
  return process.versions.tz ?? 'unknown'
}
