/** The times of a schedule: an instant, or a rhythm with its end. What is wrong goes to `errors`, and null comes back. Pure. */
import {
  instantIn,
  localInstant,
  NEXT_TIMES,
  next,
  type Parsed,
  parseCron,
  parseFrequency,
  parsePhrase,
  ScheduleError,
  spreadOver,
} from '../../../packages/schedule/src/index.ts'
import { readSpread } from '../../core/spread.ts'
import type { WireSpec } from './fields.ts'

export interface AskedTime {
  readonly spec: Pick<WireSpec, 'in' | 'at' | 'every' | 'until' | 'times' | 'spread'>
  /** The name, or the id of what has none: by it and the person the spread is chosen. */
  readonly spreadKey: string
  readonly timezone: string
  readonly owner: { readonly now: Date; readonly keepsPast?: boolean; readonly userId: string }
  readonly errors: string[]
}

export interface Time {
  readonly at: Date
  readonly notes: readonly string[]
}

/** The instant of `in` or `at`. */
export function onceOf(asked: AskedTime): Time | null {
  const time = nominalOf(asked)
  const spread = readSpread(asked.spec.spread, asked.owner.userId, asked.spreadKey, asked.errors)
  if (time === null || spread === null) return time
  return { ...time, at: new Date(time.at.getTime() + spread.offsetMs) }
}

function nominalOf(asked: AskedTime): Time | null {
  const { spec, owner, timezone, errors } = asked
  const now = owner.now.getTime()
  if (typeof spec.in === 'number') return { at: new Date(now + spec.in * 1000), notes: [] }
  const known = owner.keepsPast === true ? localInstant(spec.at ?? '', timezone) : null
  if (known !== null) return { at: new Date(known), notes: [] }
  const field = spec.in === undefined ? 'at' : 'in'
  const text =
    spec.in === undefined ? (spec.at ?? '') : `in ${spec.in.trim().replace(/^in\s+/i, '')}`
  return attempt(field, errors, () => {
    const { schedule, notes } = parsePhrase(text, { timezone, now })
    if (schedule.kind === 'once' && schedule.at !== null)
      return { at: new Date(schedule.at), notes }
    throw new ScheduleError(
      field === 'in'
        ? 'write how long from now, for example "10 minutes"'
        : 'happens once: write for example "tomorrow at 9am", or use every',
    )
  })
}

/** The rhythm of `every`, bounded by `until` and `times`, and its first time. */
export function rhythmOf(asked: AskedTime): (Time & { readonly parsed: Parsed }) | null {
  const { spec, owner, timezone, errors } = asked
  const from = owner.now.getTime()
  const until = spec.until === undefined ? undefined : untilOf(asked)
  const spread = readSpread(spec.spread, owner.userId, asked.spreadKey, errors)
  return attempt('every', errors, () => {
    const read = readRhythm(spec.every ?? '', timezone)
    const nominal = bounded(read, until, spec.times, from)
    const parsed = spread === null ? nominal : spreadOver(nominal, spread)
    const [at] = next(parsed.schedule, from, { anchor: from })
    if (at === undefined) throw new ScheduleError('it never fires')
    return { at: new Date(at), parsed, notes: read.notes }
  })
}

/** "weekday at 8:30" and "2 hours" say what follows the word every. */
function readRhythm(text: string, timezone: string): Parsed {
  const parsed = attemptBoth(
    () => parseFrequency(text, timezone),
    () => parseFrequency(`every ${text.trim()}`, timezone),
  )
  if (parsed.schedule.kind !== 'once') return parsed
  throw new ScheduleError('repeats: write for example "weekday at 8:30", or use at')
}

function attemptBoth<T>(first: () => T, second: () => T): T {
  try {
    return first()
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    try {
      return second()
    } catch {
      throw error
    }
  }
}

/** The same with a last instant: the one given, or that of the last of so many times, whichever is first. */
function bounded(
  parsed: Parsed,
  until: number | undefined,
  times: number | undefined,
  from: number,
): Parsed {
  const { schedule, canonical } = parsed
  if ((until === undefined && times === undefined) || schedule.kind === 'once') return parsed
  const own = schedule.until ?? Number.POSITIVE_INFINITY
  const last =
    times === undefined
      ? Number.POSITIVE_INFINITY
      : (next(schedule, from, { anchor: from, count: times }).at(-1) ?? Number.POSITIVE_INFINITY)
  const end = Math.min(own, until ?? Number.POSITIVE_INFINITY, last)
  const rule = canonical.replace(/ until .*$/, '')
  return parseCron(`${rule} until ${new Date(end).toISOString()}`, schedule.timezone)
}

export function untilOf({
  spec,
  owner,
  timezone,
  errors,
}: Pick<AskedTime, 'spec' | 'timezone' | 'errors'> & {
  readonly owner: { readonly now: Date }
}): number | undefined {
  const text = spec.until ?? ''
  const instant = localInstant(text, timezone)
  const now = owner.now.getTime()
  if (instant !== null && instant > now) return instantIn(text, timezone).getTime()
  const read = attempt('until', errors, () => {
    const { schedule } = parsePhrase(text, { timezone, now })
    if (schedule.kind === 'once' && schedule.at !== null) return schedule.at
    throw new ScheduleError('write an instant, or a phrase such as "tomorrow at 9am"')
  })
  return read ?? undefined
}

export function timesOf(parsed: Parsed, now: Date): Date[] {
  const from = now.getTime()
  return next(parsed.schedule, from, { anchor: from, count: NEXT_TIMES }).map((at) => new Date(at))
}

function attempt<T>(field: string, errors: string[], read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    errors.push(...error.errors.map((text) => `${field}: ${text}`))
    return null
  }
}
