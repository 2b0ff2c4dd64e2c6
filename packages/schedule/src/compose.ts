/** What the slots of a recurring phrase mean together: an exact cron expression, an exact interval, or a refusal. */

import { clockText, DAY, HOUR, MINUTE, SECOND } from './calendar.ts'
import { clockNotes, hourOfPart, withinPart } from './clock.ts'
import { joinCrons } from './cron.ts'
import { checkInterval } from './every.ts'
import { parseCron, parsed } from './parse.ts'
import type { Slots } from './recurring.ts'
import { type Parsed, ScheduleError } from './schedule.ts'
import type { ReadClock, Unit } from './tokens.ts'

const UNIT_MS: Partial<Record<Unit, number>> = {
  second: SECOND,
  minute: MINUTE,
  hour: HOUR,
  day: DAY,
  week: 7 * DAY,
}

interface DayFields {
  dom: string
  month: string
  dow: string
}

/** Minute and hour fields that give exactly these times: one pair where they are all pairs of their hours and minutes. */
function clockFields(clocks: readonly ReadClock[]): string[] {
  const distinct = (values: number[]) => [...new Set(values)].sort((a, b) => a - b)
  const hoursOf = (some: readonly ReadClock[]) => distinct(some.map((clock) => clock.hour))
  const minutes = distinct(clocks.map((clock) => clock.minute))
  const times = new Set(clocks.map(clockText))
  if (times.size === hoursOf(clocks).length * minutes.length)
    return [`${minutes.join(',')} ${hoursOf(clocks).join(',')}`]
  return minutes.map((minute) => {
    const hours = hoursOf(clocks.filter((clock) => clock.minute === minute))
    return `${minute} ${hours.join(',')}`
  })
}

/** The times of day, where parts of the day stand for an hour or say which half is meant. */
function timesOf({ clocks, parts }: Slots, notes: string[]): ReadClock[] {
  if (clocks === null && parts === null) {
    notes.push('no hour given: 09:00')
    return [{ hour: 9, minute: 0, bare: false, half: true }]
  }
  if (clocks === null) {
    const stands = (parts ?? []).map(hourOfPart)
    notes.push(...stands.map(({ note }) => note))
    return stands.map(({ clock }) => clock)
  }
  const [part, ...more] = parts ?? []
  if (more.length > 0)
    throw new ScheduleError('say a time or parts of the day: write "daily at 08:00 and 20:00"')
  const times = part === undefined ? clocks : clocks.map((clock) => withinPart(clock, part))
  notes.push(...clockNotes(times))
  return times
}

function without(slots: Slots): number[] | null {
  if (slots.except === null) return slots.weekdays
  if (slots.days !== null || slots.nth !== null) {
    throw new ScheduleError(
      '"except" goes with days of the week only, for example "daily except sundays"',
    )
  }
  const from = slots.weekdays ?? [0, 1, 2, 3, 4, 5, 6]
  const left = from.filter((day) => !slots.except?.includes(day))
  if (left.length === 0 || left.length === from.length) {
    throw new ScheduleError('"except" must leave some days and take away some')
  }
  return left
}

/** Which slots a cadence goes with; every other combination is refused. */
function checkCadence(slots: Slots): void {
  const { cadence, weekdays, days, nth, months, dates, ofMonth } = slots
  const refuse = (why: string) => {
    throw new ScheduleError(why)
  }
  if ([weekdays, days, nth, dates].filter((slot) => slot !== null).length > 1) {
    refuse('weekdays and days of the month together are ambiguous: make one schedule for each')
  }
  if (dates !== null && (months !== null || (cadence !== null && cadence !== 'year'))) {
    refuse('dates go with every year: write "every december 21st and january 5th at 09:00"')
  }
  if ((cadence === 'day' || cadence === 'week') && (days !== null || nth !== null)) {
    refuse(
      'a day of the month does not go with daily or weekly: write "monthly on the 1st at 09:00"',
    )
  }
  if (cadence === 'day' && weekdays?.length === 1) {
    refuse('daily does not go with one weekday: write "every monday at 09:00"')
  }
  if ((cadence === 'month' || cadence === 'year') && weekdays !== null) {
    refuse('say which weekday of the month: write "every first monday of the month at 09:00"')
  }
  if (cadence === 'month' && months !== null) {
    refuse('every month does not go with a named month: write "every december 25th" or "monthly"')
  }
  if (slots.except !== null && ['week', 'month', 'year'].includes(cadence ?? '')) {
    refuse('"except" goes with daily: write "daily except sundays"')
  }
  if (ofMonth && ((days === null && nth === null) || months !== null)) {
    refuse('"of the month" needs a day: write "every 15th of the month"')
  }
  if (cadence === 'year' && months === null && (days !== null || ofMonth)) {
    refuse('say the month: write "yearly on december 25th"')
  }
}

function monthlyDay(slots: Slots, notes: string[]): string {
  const days = slots.days ?? []
  const longest = Math.max(0, ...days.map((day) => (day === 'L' ? 0 : day)))
  if (longest > 28 && slots.months === null) notes.push(`months without day ${longest} are skipped`)
  return days.join(',')
}

/** The three day fields, one set for each month that has dates of its own. */
function dayFields(slots: Slots, notes: string[]): string[] {
  checkCadence(slots)
  const { dates } = slots
  const sets: DayFields[] =
    dates === null
      ? [oneSet(slots, notes)]
      : dates.map(({ month, days }) => ({ dom: days.join(','), month: String(month), dow: '*' }))
  return sets.map(({ dom, month, dow }) => `${dom} ${month} ${dow}`)
}

