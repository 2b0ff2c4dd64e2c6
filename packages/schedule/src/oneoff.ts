/**
 * The grammar of one-off phrases: `in 20 minutes`, `tomorrow at 9am`, `next friday at 14:00`,
 * `on 24 December at 6pm`, `at 5pm`. Days and weeks are counted on the wall clock, hours and less in elapsed time.
 */

import {
  civil,
  clockText,
  DAY,
  dateText,
  daysInMonth,
  HOUR,
  LAST_INSTANT,
  MINUTE,
  SECOND,
} from './calendar.ts'
import { clockNotes, type DayPart, hourOfPart, readClock, readPart, withinPart } from './clock.ts'
import { existingDay } from './instant.ts'
import { ScheduleError } from './schedule.ts'
import {
  Cursor,
  countOf,
  monthOf,
  ordinalOf,
  type ReadClock,
  type Token,
  type Unit,
  unitOf,
  weekdayOf,
} from './tokens.ts'
import { instantOf, wallAt, type Zone } from './zone.ts'

interface OneOff {
  at: number
  notes: string[]
}

/** Turns "today" and the clock into the days that may be meant, the best first. */
type DayChoice = (today: number) => number[]

interface Amount {
  months: number
  days: number
  ms: number
}

const ELAPSED: Partial<Record<Unit, number>> = { second: SECOND, minute: MINUTE, hour: HOUR }

function addAmount(total: Amount, count: number, unit: Unit): void {
  const ms = ELAPSED[unit]
  if (ms !== undefined) total.ms += count * ms
  else if (unit === 'day' || unit === 'week') total.days += count * (unit === 'week' ? 7 : 1)
  else total.months += count * (unit === 'year' ? 12 : 1)
}

/** `20 minutes`, `2 hours and 30 minutes`, `an hour`, `half an hour`, `1h30m`. */
function readAmounts(cursor: Cursor): Amount | null {
  const total: Amount = { months: 0, days: 0, ms: 0 }
  if (cursor.take('half', 'an', 'hour')) return { ...total, ms: 30 * MINUTE }
  for (let first = true; ; first = false) {
    const found = cursor.attempt(() => {
      if (!first) cursor.takeOne('and', ',')
      const token = cursor.peek()
      cursor.at += 1
      if (token?.kind === 'amount') return { count: token.value, unit: token.unit }
      const count = token?.text === 'a' || token?.text === 'an' ? 1 : countOf(token)
      const unit = unitOf(cursor.peekWord())
      cursor.at += 1
      return count === null || unit === null ? null : { count, unit }
    })
    if (found === null) return first ? null : total
    addAmount(total, found.count, found.unit)
    if (found.unit === 'hour' && cursor.take('and', 'a', 'half')) total.ms += 30 * MINUTE
  }
}

function addMonths(day: number, months: number): { day: number; clamped: boolean } {
  const date = civil(day)
  const total = date.year * 12 + date.month - 1 + months
  const year = Math.floor(total / 12)
  const month = (total % 12) + 1
  if (year > 9999) throw new ScheduleError('the date lies beyond the year 9999')
  const length = daysInMonth(year, month)
  return {
    day: existingDay(year, month, Math.min(date.day, length)) ?? day,
    clamped: date.day > length,
  }
}

/** `in 20 minutes`, `20 minutes from now`, `in 2 days at 9am`. */
function readRelative(tokens: readonly Token[], zone: Zone, now: number): OneOff | null {
  const cursor = new Cursor(tokens)
  const said = cursor.take('in')
  const amount = readAmounts(cursor)
  if (amount === null || (!said && !cursor.take('from', 'now'))) return null
  cursor.take('at')
  const clock = cursor.done ? null : readClock(cursor, true)
  if (!cursor.done) return null
  if (amount.months + amount.days + amount.ms <= 0) {
    throw new ScheduleError('the delay must be at least one second: write "in 1 minute"')
  }
  if (amount.months > 120_000 || amount.days > 3_000_000 || amount.ms > LAST_INSTANT) {
    throw new ScheduleError('the date lies beyond the year 9999')
  }
  if (amount.months === 0 && amount.days === 0) {
    if (clock !== null) throw new ScheduleError('give a delay or a time of day, not both')
    return { at: now + amount.ms, notes: [] }
  }
  const wall = wallAt(zone, now)
  const today = Math.floor(wall / DAY)
  const { day, clamped } = addMonths(today, amount.months)
  const notes = clamped ? ['that month is shorter: its last day'] : []
  const target = day + amount.days
  if (clock !== null && amount.ms === 0) return onDay(zone, target, clock, notes)
  if (clock !== null) throw new ScheduleError('give a delay or a time of day, not both')
  return { at: instantOf(zone, target * DAY + (wall - today * DAY)).at + amount.ms, notes }
}

