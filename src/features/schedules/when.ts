/** The condition of a schedule as an intent keeps it. Pure. */
import { parsePhrase, ScheduleError } from '../../../packages/schedule/src/index.ts'
import type { Operator, TriggerType } from '../intents/rules.ts'
import type { Predicate } from '../intents/where.ts'
import type { WireSpec } from './fields.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface Trigger {
  readonly trigger_type: TriggerType
  readonly trigger_condition: {
    readonly ticker?: string
    readonly operator?: Operator
    readonly value?: number
    readonly keywords?: string[]
    readonly threshold_hours?: number
    readonly where?: Predicate[]
    readonly type?: string
    readonly params?: Record<string, unknown>
  }
}

/** What is wrong goes to `errors`, and null comes back. */
export function triggerOf(
  { when = {} }: Pick<WireSpec, 'when'>,
  timezone: string,
  now: Date,
  errors: string[],
): Trigger | null {
  const { price, above, below, silent_for, news, event, where, calendar, before } = when
  const lengthMs = (field: string, text: string) => {
    try {
      return durationMs(text, timezone, now)
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error
      errors.push(...error.errors.map((each) => `when.${field}: ${each}`))
      return null
    }
  }
  if (price !== undefined) {
    const limit =
      above === undefined
        ? { operator: '<' as const, value: below ?? 0 }
        : { operator: '>' as const, value: above }
    return { trigger_type: 'price', trigger_condition: { ticker: price, ...limit } }
  }
  if (silent_for !== undefined) {
    const ms = lengthMs('silent_for', silent_for)
    if (ms === null) return null
    return { trigger_type: 'silence', trigger_condition: { threshold_hours: ms / HOUR_MS } }
  }
  if (calendar !== undefined) {
    const ms = before === undefined ? undefined : lengthMs('before', before)
    if (ms === null) return null
    const value = ms === undefined ? {} : { value: ms / MINUTE_MS }
    const words = calendar === true ? {} : { keywords: listOf(calendar) }
    return { trigger_type: 'calendar', trigger_condition: { ...value, ...words } }
  }
  if (when.condition !== undefined) {
    const params = when.params === undefined ? {} : { params: when.params }
    return { trigger_type: 'condition', trigger_condition: { type: when.condition, ...params } }
  }
  const trigger_type = news === undefined ? 'event' : 'news'
  const keywords = listOf(news ?? event ?? [])
  return {
    trigger_type,
    trigger_condition: { keywords, ...(where === undefined ? {} : { where }) },
  }
}

const listOf = (words: string | readonly string[]) =>
  typeof words === 'string' ? [words] : [...words]

/** "2 days", "15 minutes". Throws a `ScheduleError`. */
export function durationMs(text: string, timezone: string, now: Date): number {
  const asked = `in ${text.trim().replace(/^in\s+/i, '')}`
  const { schedule } = parsePhrase(asked, { timezone, now: now.getTime() })
  if (schedule.kind === 'once' && schedule.at !== null) return schedule.at - now.getTime()
  throw new ScheduleError('write how long, for example "2 days"')
}