/** With the defaults that the cadence allows. */
function oneSet(slots: Slots, notes: string[]): DayFields {
  const { cadence, nth, months, ofMonth } = slots
  const weekdays = without(slots)
  const month = months?.join(',') ?? '*'
  if (nth !== null) {
    const certain = ofMonth || months !== null || cadence === 'month' || cadence === 'year'
    if (!certain && nth.nths.some((n) => n > 1)) {
      throw new ScheduleError(
        'an nth weekday could count months or weeks: add "of the month", for example "every second tuesday of the month"',
      )
    }
    if (nth.nths.some((n) => n > 5))
      throw new ScheduleError('a month has at most five of a weekday')
    if (!certain) notes.push('counted within every month')
    return { dom: '*', month, dow: nth.nths.map((n) => `${nth.weekday}#${n || 'L'}`).join(',') }
  }
  if (slots.days !== null) {
    if (!ofMonth && months === null && cadence !== 'month') {
      throw new ScheduleError(
        'say of which month: write "every 15th of the month" or "every december 25th"',
      )
    }
    return { dom: monthlyDay(slots, notes), month, dow: '*' }
  }
  if (weekdays !== null) return { dom: '*', month, dow: weekdays.join(',') }
  if (cadence === 'week') {
    notes.push('no weekday given: Monday')
    return { dom: '*', month, dow: '1' }
  }
  if (cadence === 'month' || cadence === 'year') {
    notes.push('no day given: the 1st')
    if (cadence === 'year' && months === null) notes.push('no month given: January')
    return { dom: '1', month: cadence === 'year' && months === null ? '1' : month, dow: '*' }
  }
  if (cadence === null && slots.interval === null) {
    throw new ScheduleError('say how often: write "daily at 09:00" or "every monday at 09:00"')
  }
  return { dom: '*', month, dow: '*' }
}

/** Minute and hour fields of an interval that divides its field evenly, else null. */
function evenFields(count: number, unit: Unit): string | null {
  if (unit === 'minute' && count < 60 && 60 % count === 0) return `*/${count} *`
  if (unit === 'hour' && count < 24 && 24 % count === 0) return `0 */${count}`
  return null
}

function composeInterval(slots: Slots, count: number, unit: Unit, timezone: string): Parsed {
  const size = UNIT_MS[unit]
  if (size === undefined) {
    throw new ScheduleError(
      `every ${count} ${unit}s has no exact form: write "monthly on the 1st at 09:00", or name the months`,
    )
  }
  if (slots.clocks !== null || slots.parts !== null) {
    throw new ScheduleError(
      `an interval of ${count} ${unit}s keeps no time of day: leave out the time, or write "daily at 09:00"`,
    )
  }
  const even = evenFields(count, unit)
  if (even !== null) {
    return parseCron(joinCrons(dayFields(slots, []).map((days) => `${even} ${days}`)), timezone)
  }
  const { weekdays, nth, days, months, dates, except, cadence } = slots
  if (
    [weekdays, nth, days, months, dates, except, cadence].some((slot) => slot !== null) ||
    slots.ofMonth
  ) {
    throw new ScheduleError(
      `every ${count} ${unit}s has no exact form when limited to some days: leave out the days, or write a rhythm of the clock or the week such as "every 15 minutes on weekdays"`,
    )
  }
  const everyMs = checkInterval(count * size, `"every ${count} ${unit}s"`)
  const notes = ['counted in elapsed time from its start']
  return parsed({ kind: 'every', everyMs, timezone }, notes)
}

export function compose(slots: Slots, timezone: string): Parsed {
  const { interval } = slots
  if (interval !== null && interval.count < 1) {
    throw new ScheduleError('an interval must be at least 1: write "every 5 minutes"')
  }
  if (interval !== null && slots.cadence !== null) {
    throw new ScheduleError('how often is given twice; write it once')
  }
  if (interval !== null && (interval.count > 1 || interval.unit === 'second')) {
    return composeInterval(slots, interval.count, interval.unit, timezone)
  }
  const cadence = interval?.unit ?? slots.cadence ?? (isDailyPart(slots) ? 'day' : null)
  const whole: Slots = { ...slots, cadence, interval: null }
  const notes: string[] = []
  const days = dayFields(whole, notes)
  if (!slots.recurring) {
    throw new ScheduleError(
      'it does not say that it repeats: write "every" before the day, or "daily"',
    )
  }
  if (cadence === 'minute' || cadence === 'hour') {
    if (slots.clocks !== null || slots.parts !== null) {
      throw new ScheduleError(`every ${cadence} keeps no time of day: write "daily at 09:00"`)
    }
    const time = cadence === 'minute' ? '*' : '0'
    return parseCron(joinCrons(days.map((fields) => `${time} * ${fields}`)), timezone)
  }
  const times = clockFields(timesOf(whole, notes))
  const all = times.flatMap((time) => days.map((fields) => `${time} ${fields}`))
  return parsed(parseCron(joinCrons(all), timezone).schedule, notes)
}

/** `mornings at 8`: the plural says that it repeats, and no day limits it. */
function isDailyPart({ parts, recurring, weekdays, nth, days, dates }: Slots): boolean {
  return parts !== null && recurring && [weekdays, nth, days, dates].every((slot) => slot === null)
}