function onDay(zone: Zone, day: number, clock: ReadClock, notes: string[]): OneOff {
  const wall = day * DAY + clock.hour * HOUR + clock.minute * MINUTE
  const { at, gapMs } = instantOf(zone, wall)
  if (gapMs === 0) return { at, notes }
  const skipped = `${clockText(clock)} does not exist on ${dateText(day)} in ${zone.name}: right after the clocks went forward`
  return { at, notes: [...notes, skipped] }
}

/** `friday`, `this friday`, `next friday`. */
function readWeekday(cursor: Cursor): DayChoice | null {
  return cursor.attempt(() => {
    const which = cursor.takeOne('next', 'this', 'on', 'coming')
    const named = weekdayOf(cursor.peekWord())
    if (named === null || named.plural) return null
    cursor.at += 1
    return (today) => {
      const ahead = (named.weekday - ((((today + 4) % 7) + 7) % 7) + 7) % 7
      if (ahead > 0) return [today + ahead]
      return which === 'next' ? [today + 7] : [today, today + 7]
    }
  })
}

/** Days of a date without a year: this year or the next in which it exists. */
function yearly(month: number, day: number): DayChoice {
  return (today) => {
    const { year } = civil(today)
    const years = Array.from({ length: 9 }, (_, i) => year + i)
    return years.flatMap((y) => existingDay(y, month, day) ?? [])
  }
}

function monthly(day: number): DayChoice {
  return (today) => {
    const { year, month } = civil(today)
    const months = Array.from({ length: 4 }, (_, i) => year * 12 + month - 1 + i)
    return months.flatMap((m) => existingDay(Math.floor(m / 12), (m % 12) + 1, day) ?? [])
  }
}

/** `24 december`, `december 24th, 2026`, `the 15th`, `2026-12-24`. */
function readDate(cursor: Cursor): DayChoice | null {
  return cursor.attempt(() => {
    const said = cursor.takeOne('on', 'the') !== null
    cursor.take('the')
    const first = cursor.peek()
    cursor.at += 1
    if (first?.kind === 'date') return fixedDate(first.year, first.month, first.day)
    let month = first?.kind === 'word' ? monthOf(first.text) : null
    const dayToken = month === null ? first : cursor.peek()
    const day = dayToken?.kind === 'number' ? dayToken.value : ordinalOf(dayToken)
    if (day === null || day < 1 || day > 31) return null
    if (month !== null) cursor.at += 1
    else {
      cursor.take('of')
      month = monthOf(cursor.peekWord())
      if (month === null) return said && first?.kind === 'ordinal' ? monthly(day) : null
      cursor.at += 1
    }
    if (cursor.peek()?.text === ',' && cursor.peek(1)?.text.length === 4) cursor.at += 1
    const year = cursor.peek()
    if (year?.kind === 'number' && year.text.length === 4) {
      cursor.at += 1
      return fixedDate(year.value, month, day)
    }
    return yearly(month, day)
  })
}

function fixedDate(year: number, month: number, day: number): DayChoice {
  const dayNo = existingDay(year, month, day)
  if (dayNo === null) {
    throw new ScheduleError(`${year}-${month}-${day} is not a date of the calendar`)
  }
  return () => [dayNo]
}

function readDay(cursor: Cursor): DayChoice | null {
  if (cursor.take('today')) return (today) => [today]
  if (cursor.take('tomorrow')) return (today) => [today + 1]
  const after =
    cursor.take('the', 'day', 'after', 'tomorrow') || cursor.take('day', 'after', 'tomorrow')
  if (after) return (today) => [today + 2]
  return readWeekday(cursor) ?? readDate(cursor)
}

