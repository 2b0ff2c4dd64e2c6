/** Schedules written for machines: cron expressions and `@every`. */

import { DAY, SECOND } from './calendar.ts'
import { canonicalText, MAX_CRON_LENGTH, readCrons } from './cron.ts'
import { describe } from './describe.ts'
import { durationText, readEvery } from './every.ts'
import { isoText, localInstant } from './instant.ts'
import { type Parsed, quoted, type Schedule, ScheduleError, type Spread } from './schedule.ts'
import { isZone, zoneAdvice, zoneOf } from './zone.ts'

/** A longer spread would pass the next time of most schedules. */
export const SPREAD_MAX_MS = DAY

export function checkedZone(timezone: string): string {
  if (!isZone(timezone)) throw new ScheduleError(zoneAdvice(timezone))
  return zoneOf(timezone).name
}

function canonicalOf(schedule: Schedule): string {
  if (schedule.kind === 'once') return schedule.at === null ? 'once' : isoText(schedule.at)
  const { until, spread } = schedule
  const rule = schedule.kind === 'cron' ? schedule.expr : `@every ${durationText(schedule.everyMs)}`
  const bounded = until === undefined ? rule : `${rule} until ${isoText(until)}`
  return spread === undefined ? bounded : `${bounded} ${spreadText(spread)}`
}

export function parsed(schedule: Schedule, notes: string[] = []): Parsed {
  return { schedule, canonical: canonicalOf(schedule), description: describe(schedule), notes }
}

const seconds = (ms: number) => `${ms / SECOND}s`
const spreadText = ({ withinMs, offsetMs }: Spread) =>
  `spread ${seconds(withinMs)} by ${seconds(offsetMs)}`
const SPREAD = /\sspread (\d{1,6})s by (\d{1,6})s$/

/** What comes last: as `canonicalOf` writes it, and no other way. */
function readSpread(text: string): { rule: string; spread?: Spread } {
  const found = SPREAD.exec(text)
  if (found === null) return { rule: text }
  const [withinMs, offsetMs] = [Number(found[1]) * SECOND, Number(found[2]) * SECOND]
  if (withinMs > SPREAD_MAX_MS || offsetMs >= withinMs)
    throw new ScheduleError('spread takes up to a day, and an offset within it')
  return { rule: text.slice(0, found.index), spread: { withinMs, offsetMs } }
}

/** What comes after `until`: without an offset it is read in the zone. */
function readUntil(text: string, zone: string): { until?: number } {
  const until = localInstant(text, zone)
  if (until !== null) return { until }
  throw new ScheduleError(
    `until takes an instant such as 2030-01-31T09:00:00Z, not ${quoted(text)}`,
  )
}

/** Five fields, a macro, several of these joined by ` | `, or `@every`; each may end in ` until <instant>` and in a spread. Throws `ScheduleError`. */
export function parseCron(expr: string, timezone = 'UTC'): Parsed {
  const zone = checkedZone(timezone)
  // Longer texts are refused by `readCrons`, before anything else looks at them.
  const trimmed = expr.length > MAX_CRON_LENGTH ? expr : expr.trim()
  if (trimmed.length > MAX_CRON_LENGTH) readCrons(trimmed)
  const { rule: unspread, ...spread } = readSpread(trimmed)
  const [rule = '', end, ...more] = unspread.split(/\suntil(?=\s)/i)
  if (more.length > 0) throw new ScheduleError('until may be said once')
  const bound = { ...(end === undefined ? {} : readUntil(end, zone)), ...spread }
  if (/^@every(?![a-z])/i.test(rule)) {
    return parsed({ kind: 'every', everyMs: readEvery(rule.slice(6)), timezone: zone, ...bound })
  }
  // Only the canonical text is compiled and kept, so that odd spellings cannot push out those in use.
  const canonical = canonicalText(readCrons(rule.trim()))
  return parsed({ kind: 'cron', expr: canonical, timezone: zone, ...bound })
}
