/** The cases of schedules as a list of failures, so that one process per time zone can run them all. */

import {
  next,
  type Parsed,
  parseCron,
  parseFrequency,
  type Schedule,
  ScheduleError,
} from '../../packages/schedule/src/index.ts'
import { loadCases } from '../cases/load.ts'

interface CronCase {
  id: string
  expr: string
  tz: string
  after: string
  next?: string[]
  error?: boolean
}

interface Expectation {
  cron?: string
  cron_any_time?: string
  dow?: string
  date_fields?: string
  every?: string
  once?: boolean
  refuse?: boolean
  rrule?: boolean
  ext?: string
  full_meaning_kept?: boolean
  one_of?: Expectation[]
  never_cron?: boolean
}

interface FrequencyCase {
  text: string
  expect: Expectation
}

function refusal(run: () => Parsed): Parsed | null {
  try {
    return run()
  } catch (error) {
    if (error instanceof ScheduleError) return null
    throw error
  }
}

export function cronFailures(): { count: number; failures: string[] } {
  const cases = loadCases<CronCase[]>('cron')
  const failures = cases.flatMap(({ id, expr, tz, after, next: expected }) => {
    const parsed = refusal(() => parseCron(expr, tz))
    if (expected === undefined) return parsed === null ? [] : [`${id} ${expr}: accepted`]
    if (parsed === null) return [`${id} ${expr}: refused`]
    const got = next(parsed.schedule, Date.parse(after), { count: expected.length })
    const want = expected.map((text) => Date.parse(text))
    if (JSON.stringify(got) === JSON.stringify(want)) return []
    return [`${id} ${expr}: ${got.map((at) => new Date(at).toISOString()).join(' ')}`]
  })
  return { count: cases.length, failures }
}

const START = Date.parse('2026-01-01T00:00:00Z')

function fires(schedule: Schedule, count = 400): number[] {
  return next(schedule, START, { count })
}

function same(a: Schedule, b: Schedule, dayOnly: boolean): boolean {
  const of = (schedule: Schedule) =>
    fires(schedule).map((at) => (dayOnly ? new Date(at).toISOString().slice(0, 10) : at))
  return JSON.stringify(of(a)) === JSON.stringify(of(b))
}

const UNITS: Record<string, number> = { sec: 1, min: 60, hou: 3_600, day: 86_400 }

/** "every 90 secs" to milliseconds, read by hand and not by the code under test. */
function interval(text: string): number {
  const [, amount = '1', unit = ''] =
    text.split(' ').length === 2 ? ['', '1', text.split(' ')[1]] : text.split(' ')
  return (amount === 'other' ? 2 : Number(amount)) * (UNITS[unit.slice(0, 3)] ?? Number.NaN) * 1_000
}

function spacingIs(schedule: Schedule, ms: number): boolean {
  const found = fires(schedule, 200)
  return found.every((at, i) => i === 0 || at - (found[i - 1] ?? 0) === ms)
}

/** Written out by hand: what keeps the full meaning of the phrases that may be kept or refused. */
const FULL_MEANING: Record<string, string> = {
  'daily except on weekends': '* * 1-5',
  L: 'L * *',
  'FRI#1': '* * 5#1',
  'FRI#L': '* * 5#L',
  '11 THU#4': '* 11 4#4',
}

function meets(expect: Expectation, parsed: Parsed | null, text: string): boolean {
  if (expect.one_of !== undefined) return expect.one_of.some((one) => meets(one, parsed, text))
  if (parsed === null) return expect.refuse === true
  const { schedule } = parsed
  const sameDays = (fields: string) =>
    schedule.kind === 'cron' && same(schedule, parseCron(`0 9 ${fields}`).schedule, true)
  if (expect.once === true) return schedule.kind === 'once' && schedule.at === null
  if (expect.cron !== undefined) return same(schedule, parseCron(expect.cron).schedule, false)
  if (expect.cron_any_time !== undefined)
    return sameDays(expect.cron_any_time.split(' ').slice(2).join(' '))
  if (expect.dow !== undefined) return sameDays(`* * ${expect.dow}`)
  if (expect.date_fields !== undefined) return sameDays(expect.date_fields)
  if (expect.every !== undefined)
    return schedule.kind === 'every' && spacingIs(schedule, interval(text))
  const kept = FULL_MEANING[expect.ext ?? text]
  return kept !== undefined && sameDays(kept)
}

export function frequencyFailures(): { count: number; failures: string[] } {
  const cases = loadCases<FrequencyCase[]>('frequency')
  const failures = cases.flatMap(({ text, expect }) => {
    const parsed = refusal(() => parseFrequency(text))
    const right = meets(expect, parsed, text)
    const neverCron = expect.never_cron === true && parsed?.schedule.kind === 'cron'
    return right && !neverCron ? [] : [`${text.slice(0, 60)}: ${parsed?.canonical ?? 'refused'}`]
  })
  return { count: cases.length, failures }
}
