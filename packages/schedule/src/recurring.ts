/**
 * The grammar of recurring phrases. Clauses fill slots from left to right; a slot filled twice or a token that
 * no clause takes refuses the whole phrase. What the slots mean together is decided in `compose.ts`.
 */

import { type DayPart, partOf, readClocks, readPart } from './clock.ts'
import { quoted, ScheduleError } from './schedule.ts'
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

export interface Slots {
  /** A word says that it repeats: every, each, daily, mondays. */
  recurring: boolean
  cadence: Unit | null
  interval: { count: number; unit: Unit } | null
  weekdays: number[] | null
  /** `nth` 0 is the last. */
  nth: { nths: number[]; weekday: number } | null
  /** Days of the month; 'L' is the last. */
  days: Array<number | 'L'> | null
  months: number[] | null
  /** Dates of the year that lie in different months. */
  dates: MonthDays[] | null
  ofMonth: boolean
  clocks: ReadClock[] | null
  parts: DayPart[] | null
  except: number[] | null
}

export interface MonthDays {
  month: number
  days: number[]
}

const ADVERBS: Record<string, Unit> = {
  hourly: 'hour',
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  yearly: 'year',
  annually: 'year',
}

const WORKDAYS = [1, 2, 3, 4, 5]
const WEEKEND = [0, 6]

function fill<K extends keyof Slots>(slots: Slots, key: K, value: Slots[K], what: string): true {
  if (slots[key] !== null) throw new ScheduleError(`${what} is given twice; write it once`)
  slots[key] = value
  return true
}

/** One weekday or group of weekdays. */
function readDayName(cursor: Cursor, slots: Slots): number[] | null {
  const word = cursor.peekWord()
  const group = /^(week|work)days?$/.test(word)
    ? WORKDAYS
    : /^weekends?$/.test(word)
      ? WEEKEND
      : null
  const named = group === null ? weekdayOf(word) : null
  if (group === null && named === null) return null
  cursor.at += 1
  if (named?.plural === true || (group !== null && word.endsWith('s'))) slots.recurring = true
  return group ?? [named?.weekday ?? 0]
}

/** `monday`, `mon-wed`, `saturdays through tuesdays`, `mon, wed and fri`. */
function readWeekdays(cursor: Cursor, slots: Slots): number[] | null {
  const found = readDayName(cursor, slots)
  if (found === null) return null
  const days = new Set(found)
  const range = cursor.attempt(() => {
    if (cursor.takeOne('-', 'to', 'through', 'thru') === null || found.length > 1) return null
    const end = readDayName(cursor, slots)
    return end?.length === 1 ? end : null
  })
  if (range !== null) {
    // "monday to friday" never means a single week.
    slots.recurring = true
    for (let day = found[0] ?? 0; day !== range[0]; day = (day + 1) % 7) days.add(day)
    days.add(range[0] ?? 0)
  }
  const more = cursor.attempt(() => {
    if (!cursor.takeAnd()) return null
    cursor.take('on')
    cursor.take('every')
    return readWeekdays(cursor, slots)
  })
  for (const day of more ?? []) days.add(day)
  return [...days].sort((a, b) => a - b)
}

function readMonths(cursor: Cursor): number[] | null {
  const first = monthOf(cursor.peekWord())
  if (first === null) return null
  cursor.at += 1
  const more = cursor.attempt(() => {
    if (!cursor.takeAnd()) return null
    return readMonths(cursor)
  })
  return [first, ...(more ?? [])]
}

/** `1st`, `first and third`, `last`; 0 stands for the last. */
function readOrdinals(cursor: Cursor): number[] | null {
  const value = cursor.peekWord() === 'last' ? 0 : ordinalOf(cursor.peek())
  if (value === null) return null
  cursor.at += 1
  const more = cursor.attempt(() => {
    if (!cursor.takeAnd()) return null
    cursor.take('the')
    return readOrdinals(cursor)
  })
  return [value, ...(more ?? [])]
}

/** `of the month`, `of every month`, `of each month`. */
function ofMonthClause(cursor: Cursor, slots: Slots): boolean {
  const start = cursor.at
  if (cursor.takeOne('of', 'in') !== null) {
    const which = cursor.takeOne('the', 'each', 'every', 'a')
    if (which !== null && cursor.take('month')) {
      if (slots.ofMonth) throw new ScheduleError('"of the month" is given twice; write it once')
      slots.ofMonth = true
      if (which === 'each' || which === 'every') slots.recurring = true
      return true
    }
  }
  cursor.at = start
  return false
}