interface When {
  days: DayChoice | null
  clock: ReadClock | null
  part: DayPart | null
}

/** `tonight`, `this morning`, `in the evening`, `friday night`. */
function takePart(cursor: Cursor, when: When): void {
  if (cursor.take('tonight')) {
    when.part = 'night'
    when.days = (today) => [today]
    return
  }
  const found = cursor.attempt(() => {
    const isToday = when.days === null && cursor.take('this')
    const read = readPart(cursor)
    // A bare "morning" needs its day beside it.
    if (read === null || read.plural || (read.bare && !isToday && when.days === null)) return null
    return { part: read.part, isToday }
  })
  if (found === null) return
  when.part = found.part
  if (found.isToday) when.days = (today) => [today]
}

/** Day, part of the day and time in any order; null when a token is left, so that the recurring grammar may try. */
function readWhen(tokens: readonly Token[]): When | null {
  const cursor = new Cursor(tokens)
  const when: When = { days: null, clock: null, part: null }
  while (!cursor.done) {
    const start = cursor.at
    if (when.part === null && (when.days === null || cursor.peekWord() !== 'tonight'))
      takePart(cursor, when)
    if (cursor.at === start && when.days === null) when.days = readDay(cursor)
    if (cursor.at === start && when.clock === null)
      when.clock = readClock(cursor, cursor.take('at'))
    if (cursor.at === start || (cursor.peek(-1)?.text === 'at' && cursor.at === start + 1))
      return null
    if (!cursor.done && cursor.peek(1) !== undefined) cursor.take(',')
  }
  return when
}

/** The time of day that is meant, with what was assumed about it. */
function timeOfDay({ clock, part, days }: When, near: ReadClock | null): [ReadClock, string[]] {
  if (clock === null && part !== null) {
    const { clock: stands, note } = hourOfPart(part)
    return [stands, [note]]
  }
  if (clock === null && near !== null) return [near, []]
  if (clock === null)
    return [{ hour: 9, minute: 0, bare: false, half: true }, ['no hour given: 09:00']]
  if (part === null) {
    const midnight = days !== null && clock.half && clock.hour === 0
    const begins = midnight ? ['midnight is read as 00:00, when that day begins'] : []
    return [clock, [...clockNotes([clock]), ...begins]]
  }
  const time = withinPart(clock, part)
  if (part === 'night' && time.hour < 5) {
    throw new ScheduleError(
      'a time after midnight belongs to the next day: say that day, for example "tomorrow at 01:00"; tonight goes from 17:00 on',
    )
  }
  return [time, time.hour === clock.hour ? [] : [`read as ${clockText(time)}`]]
}

/**
 * The instant of a one-off phrase; null for any other phrase. Throws when it is one and cannot be. `near` is an instant whose day
 * stands in where only a time is said, and whose time of day where only a day is.
 */
export function readOneOff(
  tokens: readonly Token[],
  zone: Zone,
  now: number,
  near: number | null = null,
): OneOff | null {
  const relative = readRelative(tokens, zone, now)
  if (relative !== null) return relative
  const when = readWhen(tokens)
  if (when === null) return null
  const today = Math.floor(wallAt(zone, now) / DAY)
  const [clock, notes] = timeOfDay(when, near === null ? null : clockAt(zone, near))
  const nearby = near === null ? [today, today + 1] : [Math.floor(wallAt(zone, near) / DAY)]
  const choices = when.days?.(today) ?? nearby
  const [first] = choices
  if (first === undefined) throw new ScheduleError('that date does not exist in the calendar')
  const candidates = choices.map((day) => onDay(zone, day, clock, notes))
  const chosen = candidates.find(({ at }) => at > now) ?? candidates[0]
  if (chosen === undefined) return null
  const day = dateText(Math.floor(wallAt(zone, chosen.at) / DAY))
  const asked = tokens.some((token) => token.kind === 'date')
  return asked ? chosen : { at: chosen.at, notes: [...chosen.notes, `the day is ${day}`] }
}

function clockAt(zone: Zone, at: number): ReadClock {
  const minutes = Math.floor((((wallAt(zone, at) % DAY) + DAY) % DAY) / MINUTE)
  return { hour: Math.floor(minutes / 60), minute: minutes % 60, bare: false, half: true }
}
