/**
 * A cron expression on the wall clock: which minutes of which days match, without any zone. Days are found
 * through one 31-bit mask per month and times through tables, so that the rarest expression (29 February on a
 * Friday, up to 40 years away) costs a few hundred mask computations and no walk through the days.
 */

import { civil, DAY, dayNumber, daysInMonth, MAX_YEAR, MINUTE, weekday } from './calendar.ts'
import { type CronSpec, type DaySpecial, readCrons } from './cron.ts'

export interface Compiled {
  spec: CronSpec
  /** `nextMinute[m]` is the first matching minute ≥ m, or -1. */
  nextMinute: Int8Array
  nextHour: Int8Array
  months: boolean[]
  maskKey: number
  mask: number
}

/** Expressions that fire together: at each instant of any of them, once. */
export interface Union {
  parts: readonly Compiled[]
  /** How many wall-clock minutes of a day match, by the bits of the parts that match the day. */
  minutesOf: Map<number, number>
}

const MAX_KEPT = 512
const kept = new Map<string, Union>()

function nextTable(values: readonly number[], size: number): Int8Array {
  const table = new Int8Array(size + 1).fill(-1)
  const set = new Set(values)
  for (let i = size - 1; i >= 0; i -= 1) table[i] = set.has(i) ? i : (table[i + 1] ?? -1)
  return table
}

/** Keeps the 512 texts used last; reading one again would cost about 10 µs. */
export function compile(expr: string): Union {
  const known = kept.get(expr)
  if (known !== undefined) return known
  const union: Union = { parts: readCrons(expr).map(compilePart), minutesOf: new Map() }
  for (const oldest of kept.keys()) {
    if (kept.size < MAX_KEPT) break
    kept.delete(oldest)
  }
  kept.set(expr, union)
  return union
}

function compilePart(spec: CronSpec): Compiled {
  return {
    spec,
    nextMinute: nextTable(spec.minutes, 60),
    nextHour: nextTable(spec.hours, 24),
    months: Array.from({ length: 13 }, (_, month) => spec.months.includes(month)),
    maskKey: -1,
    mask: 0,
  }
}

/** How many wall-clock minutes of the day match; two parts that name the same minute are one. */
export function minutesOn({ parts, minutesOf }: Union, dayNo: number): number {
  let bits = 0
  parts.forEach((part, i) => {
    if (matchesDay(part, dayNo)) bits |= 1 << i
  })
  let count = minutesOf.get(bits)
  if (count === undefined) {
    const minutes = new Set<number>()
    for (const { spec } of parts.filter((_, i) => (bits >>> i) & 1))
      for (const hour of spec.hours)
        for (const minute of spec.minutes) minutes.add(hour * 60 + minute)
    count = minutes.size
    minutesOf.set(bits, count)
  }
  return count
}

/** The weekday (Monday to Friday) nearest to `day`, never leaving the month. */
function nearestWorkday(day: number, first: number, length: number): number {
  const dow = (first + day - 1) % 7
  if (dow === 6) return day === 1 ? 3 : day - 1
  if (dow === 0) return day === length ? day - 2 : day + 1
  return day
}

function specialDay(special: DaySpecial, first: number, length: number): number {
  if (special.kind === 'last') return Math.max(0, length - special.before)
  if (special.kind === 'lastWorkday') return nearestWorkday(length, first, length)
  return special.day <= length ? nearestWorkday(special.day, first, length) : 0
}

function dayMask(spec: CronSpec, first: number, length: number): number {
  let mask = 0
  for (const day of spec.days) if (day <= length) mask |= 1 << day
  for (const special of spec.daySpecials) mask |= 1 << specialDay(special, first, length)
  return mask
}

function weekdayMask(spec: CronSpec, first: number, length: number): number {
  let mask = 0
  for (const dow of spec.weekdays) {
    for (let day = 1 + ((dow - first + 7) % 7); day <= length; day += 7) mask |= 1 << day
  }
  for (const { weekday: dow, nth } of spec.nthWeekdays) {
    const start = 1 + ((dow - first + 7) % 7)
    const day = nth === 0 ? start + 7 * Math.floor((length - start) / 7) : start + 7 * (nth - 1)
    if (day <= length) mask |= 1 << day
  }
  return mask
}

/** Bit d is set when day d of the month matches. Day-of-month and day-of-week are OR-ed when both restrict. */
function monthMask(compiled: Compiled, year: number, month: number): number {
  const key = year * 16 + month
  if (compiled.maskKey === key) return compiled.mask
  const { spec } = compiled
  const length = daysInMonth(year, month)
  const first = weekday(dayNumber(year, month, 1))
  let mask = -1
  if (!compiled.months[month]) mask = 0
  else if (spec.anyDay && spec.anyWeekday) mask = length === 31 ? -1 : (1 << (length + 1)) - 1
  else if (spec.anyWeekday) mask = dayMask(spec, first, length)
  else if (spec.anyDay) mask = weekdayMask(spec, first, length)
  else mask = dayMask(spec, first, length) | weekdayMask(spec, first, length)
  compiled.maskKey = key
  // Bit 0 gathers the specials that a month does not have.
  compiled.mask = mask & ~1
  return compiled.mask
}

function matchesDay(compiled: Compiled, dayNo: number): boolean {
  const { year, month, day } = civil(dayNo)
  return ((monthMask(compiled, year, month) >>> day) & 1) === 1
}

/** The first matching day ≥ `dayNo`, or null beyond the year 9999. */
function nextDay(compiled: Compiled, dayNo: number): number | null {
  let { year, month, day } = civil(dayNo)
  while (year <= MAX_YEAR) {
    const rest = compiled.months[month] ? monthMask(compiled, year, month) & (-1 << day) : 0
    if (rest !== 0) return dayNumber(year, month, 31 - Math.clz32(rest & -rest))
    day = 1
    month = month === 12 ? 1 : month + 1
    if (month === 1) year += 1
  }
  return null
}

/** The first matching wall-clock minute ≥ `wall`, or null beyond the year 9999. */
export function nextWall(compiled: Compiled, wall: number): number | null {
  const total = Math.ceil(wall / MINUTE)
  const dayNo = Math.floor(total / 1_440)
  const ofDay = total - dayNo * 1_440
  const { nextHour, nextMinute } = compiled
  const firstMinute = nextMinute[0] ?? 0
  if (matchesDay(compiled, dayNo)) {
    const hour = Math.floor(ofDay / 60)
    const minute = nextHour[hour] === hour ? (nextMinute[ofDay - hour * 60] ?? -1) : -1
    if (minute >= 0) return dayNo * DAY + (hour * 60 + minute) * MINUTE
    const later = nextHour[hour + 1] ?? -1
    if (later >= 0) return dayNo * DAY + (later * 60 + firstMinute) * MINUTE
  }
  const day = nextDay(compiled, dayNo + 1)
  if (day === null) return null
  return day * DAY + ((nextHour[0] ?? 0) * 60 + firstMinute) * MINUTE
}
