/**
 * Time zones: offsets by `Intl`, and the map between wall clock and instants that `Intl` does not offer.
 * A wall clock is a number of milliseconds as if the local time were UTC. The process's own zone plays no part.
 *
 * Asking `Intl` costs about 1.5 µs, so offsets are kept per zone for the start of each UTC day (about 20 ns
 * afterwards), and eight days whose ends agree are taken as one: since 1970 no zone has gone there and back
 * within eight days (the tests look). A day whose two ends differ holds a change, found by bisection.
 */

import { DAY, SECOND } from './calendar.ts'

interface Change {
  /** The first instant with the new offset. */
  at: number
  before: number
  after: number
}

export interface Zone {
  name: string
  format: Intl.DateTimeFormat | null
  dayOffsets: Map<number, number>
  changes: Map<number, Change>
}

/** The last instant `Intl` formats; offsets beyond are those of the edge. */
const EDGE = 8.64e15

const BLOCK = 8

/** Decades of blocks: enough for any downtime, little enough memory for 600 zones. */
const MAX_DAYS_KEPT = 4_096

/** ICU still resolves these three letters, IANA does not know them, and several mean other places than readers think. */
const NOT_IANA = new Set(
  'act aet agt art ast bet bst cat cnt cst ctt eat ect iet ist jst mit net nst plt pnt prt pst sst vst'.split(
    ' ',
  ),
)
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/

/** By lower-case name and by the name itself, so that no spelling can make this grow beyond twice the number of zones. */
const zones = new Map<string, Zone>()

function findZone(name: string): Zone | null {
  const spelled = zones.get(name)
  if (spelled !== undefined) return spelled
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name)) return null
  const key = name.toLowerCase()
  const known = zones.get(key)
  if (known !== undefined) return known
  if (NOT_IANA.has(key) || key.startsWith('systemv/')) return null
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    const resolved = format.resolvedOptions().timeZone
    const zone: Zone = {
      name: resolved.toLowerCase() === key ? resolved : name,
      format: resolved === 'UTC' ? null : format,
      dayOffsets: new Map(),
      changes: new Map(),
    }
    zones.set(key, zone)
    // The usual spelling is found without looking at its letters.
    zones.set(zone.name, zone)
    return zone
  } catch {
    return null
  }
}

/** IANA names only, links such as Asia/Calcutta included; offsets such as +01:00 and abbreviations are not names. */
export function isZone(name: string): boolean {
  return findZone(name) !== null
}

export function zoneOf(name: string): Zone {
  const zone = findZone(name)
  if (zone === null) throw new RangeError(`unknown time zone ${JSON.stringify(name)}`)
  return zone
}

/** Of a field `timezone` that names none. */
export function zoneError(name: string): string {
  return `timezone: ${JSON.stringify(name.slice(0, 64))} is not an IANA time zone; write one like "Europe/Berlin" or "UTC"`
}

/** The sentence for a name that is not a zone. */
export function zoneAdvice(name: string): string {
  return `timezone ${JSON.stringify(String(name).slice(0, 64))} is not an IANA time zone: write a name such as "Europe/Berlin", "America/New_York" or "UTC"`
}

/** `longOffset` prints `GMT`, `GMT+05:30` or `GMT-04:56:02`. */
function askOffset(format: Intl.DateTimeFormat, at: number): number {
  const text = format.format(Math.min(Math.max(at, -EDGE), EDGE))
  const from = text.lastIndexOf('GMT') + 3
  if (from >= text.length) return 0
  const sign = text.charCodeAt(from) === 43 ? 1 : -1
  const hours = Number(text.slice(from + 1, from + 3))
  const minutes = Number(text.slice(from + 4, from + 6))
  const seconds = text.length > from + 6 ? Number(text.slice(from + 7, from + 9)) : 0
  return sign * (hours * 3_600 + minutes * 60 + seconds) * SECOND
}

function keptOffset(zone: Zone, format: Intl.DateTimeFormat, day: number): number {
  const known = zone.dayOffsets.get(day)
  if (known !== undefined) return known
  if (zone.dayOffsets.size >= MAX_DAYS_KEPT) zone.dayOffsets.clear()
  const offset = askOffset(format, day * DAY)
  zone.dayOffsets.set(day, offset)
  return offset
}

