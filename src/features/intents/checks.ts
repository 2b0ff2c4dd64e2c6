/**
 * The rules an intent must keep before it is written. All that are broken are told at once, in the words that
 * clients know, each with the path of its field.
 */
import {
  isZone,
  maxFiresPerLocalDay,
  minSpacingMs,
  next,
  parsedOf,
  ScheduleError,
  zoneError,
} from '../../../packages/schedule/src/index.ts'
import { type IntentTrigger, onceAt, type TriggerCondition } from './rules.ts'

/** Enabled ones of one person. */
export const INTENTS_MAX = 25
export const LIMIT_REACHED = `Limit reached: ${INTENTS_MAX} active triggers max`
const CRON_SPACING_MIN_SECONDS = 60
const CRON_PER_DAY_MAX = 96
const INTERVAL_MIN_MINUTES = 5
const CALENDAR_MINUTES_MAX = 7 * 1440

/** What a condition cannot do without. */
const CONDITION_NEEDS: Readonly<Record<string, readonly (keyof TriggerCondition)[]>> = {
  price: ['ticker', 'operator', 'value'],
  silence: ['threshold_hours'],
  event: ['keywords'],
  news: ['keywords'],
  condition: ['type'],
}

/** What goes with one type alone. */
const CONDITION_OF: Readonly<Record<string, readonly (keyof TriggerCondition)[]>> = {
  event: ['where'],
  condition: ['type', 'params'],
}

/** All errors; empty when it may be kept. */
export function validateIntent(trigger: IntentTrigger, now: Date): string[] {
  const { trigger_type: type, timezone } = trigger
  if (!isZone(timezone)) {
    // Read as UTC, so that what else is wrong is told, too.
    return [zoneError(timezone), ...validateIntent({ ...trigger, timezone: 'UTC' }, now)]
  }
  switch (type) {
    case 'cron':
      return cronErrors(trigger, now)
    case 'interval':
      return intervalErrors(trigger)
    case 'once':
      return onceErrors(trigger, now)
    case 'calendar':
      return calendarErrors(trigger)
    default:
      return [
        ...(CONDITION_NEEDS[type] ?? [])
          .filter((name) => isMissing(trigger.trigger_condition[name]))
          .map((name) => `trigger_condition.${name} required for type '${type}'`),
        ...Object.entries(CONDITION_OF).flatMap(([own, names]) =>
          names
            .filter((name) => own !== type && trigger.trigger_condition[name] !== undefined)
            .map((name) => `trigger_condition.${name}: goes with type '${own}'`),
        ),
      ]
  }
}

function calendarErrors({ trigger_condition: { value } }: IntentTrigger): string[] {
  if (value === undefined || (value > 0 && value <= CALENDAR_MINUTES_MAX)) return []
  return [
    `trigger_condition.value: minutes before the start, more than 0 and at most ${CALENDAR_MINUTES_MAX}`,
  ]
}

function isMissing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function cronErrors({ trigger_schedule, timezone }: IntentTrigger, now: Date): string[] {
  const { cron } = trigger_schedule
  if (cron === undefined) return [`trigger_schedule.cron required for type 'cron'`]
  const parsed = parsedOf({ cron_expr: cron, timezone })
  const say = (text: string) => `trigger_schedule.cron: ${text}`
  if (parsed instanceof ScheduleError) return parsed.errors.map(say)
  const at = now.getTime()
  const errors = next(parsed.schedule, at).length === 0 ? [say('it never fires again')] : []
  const seconds = minSpacingMs(parsed.schedule, at) / 1000
  if (seconds < CRON_SPACING_MIN_SECONDS)
    errors.push(say(`Cron too frequent: every ${seconds}s. Minimum: ${CRON_SPACING_MIN_SECONDS}s`))
  const perDay = maxFiresPerLocalDay(parsed.schedule, at)
  if (perDay > CRON_PER_DAY_MAX)
    errors.push(say(`Cron would fire ${perDay}x/day. Max: ${CRON_PER_DAY_MAX}`))
  return errors
}

function intervalErrors({ trigger_schedule }: IntentTrigger): string[] {
  const { interval_minutes: minutes } = trigger_schedule
  if (minutes === undefined)
    return [`trigger_schedule.interval_minutes required for type 'interval'`]
  if (minutes >= INTERVAL_MIN_MINUTES) return []
  const text = `Interval too short: ${minutes}m. Minimum: ${INTERVAL_MIN_MINUTES}m`
  return [`trigger_schedule.interval_minutes: ${text}`]
}

function onceErrors(trigger: IntentTrigger, now: Date): string[] {
  const { datetime, trigger_at } = trigger.trigger_schedule
  if (datetime === undefined && trigger_at === undefined)
    return [`trigger_schedule.datetime required for type 'once'`]
  const at = onceAt(trigger)
  if (at !== null && at > now) return []
  const field = datetime === undefined ? 'trigger_at' : 'datetime'
  return [`trigger_schedule.${field}: One-time trigger must be in the future`]
}
