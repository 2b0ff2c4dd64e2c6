/** Schedules written for machines: cron expressions and `@every`. */

import { canonicalText, MAX_CRON_LENGTH, readCrons } from './cron.ts'
import { describe } from './describe.ts'
import { durationText, readEvery } from './every.ts'
import { isoText } from './instant.ts'
import { type Parsed, type Schedule, ScheduleError } from './schedule.ts'
import { isZone, zoneAdvice, zoneOf } from './zone.ts'

export function checkedZone(timezone: string): string {
  if (!isZone(timezone)) throw new ScheduleError(zoneAdvice(timezone))
  return zoneOf(timezone).name
}

function canonicalOf(schedule: Schedule): string {
  if (schedule.kind === 'cron') return schedule.expr
  if (schedule.kind === 'every') return `@every ${durationText(schedule.everyMs)}`
  return schedule.at === null ? 'once' : isoText(schedule.at)
}

export function parsed(schedule: Schedule, notes: string[] = []): Parsed {
  return { schedule, canonical: canonicalOf(schedule), description: describe(schedule), notes }
}

/** Five fields, a macro, several of these joined by ` | `, or `@every`. Throws `ScheduleError`. */
export function parseCron(expr: string, timezone = 'UTC'): Parsed {
  const zone = checkedZone(timezone)
  // Longer texts are refused by `readCrons`, before anything else looks at them.
  const trimmed = expr.length > MAX_CRON_LENGTH ? expr : expr.trim()
  if (trimmed.length <= MAX_CRON_LENGTH && /^@every(?![a-z])/i.test(trimmed)) {
    return parsed({ kind: 'every', everyMs: readEvery(trimmed.slice(6)), timezone: zone })
  }
  // Only the canonical text is compiled and kept, so that odd spellings cannot push out those in use.
  return parsed({ kind: 'cron', expr: canonicalText(readCrons(trimmed)), timezone: zone })
}
