/** Recurring schedules of rows, read once. */
import { parseCron } from './parse.ts'
import { type Parsed, type Schedule, ScheduleError } from './schedule.ts'

/** The same few expressions come back with every fire; reading one takes longer than all the rest. */
const read = new Map<string, Parsed | ScheduleError>()
const READ_MAX = 2000

/**
 * What was accepted once may be refused later, when zone data or dialect changed. That is this trigger's
 * own failure and must not stop the batch it is in, so the error is a value here.
 */
export function parsedOf({
  cron_expr,
  timezone,
}: {
  readonly cron_expr: string
  readonly timezone: string
}): Parsed | ScheduleError {
  const key = `${timezone}\n${cron_expr}`
  const known = read.get(key)
  if (known !== undefined) return known
  try {
    return remember(key, parseCron(cron_expr, timezone))
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    return remember(key, error)
  }
}

/** The same for what is asked for now: throws the `ScheduleError`. */
export function parsedCron(cron_expr: string, timezone: string): Parsed {
  const parsed = parsedOf({ cron_expr, timezone })
  if (parsed instanceof ScheduleError) throw parsed
  return parsed
}

function remember<P extends Parsed | ScheduleError>(key: string, parsed: P): P {
  if (read.size >= READ_MAX) read.clear()
  read.set(key, parsed)
  return parsed
}

/** The same for a phrase. Only what means the same at any time is kept, so not what `parse` refuses or a one-off. */
export function parsedPhrase(text: string, timezone: string, parse: () => Parsed): Parsed {
  const key = `${timezone}\n"${text}`
  const known = read.get(key)
  if (known !== undefined && !(known instanceof ScheduleError)) return known
  const parsed = parse()
  return parsed.schedule.kind === 'once' ? parsed : remember(key, parsed)
}

/** Null if it can no longer be parsed. */
export function cronSchedule(row: {
  readonly cron_expr: string
  readonly timezone: string
}): Schedule | null {
  const parsed = parsedOf(row)
  return parsed instanceof ScheduleError ? null : parsed.schedule
}