/** `in november`, `of january and july`. */
function inMonthsClause(cursor: Cursor, slots: Slots): boolean {
  const months = cursor.attempt(() =>
    cursor.takeOne('of', 'in') === null ? null : readMonths(cursor),
  )
  return months !== null && fill(slots, 'months', months, 'the month')
}

/** `december 25th`, `aug 20 and 30`, `25 december`, `21st and 31st of december`. */
function readDate(cursor: Cursor): MonthDays | null {
  const month = () => {
    const found = monthOf(cursor.peekWord())
    if (found !== null) cursor.at += 1
    return found
  }
  const dayFirst = cursor.attempt(() => {
    const days = readMonthDays(cursor, () => false)
    cursor.take('of')
    const found = days.length === 0 ? null : month()
    return found === null ? null : { month: found, days }
  })
  return (
    dayFirst ??
    cursor.attempt(() => {
      const found = month()
      cursor.take('the')
      // A number before a month or an am belongs to what comes next: "aug 20 and 3 december".
      const days = readMonthDays(
        cursor,
        (next) => monthOf(next) !== null || /^(?:of|am|pm|o'?clock)$/.test(next),
      )
      return found === null || days.length === 0 ? null : { month: found, days }
    })
  )
}

/** `20`, `20 and 30`, `21st, 24th and the 31st`, up to a day that `ends` refuses by the word behind it. */
function readMonthDays(cursor: Cursor, ends: (next: string) => boolean): number[] {
  const days: number[] = []
  for (;;) {
    const day = cursor.attempt(() => {
      if (days.length > 0 && !cursor.takeAnd()) return null
      if (days.length > 0) cursor.take('the')
      const value = dayOfMonth(cursor.peek())
      cursor.at += 1
      return ends(cursor.peekWord()) ? null : value
    })
    if (day === null) return days
    days.push(day)
  }
}

/** Dates of the year, in one month or in several. */
function readDates(cursor: Cursor): MonthDays[] {
  const dates: MonthDays[] = []
  for (;;) {
    const date = cursor.attempt(() => {
      if (dates.length > 0 && !cursor.takeAnd()) return null
      if (dates.length > 0) cursor.take('on')
      return readDate(cursor)
    })
    if (date === null) return dates
    dates.push(date)
  }
}

function dayOfMonth(token: Token | undefined): number | null {
  const value = token?.kind === 'number' ? token.value : ordinalOf(token)
  return value !== null && value >= 1 && value <= 31 ? value : null
}

/** `first day`, `last day`, `start`, `end`: the caller checks that a month follows. */
function readEdge(cursor: Cursor): number | 'L' | null {
  if (cursor.takeOne('start', 'beginning') !== null) return 1
  if (cursor.take('end')) return 'L'
  return cursor.attempt(() => {
    const value = readOrdinals(cursor)
    if (value?.length !== 1 || !cursor.take('day')) return null
    return value[0] === 0 ? 'L' : (value[0] ?? null)
  })
}

/** The days: weekdays, nth weekdays, days of the month or a date of the year. */
function dayClause(cursor: Cursor, slots: Slots): boolean {
  const start = cursor.at
  cursor.take('on')
  cursor.take('the')
  const weekdays = readWeekdays(cursor, slots)
  if (weekdays !== null) return fill(slots, 'weekdays', weekdays, 'the weekday')
  const dates = readDates(cursor)
  const [date] = dates
  if (dates.length > 1) return fill(slots, 'dates', dates, 'the date')
  if (date !== undefined) {
    fill(slots, 'months', [date.month], 'the month')
    return fill(slots, 'days', date.days, 'the day of the month')
  }
  const edge = readEdge(cursor)
  if (edge !== null && (cursor.peekWord() === 'of' || slots.cadence === 'month')) {
    return fill(slots, 'days', [edge], 'the day of the month')
  }
  if (edge === null && cursor.take('day')) {
    const day = dayOfMonth(cursor.peek())
    cursor.at += 1
    if (day !== null) return fill(slots, 'days', [day], 'the day of the month')
  } else if (edge === null) {
    const nths = readOrdinals(cursor)
    const weekday = nths === null ? null : weekdayOf(cursor.peekWord())
    if (nths !== null && weekday !== null) {
      cursor.at += 1
      return fill(slots, 'nth', { nths, weekday: weekday.weekday }, 'the weekday')
    }
    if (nths !== null && !nths.includes(0)) return fill(slots, 'days', nths, 'the day of the month')
  }
  cursor.at = start
  return false
}

function everyClause(cursor: Cursor, slots: Slots): boolean {
  if (cursor.takeOne('every', 'each') === null) return false
  slots.recurring = true
  if (cursor.take('other')) {
    const unit = unitOf(cursor.peekWord())
    if (unit === null) {
      throw new ScheduleError(
        `"every other ${cursor.peekWord()}" has no exact form: weeks that are left out cannot be written as cron`,
      )
    }
    cursor.at += 1
    return fill(slots, 'interval', { count: 2, unit }, 'the interval')
  }
  const next = cursor.peek()
  if (next?.kind === 'amount') {
    cursor.at += 1
    return fill(slots, 'interval', { count: next.value, unit: next.unit }, 'the interval')
  }
  const count = countOf(next)
  const counted = count === null ? null : unitOf(cursor.peekWord(1))
  if (count !== null && counted !== null) {
    cursor.at += 2
    return fill(slots, 'interval', { count, unit: counted }, 'the interval')
  }
  // "second" is a unit only where no weekday, day or month follows it.
  if (
    !(cursor.peekWord() === 'second' && cursor.peek(1) !== undefined) &&
    takeUnit(cursor, slots)
  ) {
    return true
  }
  if (partOf(cursor.peekWord()) !== null) {
    fill(slots, 'cadence', 'day', 'how often')
    return partClause(cursor, slots)
  }
  if (dayClause(cursor, slots)) return true
  throw new ScheduleError(
    `"every" followed by ${quoted(cursor.peek()?.text ?? '')} is not understood`,
  )
}

function takeUnit(cursor: Cursor, slots: Slots): boolean {
  const unit = cursor.peekWord().length > 2 ? unitOf(cursor.peekWord()) : null
  if (unit === null) return false
  cursor.at += 1
  if (unit === 'second') return fill(slots, 'interval', { count: 1, unit }, 'the interval')
  return fill(slots, 'cadence', unit, 'how often')
}

/** `daily`, `once a week`, `once every hour`. */
function cadenceClause(cursor: Cursor, slots: Slots): boolean {
  const adverb = ADVERBS[cursor.peekWord()]
  if (adverb !== undefined) {
    cursor.at += 1
    slots.recurring = true
    return fill(slots, 'cadence', adverb, 'how often')
  }
  if (cursor.peekWord() !== 'once') return false
  if (['every', 'each'].includes(cursor.peekWord(1))) {
    cursor.at += 1
    return everyClause(cursor, slots)
  }
  if (!['a', 'an', 'per'].includes(cursor.peekWord(1)) || unitOf(cursor.peekWord(2)) === null)
    return false
  cursor.at += 2
  slots.recurring = true
  return takeUnit(cursor, slots)
}

function exceptClause(cursor: Cursor, slots: Slots): boolean {
  if (cursor.takeOne('except', 'excluding') === null) return false
  cursor.takeOne('on', 'for')
  const days = readWeekdays(cursor, slots)
  if (days === null)
    throw new ScheduleError('"except" needs weekdays, for example "daily except sundays"')
  return fill(slots, 'except', days, '"except"')
}

function clockClause(cursor: Cursor, slots: Slots): boolean {
  const start = cursor.at
  const said = cursor.take('at')
  const clocks = readClocks(cursor, said)
  if (clocks.length > 0) return fill(slots, 'clocks', clocks, 'the time of day')
  cursor.at = start
  return false
}

/** `morning`, `in the evening`, `at night`, `morning and evening`, `mornings`. */
function partClause(cursor: Cursor, slots: Slots): boolean {
  const parts: DayPart[] = []
  for (;;) {
    const found = cursor.attempt(() => {
      if (parts.length > 0 && !cursor.takeAnd()) return null
      return readPart(cursor)
    })
    if (found === null) break
    if (found.plural) slots.recurring = true
    parts.push(found.part)
  }
  return parts.length > 0 && fill(slots, 'parts', parts, 'the part of the day')
}

const CLAUSES = [
  cadenceClause,
  everyClause,
  exceptClause,
  partClause,
  clockClause,
  ofMonthClause,
  inMonthsClause,
  dayClause,
]

/** Fills the slots from all tokens, or throws. */
export function readRecurring(tokens: readonly Token[]): Slots {
  const cursor = new Cursor(tokens)
  const slots: Slots = {
    recurring: false,
    cadence: null,
    interval: null,
    weekdays: null,
    nth: null,
    days: null,
    months: null,
    dates: null,
    ofMonth: false,
    clocks: null,
    parts: null,
    except: null,
  }
  while (!cursor.done) {
    if (CLAUSES.some((clause) => clause(cursor, slots))) {
      // A comma may stand between two clauses, never at the end.
      if (cursor.peek(1) !== undefined) cursor.take(',')
      continue
    }
    throw new ScheduleError(`${quoted(cursor.peek()?.text ?? '')} is not understood here`)
  }
  return slots
}
