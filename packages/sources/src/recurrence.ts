/**
 * Recurrence rules of calendars (RFC 5545) on the wall clock, in a window. Written here because the rules come
 * from strangers: a rule that never matches, or matches every second since 1970, must cost no more than any
 * other. Without `COUNT` the period of the window is reckoned, not walked to; with it every period is paid
 * for out of a budget that all rules of one calendar share. A wall clock is milliseconds as if it were UTC.
 */
import {
  civil,
  DAY,
  dayNumber,
  daysInMonth,
  HOUR,
  MINUTE,
  SECOND,
  weekday,
} from '../../schedule/src/calendar.ts'

type Frequency = 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY'

interface NthDay {
  readonly weekday: number
  /** 0: each of them. */
  readonly nth: number
}

export interface RecurrenceRule {
  readonly freq: Frequency
  readonly interval: number
  readonly count: number | null
  /** As written: a date, or a date and time with or without Z. */
  readonly until: string | null
  readonly byMonth: readonly number[]
  readonly byWeekNo: readonly number[]
  readonly byYearDay: readonly number[]
  readonly byMonthDay: readonly number[]
  readonly byDay: readonly NthDay[]
  readonly byHour: readonly number[]
  readonly byMinute: readonly number[]
  readonly bySecond: readonly number[]
  readonly bySetPos: readonly number[]
  readonly weekStart: number
}

/** Days looked at and instants made; shared by everything one answer of a source asks for. */
export interface Budget {
  left: number
}

export class TooMuchError extends Error {
  override readonly name = 'TooMuchError'
}

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const FREQUENCIES: readonly string[] = ['HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY']
const RULE_MAX = 4096

/** Null for invalid rules, and for rules by the minute or second. */
export function readRule(text: string): RecurrenceRule | null {
  if (text.length > RULE_MAX) return null
  const parts = new Map<string, string>()
  for (const part of text.trim().split(';')) {
    const at = part.indexOf('=')
    if (at > 0) parts.set(part.slice(0, at).trim().toUpperCase(), part.slice(at + 1).trim())
  }
  const freq = parts.get('FREQ')?.toUpperCase() ?? ''
  if (!FREQUENCIES.includes(freq)) return null
  const numbers = (name: string, min: number, max: number) => readNumbers(parts.get(name), min, max)
  const lists = {
    byMonth: numbers('BYMONTH', 1, 12),
    byWeekNo: numbers('BYWEEKNO', -53, 53),
    byYearDay: numbers('BYYEARDAY', -366, 366),
    byMonthDay: numbers('BYMONTHDAY', -31, 31),
    byDay: readDays(parts.get('BYDAY')),
    byHour: numbers('BYHOUR', 0, 23),
    byMinute: numbers('BYMINUTE', 0, 59),
    bySecond: numbers('BYSECOND', 0, 60),
    bySetPos: numbers('BYSETPOS', -366, 366),
  }
  const interval = readWhole(parts.get('INTERVAL') ?? '1')
  const count = parts.has('COUNT') ? readWhole(parts.get('COUNT') ?? '') : null
  if (interval === null || (parts.has('COUNT') && count === null)) return null
  if (Object.values(lists).includes(null)) return null
  const weekStart = WEEKDAYS.indexOf(parts.get('WKST')?.toUpperCase() ?? 'MO')
  return {
    ...(lists as { [K in keyof typeof lists]: NonNullable<(typeof lists)[K]> }),
    ...{ freq: freq as Frequency, interval, count, until: parts.get('UNTIL') ?? null },
    weekStart: weekStart < 0 ? 1 : weekStart,
  }
}

function readWhole(text: string): number | null {
  return /^\d{1,7}$/.test(text) && Number(text) > 0 ? Number(text) : null
}

function readNumbers(text: string | undefined, min: number, max: number): number[] | null {
  if (text === undefined || text === '') return []
  const numbers = text.split(',').map((each) => (/^\s*[+-]?\d{1,3}\s*$/.test(each) ? +each : NaN))
  const right = numbers.every((n) => n >= min && n <= max && (min >= 0 || n !== 0))
  return right ? [...new Set(numbers)].sort((a, b) => a - b) : null
}