/** The offset at the start of a UTC day. */
function dayOffset(zone: Zone, day: number): number {
  if (zone.format === null) return 0
  const block = Math.floor(day / BLOCK) * BLOCK
  const offset = keptOffset(zone, zone.format, block)
  if (day === block || keptOffset(zone, zone.format, block + BLOCK) === offset) return offset
  return keptOffset(zone, zone.format, day)
}

/** The change within (start of `day`, start of the next], if there is one. */
function changeOn(zone: Zone, day: number): Change | null {
  const before = dayOffset(zone, day)
  const after = dayOffset(zone, day + 1)
  if (before === after || zone.format === null) return null
  const known = zone.changes.get(day)
  if (known !== undefined) return known
  let low = day * DAY
  let high = low + DAY
  while (high - low > SECOND) {
    const middle = low + Math.floor((high - low) / 2 / SECOND) * SECOND
    if (askOffset(zone.format, middle) === before) low = middle
    else high = middle
  }
  const change = { at: high, before, after }
  if (zone.changes.size >= MAX_DAYS_KEPT) zone.changes.clear()
  zone.changes.set(day, change)
  return change
}

export function offsetAt(zone: Zone, at: number): number {
  const change = changeOn(zone, Math.floor(at / DAY))
  if (change === null) return dayOffset(zone, Math.floor(at / DAY))
  return at < change.at ? change.before : change.after
}

export function wallAt(zone: Zone, at: number): number {
  return at + offsetAt(zone, at)
}

/** The local calendar day an instant belongs to. */
export function localDay(zone: Zone, at: number): number {
  return Math.floor(wallAt(zone, at) / DAY)
}

/** All changes in (from, to], oldest first. Meant for windows of days. */
export function changesBetween(zone: Zone, from: number, to: number): Change[] {
  const found: Change[] = []
  if (zone.format === null) return found
  const lastDay = Math.floor(to / DAY)
  for (let day = Math.floor(from / DAY); day <= lastDay; day += 1) {
    const change = changeOn(zone, day)
    if (change !== null && change.at > from && change.at <= to) found.push(change)
  }
  return found
}

/** True when the offset cannot change within a day of the local day `day`: the quick question. */
function isRegular(zone: Zone, day: number): boolean {
  if (zone.format === null) return true
  const offset = dayOffset(zone, day)
  return (
    dayOffset(zone, day - 1) === offset &&
    dayOffset(zone, day + 1) === offset &&
    dayOffset(zone, day + 2) === offset
  )
}

/**
 * The first instant at which the wall clock shows `wall`, and how much the clock skipped if it never does:
 * then `at` is the first instant after the gap.
 */
export function instantOf(zone: Zone, wall: number): { at: number; gapMs: number } {
  const day = Math.floor(wall / DAY)
  if (isRegular(zone, day)) return { at: wall - dayOffset(zone, day), gapMs: 0 }
  // No offset exceeds ±16 h, so that the instant lies between the starts of the days around it.
  let offset = dayOffset(zone, day - 1)
  let start = Number.NEGATIVE_INFINITY
  let gapMs = 0
  for (const change of changesBetween(zone, (day - 1) * DAY, (day + 2) * DAY)) {
    if (wall - offset < change.at) break
    offset = change.after
    start = change.at
    gapMs = change.after - change.before
  }
  const at = wall - offset
  return at < start ? { at: start, gapMs } : { at, gapMs: 0 }
}

/**
 * True when the local day is one stretch of 24 hours and no fire of another day can fall into it: no clock
 * change lies within it or closer to it than the change is large.
 */
export function isQuiet(zone: Zone, day: number): boolean {
  if (isRegular(zone, day)) return true
  const { from, to } = dayBounds(zone, day)
  return !changesBetween(zone, from - 2 * DAY, to + 2 * DAY).some((change) => {
    const size = Math.abs(change.after - change.before)
    return change.at >= from - size && change.at <= to + size
  })
}

/** The first instants of the local day and of the next one. */
export function dayBounds(zone: Zone, day: number): { from: number; to: number } {
  return { from: instantOf(zone, day * DAY).at, to: instantOf(zone, (day + 1) * DAY).at }
}
