/** Schedules in words, with the zone beside every local time. */

import { clockText, DAY, HOUR, MINUTE, SECOND } from './calendar.ts'
import type { CronSpec, DaySpecial } from './cron.ts'
import { durationText } from './every.ts'
import { setText } from './field.ts'
import { formatLocal } from './instant.ts'
import type { Schedule } from './schedule.ts'
import { compile } from './wall.ts'

const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const MONTHS =
  'January February March April May June July August September October November December'.split(' ')
const ORDINALS = ['last', 'first', 'second', 'third', 'fourth', 'fifth']

/** More clock times than this are described as minutes and hours. */
const MAX_CLOCKS = 6

function listText(parts: readonly string[]): string {
  if (parts.length <= 1) return parts[0] ?? ''
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`
}

function weekdayName(dow: number): string {
  return WEEKDAYS[dow] ?? ''
}

/** `Monday to Wednesday` for runs of three or more, else a list. Weeks start on Monday. */
function weekdayList(weekdays: readonly number[]): string {
  const mondayFirst = weekdays.map((dow) => (dow + 6) % 7).sort((a, b) => a - b)
  const parts = setText(mondayFirst)
    .split(',')
    .map((run) => run.split('-').map((n) => weekdayName((Number(n) + 1) % 7)))
  return listText(parts.map((run) => run.join(' to ')))
}

function specialText(special: DaySpecial): string {
  if (special.kind === 'lastWorkday') return 'the last weekday'
  if (special.kind === 'workday') return `the weekday nearest to day ${special.day}`
  if (special.before === 0) return 'the last day'
  return `${special.before} day${special.before === 1 ? '' : 's'} before the last day`
}

function monthList(spec: CronSpec): string {
  return listText(spec.months.map((month) => MONTHS[month - 1] ?? ''))
}

function ofMonths(spec: CronSpec): string {
  return spec.anyMonth ? 'every month' : monthList(spec)
}

/** `on day 1 of every month`. */
function monthDays(spec: CronSpec): string {
  const plain = setText(spec.days)
  const many = spec.days.length > 1
  const days = plain === '' ? [] : [`day${many ? 's' : ''} ${plain.replaceAll(',', ', ')}`]
  return `on ${listText([...days, ...spec.daySpecials.map(specialText)])} of ${ofMonths(spec)}`
}

/** `every weekday`, `every Monday and Friday`, `on the first Friday of every month`. */
function weekDays(spec: CronSpec): string {
  const parts: string[] = []
  const key = spec.weekdays.join('')
  if (key === '12345') parts.push('every weekday')
  else if (key === '06') parts.push('every Saturday and Sunday')
  else if (key === '0123456') parts.push('every day')
  else if (key !== '') parts.push(`every ${weekdayList(spec.weekdays)}`)
  if (spec.nthWeekdays.length > 0) {
    const named = spec.nthWeekdays.map((n) => `${ORDINALS[n.nth] ?? ''} ${weekdayName(n.weekday)}`)
    parts.push(`on the ${listText(named)} of ${ofMonths(spec)}`)
  }
  const inMonths = spec.anyMonth || spec.weekdays.length === 0 ? '' : ` in ${monthList(spec)}`
  return `${parts.join(' and ')}${inMonths}`
}

/** Empty when every day matches. */
function dayText(spec: CronSpec): string {
  if (spec.anyDay && spec.anyWeekday) return spec.anyMonth ? '' : `every day in ${monthList(spec)}`
  if (spec.anyWeekday) return monthDays(spec)
  if (spec.anyDay) return weekDays(spec)
  return `${monthDays(spec)}, and also ${weekDays(spec)}`
}

/** The step of `*` + `/n` when it divides the field evenly, 1 for a bare star, else null. */
function evenStep(text: string, size: number): number | null {
  if (text === '*') return 1
  const step = /^\*\/(\d+)$/.exec(text)
  if (step === null) return null
  return size % Number(step[1]) === 0 ? Number(step[1]) : null
}

function plural(amount: number, unit: string): string {
  return amount === 1 ? `every ${unit}` : `every ${amount} ${unit}s`
}

/** Its times of day where they are few and no rhythm, else null. */
function fewClocks(spec: CronSpec): string[] | null {
  if (spec.hours.length * spec.minutes.length > MAX_CLOCKS || spec.hourText === '*') return null
  if (evenStep(spec.hourText, 24) !== null && spec.minuteText === '0') return null
  return spec.hours.flatMap((hour) => spec.minutes.map((minute) => clockText({ hour, minute })))
}

/** The rhythm within a day and whether it is a list of clock times. */
function timeText(spec: CronSpec): { text: string; clocks: boolean } {
  const clocks = fewClocks(spec)
  if (clocks !== null) return { text: `at ${listText(clocks)}`, clocks: true }
  const minuteStep = evenStep(spec.minuteText, 60)
  const hourStep = evenStep(spec.hourText, 24)
  if (minuteStep !== null && hourStep === 1)
    return { text: plural(minuteStep, 'minute'), clocks: false }
  if (spec.minuteText === '0' && hourStep !== null) {
    const from = hourStep === 1 ? '' : ', counted from midnight'
    return { text: `${plural(hourStep, 'hour')}${from}`, clocks: false }
  }
  const few = spec.minutes.length === 1
  const minutes =
    minuteStep === null
      ? `at minute${few ? '' : 's'} ${setText(spec.minutes).replaceAll(',', ', ')}`
      : `${plural(minuteStep, 'minute')}`
  const of = minuteStep === null ? 'of' : 'during'
  const hours =
    hourStep === 1
      ? 'every hour'
      : `hour${spec.hours.length === 1 ? '' : 's'} ${setText(spec.hours).replaceAll(',', ', ')}`
  return { text: `${minutes} ${of} ${hours}`, clocks: false }
}

/** Parts on the same days are said together: "every weekday at 08:30 and 17:00". */
function unionText(specs: readonly CronSpec[]): string {
  const texts: string[] = []
  for (const days of new Set(specs.map(dayText))) {
    const group = specs.filter((spec) => dayText(spec) === days)
    const clocks = group.map(fewClocks)
    const [first] = group
    if (group.length > 1 && first !== undefined && clocks.every((each) => each !== null)) {
      const all = [...new Set(clocks.flat())].sort()
      texts.push(cronText(first, { text: `at ${listText(all)}`, clocks: true }))
    } else texts.push(...group.map((spec) => cronText(spec)))
  }
  return texts.join(', and also ')
}

function cronText(spec: CronSpec, time = timeText(spec)): string {
  const days = dayText(spec)
  if (days === '') return time.clocks ? `every day ${time.text}` : time.text
  // "every weekday at 08:30" reads better day first, "at 09:00 on day 1 of every month" time first.
  return days.startsWith('every') && time.clocks && (spec.anyDay || spec.anyWeekday)
    ? `${days} ${time.text}`
    : `${time.text}${time.clocks ? '' : ','} ${days}`
}

function intervalText(everyMs: number): string {
  const parts: string[] = []
  let rest = everyMs
  const units: ReadonlyArray<readonly [string, number]> = [
    // One day is said as 24 hours: it keeps no time of day when the clocks change.
    ...(everyMs < 2 * DAY ? [] : [['day', DAY] as const]),
    ['hour', HOUR],
    ['minute', MINUTE],
    ['second', SECOND],
  ]
  for (const [unit, size] of units) {
    const amount = Math.floor(rest / size)
    rest -= amount * size
    if (amount > 0) parts.push(`${amount} ${unit}${amount === 1 ? '' : 's'}`)
  }
  const [only = ''] = parts
  if (parts.length === 1 && only.startsWith('1 ')) return `every ${only.slice(2)}`
  return `every ${parts.join(' ')}`
}

export function describe(schedule: Schedule): string {
  const { timezone } = schedule
  if (schedule.kind === 'once')
    return schedule.at === null ? 'once' : `once at ${formatLocal(schedule.at, timezone)}`
  const { until, spread } = schedule
  const rule =
    schedule.kind === 'every'
      ? `${intervalText(schedule.everyMs)}, counted from its start`
      : `${unionText(compile(schedule.expr).parts.map(({ spec }) => spec))} (${timezone})`
  const bounded = until === undefined ? rule : `${rule}, until ${formatLocal(until, timezone)}`
  if (spread === undefined) return bounded
  const later = durationText(spread.offsetMs)
  return `${bounded}, spread over ${durationText(spread.withinMs)}: ${later === '' ? 'at once' : `${later} later`}`
}