function readDays(text: string | undefined): NthDay[] | null {
  if (text === undefined || text === '') return []
  const days = text.split(',').map((each) => {
    const [, nth, name] = /^\s*([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)\s*$/i.exec(each) ?? []
    return name === undefined
      ? null
      : { weekday: WEEKDAYS.indexOf(name.toUpperCase()), nth: Number(nth ?? 0) }
  })
  return days.includes(null) ? null : (days as NthDay[])
}

/**
 * The wall-clock starts within [from, to], in order. `start` is the first of all, whether or not the rule
 * matches it. Throws `TooMuchError` when the budget is spent.
 */
export function occurrences(
  rule: RecurrenceRule,
  start: number,
  from: number,
  to: number,
  budget: Budget,
): number[] {
  const complete = completed(rule, start)
  const found: number[] = start >= from && start <= to ? [start] : []
  const first = periodOf(complete, start)
  let count = 1
  let period = first
  if (rule.count === null) {
    const behind = periodOf(complete, Math.max(from, start)) - first
    // One period back: a week or a year may begin before the window and reach into it.
    period = first + Math.max(0, Math.floor(behind / rule.interval) - 1) * rule.interval
  }
  for (; startOfPeriod(complete, period) <= to; period += rule.interval) {
    for (const at of inPeriod(complete, period, start, budget)) {
      if (at <= start) continue
      if (at > to || (rule.count !== null && count >= rule.count)) return found
      count++
      if (at >= from) found.push(at)
    }
    spend(budget, 1)
  }
  return found
}

function spend(budget: Budget, cost: number): void {
  budget.left -= cost
  if (budget.left < 0) throw new TooMuchError('the calendar asks for too many recurrences')
}

/** Parts that the rule leaves open are taken from its start. */
function completed(rule: RecurrenceRule, start: number): RecurrenceRule {
  const day = Math.floor(start / DAY)
  const date = civil(day)
  const ofDay = start - day * DAY
  const { freq, byMonth, byWeekNo, byYearDay, byMonthDay, byDay } = rule
  const chosen = [byWeekNo, byYearDay, byMonthDay, byDay].some((list) => list.length > 0)
  const same: NthDay[] = [{ weekday: weekday(day), nth: 0 }]
  const ownDay = freq === 'YEARLY' || freq === 'MONTHLY'
  const onlyWeeks = byWeekNo.length > 0 && byDay.length + byYearDay.length + byMonthDay.length === 0
  return {
    ...rule,
    byMonth: freq === 'YEARLY' && !chosen && byMonth.length === 0 ? [date.month] : byMonth,
    byMonthDay: ownDay && !chosen ? [date.day] : byMonthDay,
    byDay: (freq === 'WEEKLY' && !chosen) || onlyWeeks ? same : byDay,
    byHour: rule.byHour.length > 0 || freq === 'HOURLY' ? rule.byHour : [Math.floor(ofDay / HOUR)],
    byMinute: rule.byMinute.length > 0 ? rule.byMinute : [Math.floor((ofDay % HOUR) / MINUTE)],
    bySecond: rule.bySecond.length > 0 ? rule.bySecond : [Math.floor((ofDay % MINUTE) / SECOND)],
  }
}

/** Periods are numbered: years, months, weeks by their start, days, hours. */
function periodOf({ freq, weekStart }: RecurrenceRule, wall: number): number {
  const day = Math.floor(wall / DAY)
  if (freq === 'HOURLY') return Math.floor(wall / HOUR)
  if (freq === 'DAILY') return day
  // Day 0 was a Thursday; weeks are counted from the `weekStart` at or before it.
  if (freq === 'WEEKLY') return Math.floor((day + ((4 - weekStart + 7) % 7)) / 7)
  const { year, month } = civil(day)
  return freq === 'MONTHLY' ? year * 12 + month - 1 : year
}

function startOfPeriod(rule: RecurrenceRule, period: number): number {
  return rule.freq === 'HOURLY' ? period * HOUR : daysOf(rule, period).from * DAY
}

function daysOf({ freq, weekStart }: RecurrenceRule, period: number): { from: number; to: number } {
  if (freq === 'HOURLY') return { from: Math.floor(period / 24), to: Math.floor(period / 24) }
  if (freq === 'DAILY') return { from: period, to: period }
  if (freq === 'WEEKLY') {
    const from = period * 7 - ((4 - weekStart + 7) % 7)
    return { from, to: from + 6 }
  }
  if (freq === 'YEARLY')
    return { from: dayNumber(period, 1, 1), to: dayNumber(period + 1, 1, 1) - 1 }
  const year = Math.floor(period / 12)
  const month = period - year * 12 + 1
  const from = dayNumber(year, month, 1)
  return { from, to: from + daysInMonth(year, month) - 1 }
}

function inPeriod(rule: RecurrenceRule, period: number, start: number, budget: Budget): number[] {
  const { from, to } = daysOf(rule, period)
  // Before its own start a rule has nothing, but a position counts within the whole period.
  const whole = rule.bySetPos.length > 0 || rule.count !== null
  if (!whole && (to + 1) * DAY <= start) return []
  spend(budget, rule.byMinute.length * rule.bySecond.length * Math.max(1, rule.byHour.length))
  const times = timesOf(rule, period)
  const found: number[] = []
  for (let day = from; day <= to; day++) {
    spend(budget, 1)
    if (!matches(rule, day)) continue
    spend(budget, times.length)
    for (const time of times) found.push(day * DAY + time)
  }
  if (rule.bySetPos.length === 0) return found
  const chosen = rule.bySetPos.flatMap((pos) => found.at(pos > 0 ? pos - 1 : pos) ?? [])
  return [...new Set(chosen)].sort((a, b) => a - b)
}

function timesOf({ freq, byHour, byMinute, bySecond }: RecurrenceRule, period: number): number[] {
  const own = period - Math.floor(period / 24) * 24
  const hours =
    freq === 'HOURLY' ? (byHour.length === 0 || byHour.includes(own) ? [own] : []) : byHour
  return hours.flatMap((hour) =>
    byMinute.flatMap((minute) =>
      bySecond.map((second) => hour * HOUR + minute * MINUTE + Math.min(second, 59) * SECOND),
    ),
  )
}

function matches(rule: RecurrenceRule, day: number): boolean {
  const { year, month, day: ofMonth } = civil(day)
  const { byMonth, byMonthDay, byYearDay, byWeekNo, byDay } = rule
  if (byMonth.length > 0 && !byMonth.includes(month)) return false
  const length = daysInMonth(year, month)
  if (byMonthDay.length > 0 && !either(byMonthDay, ofMonth, length)) return false
  const newYear = dayNumber(year, 1, 1)
  const yearLength = dayNumber(year + 1, 1, 1) - newYear
  if (byYearDay.length > 0 && !either(byYearDay, day - newYear + 1, yearLength)) return false
  if (byWeekNo.length > 0 && !isInWeek(rule, day, year)) return false
  if (byDay.length === 0) return true
  // An ordinal counts within the month, or within the year where no month is named.
  const byYear = rule.freq === 'YEARLY' && byMonth.length === 0
  const place = byYear ? day - newYear + 1 : ofMonth
  const among = byYear ? yearLength : length
  return byDay.some(({ weekday: wanted, nth }) => {
    if (wanted !== weekday(day)) return false
    if (nth === 0 || (rule.freq !== 'YEARLY' && rule.freq !== 'MONTHLY')) return true
    return nth > 0 ? Math.ceil(place / 7) === nth : Math.ceil((among - place + 1) / 7) === -nth
  })
}

/** From the beginning, or, negative, from the end. */
function either(wanted: readonly number[], place: number, length: number): boolean {
  return wanted.includes(place) || wanted.includes(place - length - 1)
}

function isInWeek({ byWeekNo, weekStart }: RecurrenceRule, day: number, year: number): boolean {
  const own = [year + 1, year, year - 1].find((each) => firstWeek(each, weekStart) <= day) ?? year
  const first = firstWeek(own, weekStart)
  const weeks = (firstWeek(own + 1, weekStart) - first) / 7
  return either(byWeekNo, Math.floor((day - first) / 7) + 1, weeks)
}

/** The first day of the week that has at least four days in the year. */
function firstWeek(year: number, weekStart: number): number {
  const fourth = dayNumber(year, 1, 4)
  return fourth - ((weekday(fourth) - weekStart + 7) % 7)
}
