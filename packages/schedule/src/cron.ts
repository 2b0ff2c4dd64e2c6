/**
 * The cron dialect: five fields, `* , - /`, names, `?` in day fields, Sunday 0 or 7, `N/step`, wrap-around
 * ranges, `L`, `L-3`, `LW`, `15W`, `FRI#2`, `FRIL`, `FRI#L`. Times that five fields cannot say together are several
 * expressions joined by ` | `. Everything else is refused with what to write instead. An expression is read once into
 * sets and bit masks; evaluating it never looks at text.
 */

import { longestMonth } from './calendar.ts'
import {
  DOM_RULE,
  DOW_RULE,
  digits,
  type FieldRule,
  HOUR_RULE,
  MINUTE_RULE,
  MONTH_RULE,
  readField,
  readValue,
} from './field.ts'
import { quoted, ScheduleError } from './schedule.ts'

export const MAX_CRON_LENGTH = 256

export type DaySpecial =
  | { kind: 'last'; before: number }
  | { kind: 'lastWorkday' }
  | { kind: 'workday'; day: number }

/** `nth` 0 is the last one of the month. */
interface NthWeekday {
  weekday: number
  nth: number
}

export interface CronSpec {
  minutes: number[]
  hours: number[]
  months: number[]
  days: number[]
  daySpecials: DaySpecial[]
  weekdays: number[]
  nthWeekdays: NthWeekday[]
  anyDay: boolean
  anyWeekday: boolean
  anyMonth: boolean
  /** No star in minute and hour: a fixed wall-clock time in the sense of the daylight-saving rule. */
  fixed: boolean
  minuteText: string
  hourText: string
  /** The five canonical fields. */
  text: string
}

const MACROS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

interface DayField {
  values: number[]
  any: boolean
  text: string
}

function terms(name: string, text: string): string[] {
  const list = text.split(',')
  if (list.some((term) => term === '')) {
    throw new ScheduleError(
      `${name} field: ${quoted(text)} has an empty list entry; write a,b without stray commas`,
    )
  }
  return list
}

function daySpecial(term: string): DaySpecial | null {
  const upper = term.toUpperCase()
  if (upper === 'L') return { kind: 'last', before: 0 }
  if (upper === 'LW' || upper === 'WL') return { kind: 'lastWorkday' }
  if (upper.startsWith('L-')) {
    const before = digits(upper.slice(2))
    if (before >= 1 && before <= 30) return { kind: 'last', before }
    throw new ScheduleError(
      `day-of-month field: ${quoted(term)} is not understood; write L-1 to L-30`,
    )
  }
  if (!upper.endsWith('W')) return null
  return { kind: 'workday', day: readValue(DOM_RULE, upper.slice(0, -1), term) }
}

function specialText(special: DaySpecial): string {
  if (special.kind === 'lastWorkday') return 'LW'
  if (special.kind === 'workday') return `${special.day}W`
  return special.before === 0 ? 'L' : `L-${special.before}`
}

function nthWeekday(term: string): NthWeekday | null {
  const upper = term.toUpperCase()
  const hash = upper.indexOf('#')
  if (hash >= 0) {
    const weekday = readValue(DOW_RULE, upper.slice(0, hash), term) % 7
    const nth = upper.slice(hash + 1)
    if (nth === 'L') return { weekday, nth: 0 }
    if (/^[1-5]$/.test(nth)) return { weekday, nth: Number(nth) }
    throw new ScheduleError(
      `day-of-week field: ${quoted(term)} is not understood; write FRI#1 to FRI#5, or FRI#L for the last`,
    )
  }
  if (!upper.endsWith('L')) return null
  if (upper === 'L') {
    throw new ScheduleError(
      'day-of-week field: "L" alone means different days in different crons; write FRIL for the last Friday of the month, or SAT',
    )
  }
  return { weekday: readValue(DOW_RULE, upper.slice(0, -1), term) % 7, nth: 0 }
}

/** Splits a day field into its special terms and the plain rest. */
function dayField<S>(
  rule: FieldRule,
  text: string,
  special: (term: string) => S | null,
  print: (special: S) => string,
): DayField & { specials: S[] } {
  const plain: string[] = []
  const specials = new Map<string, S>()
  for (const term of terms(rule.name, text === '?' ? '*' : text)) {
    const found = special(term)
    if (found === null) plain.push(term)
    else specials.set(print(found), found)
  }
  const field = readField(rule, plain)
  if (field.any) return { values: field.values, any: true, text: '*', specials: [] }
  const parts = [field.text, ...specials.keys()].filter((part) => part !== '')
  return {
    values: field.values,
    any: false,
    text: parts.join(','),
    specials: [...specials.values()],
  }
}

function neverFires(spec: CronSpec): boolean {
  if (spec.anyDay || !spec.anyWeekday) return false
  return !spec.months.some((month) => {
    const longest = longestMonth(month)
    return (
      spec.days.some((day) => day <= longest) ||
      spec.daySpecials.some((special) => {
        if (special.kind === 'workday') return special.day <= longest
        return special.kind === 'lastWorkday' || special.before < longest
      })
    )
  })
}

