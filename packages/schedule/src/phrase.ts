/** Schedules written for people. Exact or refused: every token is consumed, or the phrases that come nearest are named. */

import { LAST_INSTANT } from './calendar.ts'
import { clockNotes, readClock } from './clock.ts'
import { compose } from './compose.ts'
import { formatLocal, isoText, localInstant } from './instant.ts'
import { nearest } from './nearest.ts'
import { readOneOff } from './oneoff.ts'
import { checkedZone, parseCron, parsed } from './parse.ts'
import { parsedPhrase } from './parsed.ts'
import { readRecurring } from './recurring.ts'
import { type Parsed, quoted, type Schedule, ScheduleError } from './schedule.ts'
import { Cursor, type ReadClock, tokenize } from './tokens.ts'
import { compile } from './wall.ts'
import { zoneOf } from './zone.ts'

const MAX_PHRASE_LENGTH = 200

const ZONE_WORDS = new Set(
  'utc gmt z cet cest eet est edt cst cdt mst mdt pst pdt bst ist jst'.split(' '),
)

/** Two fields of digits and cron signs, a macro or a zone prefix: meant as cron, so its errors should speak of cron. */
function looksLikeCron(text: string): boolean {
  if (text.startsWith('@') || /^(cron_)?tz=/i.test(text)) return true
  const [first = '', second = ''] = text.split(/\s+/, 2)
  const sign = /^[0-9*,/?-]+$/
  return sign.test(first) && sign.test(second)
}

function capped(text: string): string {
  if (text.length > MAX_PHRASE_LENGTH) {
    throw new ScheduleError(
      `the text has ${text.length} characters; at most ${MAX_PHRASE_LENGTH} are allowed: write one schedule, for example "every weekday at 8:30"`,
    )
  }
  const trimmed = text.trim()
  if (trimmed === '')
    throw new ScheduleError('the text is empty: write for example "daily at 09:00"')
  return trimmed
}

/** Adds the nearest phrases that work to a refusal. */
function advise(text: string, error: unknown, oneOff: boolean): never {
  if (!(error instanceof ScheduleError)) throw error
  const words = text.toLowerCase().split(/[^a-z]+/)
  const zone =
    text.includes('/') || words.some((word) => ZONE_WORDS.has(word))
      ? ['give the zone in "timezone", not in the text']
      : []
  const phrases = nearest(text, oneOff).map((phrase) => JSON.stringify(phrase))
  throw new ScheduleError([
    `${quoted(text, 80)} is refused: ${error.errors.join('; ')}`,
    ...zone,
    `phrases that work: ${phrases.join(', ')}`,
  ])
}

/** A recurring phrase, raw cron, `@every`, or "once". Throws `ScheduleError`. */
export function parseFrequency(text: string, timezone = 'UTC'): Parsed {
  const trimmed = capped(text)
  const zone = checkedZone(timezone)
  if (looksLikeCron(trimmed)) return parseCron(trimmed, zone)
  if (trimmed.toLowerCase() === 'once') return parsed({ kind: 'once', at: null, timezone: zone })
  try {
    return compose(readRecurring(tokenize(trimmed)), zone)
  } catch (error) {
    return advise(trimmed, error, false)
  }
}

/**
 * Everything `parseFrequency` takes, and one-off times seen from `now`. A one-off in the past is refused. `near`: see
 * `readOneOff`.
 */
export function parsePhrase(
  text: string,
  options: { timezone?: string; now: number; near?: number },
): Parsed {
  const trimmed = capped(text)
  const zone = checkedZone(options.timezone ?? 'UTC')
  return parsedPhrase(trimmed, zone, () => readPhrase(trimmed, zone, options))
}

function readPhrase(
  trimmed: string,
  zone: string,
  options: { readonly now: number; readonly near?: number },
): Parsed {
  const instant = localInstant(trimmed, zone)
  if (instant !== null) return once(instant, zone, options.now, [])
  if (looksLikeCron(trimmed) || trimmed.toLowerCase() === 'once')
    return parseFrequency(trimmed, zone)
  const { now, near } = options
  const oneOff = attempt(trimmed, () => readOneOff(tokenize(trimmed), zoneOf(zone), now, near))
  if (oneOff !== null) return once(oneOff.at, zone, options.now, oneOff.notes)
  return attempt(trimmed, () => compose(readRecurring(tokenize(trimmed)), zone))
}

function attempt<T>(text: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    return advise(text, error, true)
  }
}

function once(at: number, timezone: string, now: number, notes: string[]): Parsed {
  if (at > LAST_INSTANT) throw new ScheduleError('the date lies beyond the year 9999')
  if (at <= now) {
    throw new ScheduleError(
      `${formatLocal(at, timezone)} is in the past (now is ${formatLocal(now, timezone)}): write a later time, or "in 20 minutes"`,
    )
  }
  return parsed({ kind: 'once', at, timezone }, notes)
}

/** Whether the text is a time of day and nothing else: `10am`, `at half past 8`. */
export function isTimeOfDay(text: string): boolean {
  if (text.length > MAX_PHRASE_LENGTH) return false
  try {
    return readTime(text) !== null
  } catch (error) {
    if (error instanceof ScheduleError) return false
    throw error
  }
}

function readTime(text: string): ReadClock | null {
  const cursor = new Cursor(tokenize(text))
  cursor.take('at')
  const clock = readClock(cursor, true)
  return cursor.done ? clock : null
}

/**
 * The same days at another time of day. Where the schedule has several times, the only one in the same half of the day is
 * replaced: 9am replaces 8:30 of "8:30 and 17:00". Throws `ScheduleError`.
 */
export function atOtherTime(schedule: Schedule, text: string): Parsed {
  const clock = readTime(capped(text))
  const parts = schedule.kind === 'cron' ? compile(schedule.expr).parts : []
  const times = parts.flatMap(({ spec: { hours, minutes, text: expr } }) => {
    const days = expr.split(' ').slice(2).join(' ')
    return hours.flatMap((hour) => minutes.map((minute) => ({ hour, minute, days })))
  })
  const isMorning = ({ hour }: { hour: number }) => hour < 12
  const inHalf = times.filter((each) => clock && isMorning(each) === isMorning(clock))
  const [old] = times.length === 1 ? times : inHalf
  const isClear = times.length === 1 || inHalf.length === 1
  if (clock === null || schedule.kind !== 'cron' || old === undefined || !isClear) {
    throw new ScheduleError(
      'it has no single time of day that another could take the place of: write the whole rhythm, for example "every weekday at 10:00"',
    )
  }
  const moved = times.map((each) => (each === old ? { ...clock, days: old.days } : each))
  const crons = moved.map(({ hour, minute, days }) => `${minute} ${hour} ${days}`)
  const end = schedule.until === undefined ? '' : ` until ${isoText(schedule.until)}`
  const parsed = parseCron(`${crons.join(' | ')}${end}`, schedule.timezone)
  return { ...parsed, notes: clockNotes([clock]) }
}