function splitFields(expr: string): string[] {
  if (/[^\t\x20-\x7e]/.test(expr)) {
    throw new ScheduleError(
      `the cron expression ${quoted(expr)} holds line breaks or characters outside ASCII; write one line of five fields, for example "0 9 * * 1-5"`,
    )
  }
  const fields = expr.split(/[ \t]+/).filter((field) => field !== '')
  if (/^(CRON_)?TZ=/i.test(fields[0] ?? '')) {
    throw new ScheduleError(
      'a TZ= prefix is not accepted: leave it out and give the zone in "timezone", for example "Europe/Berlin"',
    )
  }
  if (fields.length === 6 || fields.length === 7) {
    throw new ScheduleError(
      `${fields.length} fields found, five expected (minute hour day-of-month month day-of-week): leave out seconds and year; for less than a minute write "@every 30s"`,
    )
  }
  if (fields.length !== 5) {
    throw new ScheduleError(
      `${quoted(expr)} has ${fields.length} field${fields.length === 1 ? '' : 's'}, five expected (minute hour day-of-month month day-of-week), for example "0 9 * * 1-5"`,
    )
  }
  return fields
}

/** Reads all five fields before complaining, so that the author sees every error at once. */
function readSpec(expr: string): CronSpec {
  const [minuteText = '', hourText = '', domText = '', monthText = '', dowText = ''] =
    splitFields(expr)
  const errors: string[] = []
  const attempt = <T>(read: () => T): T | null => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error
      errors.push(...error.errors)
      return null
    }
  }
  const plain = (rule: FieldRule, text: string) =>
    attempt(() => readField(rule, terms(rule.name, text)))
  const minute = plain(MINUTE_RULE, minuteText)
  const hour = plain(HOUR_RULE, hourText)
  const dom = attempt(() => dayField(DOM_RULE, domText, daySpecial, specialText))
  const month = plain(MONTH_RULE, monthText)
  const dow = attempt(() =>
    dayField(DOW_RULE, dowText, nthWeekday, (n) => `${n.weekday}#${n.nth === 0 ? 'L' : n.nth}`),
  )
  if (minute === null || hour === null || dom === null || month === null || dow === null) {
    throw new ScheduleError(errors)
  }
  return {
    minutes: minute.values,
    hours: hour.values,
    months: month.values,
    days: dom.values,
    daySpecials: dom.specials,
    weekdays: dow.values,
    nthWeekdays: dow.specials,
    anyDay: dom.any,
    anyWeekday: dow.any,
    anyMonth: month.any,
    fixed: !minute.star && !hour.star,
    minuteText: minute.text,
    hourText: hour.text,
    text: [minute.text, hour.text, dom.text, month.text, dow.text].join(' '),
  }
}

function checkLength(expr: string): void {
  if (expr.length <= MAX_CRON_LENGTH) return
  throw new ScheduleError(
    `the cron expression has ${expr.length} characters; at most ${MAX_CRON_LENGTH} are allowed: use ranges and steps such as 0-30/5`,
  )
}

/** What stands between expressions that fire together. */
const JOIN = ' | '

export function joinCrons(exprs: readonly string[]): string {
  return exprs.join(JOIN)
}

/**
 * The expressions of a text, one or several joined by `|`, with macros resolved; the earliest of the day first and none
 * twice, so that a meaning has one text. Throws `ScheduleError` for what is refused.
 */
export function readCrons(expr: string): CronSpec[] {
  checkLength(expr)
  const given = expr.split('|')
  if (given.length === 1) return [readCron(expr)]
  const specs = new Map<string, CronSpec>()
  for (const part of given) {
    if (/^\s*@every/i.test(part)) {
      throw new ScheduleError(
        '"@every" cannot be joined with other schedules by "|": make one schedule for each',
      )
    }
    const spec = readCron(part)
    specs.set(spec.text, spec)
  }
  const sorted = [...specs.values()].sort(
    (a, b) => firstMinute(a) - firstMinute(b) || (a.text < b.text ? -1 : 1),
  )
  checkLength(canonicalText(sorted))
  return sorted
}

function firstMinute({ hours, minutes }: CronSpec): number {
  return (hours[0] ?? 0) * 60 + (minutes[0] ?? 0)
}

export function canonicalText(specs: readonly CronSpec[]): string {
  return joinCrons(specs.map((spec) => spec.text))
}

function readCron(expr: string): CronSpec {
  const trimmed = expr.trim()
  if (trimmed.startsWith('@')) {
    const macro = MACROS[trimmed.toLowerCase()]
    if (macro !== undefined) return readSpec(macro)
    throw new ScheduleError(
      `${quoted(trimmed)} is not supported; write ${Object.keys(MACROS).join(', ')}, "@every 5m", or five fields such as "0 9 * * *"`,
    )
  }
  const spec = readSpec(trimmed)
  if (neverFires(spec)) {
    throw new ScheduleError(
      `${quoted(trimmed)} never fires: none of its months has such a day; write a day the month has, or L for its last day`,
    )
  }
  return spec
}
