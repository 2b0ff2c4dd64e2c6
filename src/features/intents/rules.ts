/**
 * What becomes of an intent. Pure: what its row says, what a check came to and the database's time go in, the
 * row's next state comes out. The same rules settle a report from outside and a check of our own.
 */
import {
  type CatchUpPlan,
  type CatchUpTerms,
  catchUp,
} from '../../../packages/schedule/src/catch-up.ts'
import {
  describe,
  localInstant,
  nextTimes,
  nextUnfired,
  parsedOf,
  type Schedule,
  ScheduleError,
} from '../../../packages/schedule/src/index.ts'
import { type Predicate, whereWords } from './where.ts'

export const TRIGGER_TYPES = [
  'cron',
  'interval',
  'once',
  'price',
  'silence',
  'event',
  'calendar',
  'news',
  'condition',
] as const
export type TriggerType = (typeof TRIGGER_TYPES)[number]
export const ACTION_TYPES = ['notify', 'check_in', 'briefing', 'analysis', 'reminder'] as const
export const PRIORITIES = ['low', 'normal', 'high', 'critical'] as const
export type Priority = (typeof PRIORITIES)[number]
export const OPERATORS = ['<', '<=', '>', '>=', '==', '!='] as const
export type Operator = (typeof OPERATORS)[number]
export const EXECUTION_STATUSES = [
  'success',
  'failed',
  'gate_blocked',
  'condition_not_met',
] as const
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number]

const MINUTE_MS = 60_000
/** How often a condition that has fired is looked at again, unless `check_interval_minutes` says otherwise. */
export const CHECK_INTERVAL_MINUTES = 5
/** After `condition_not_met`, and after `gate_blocked` that names no instant. */
export const NOT_NOW_MS = 5 * MINUTE_MS
const FAILED_MS = 15 * MINUTE_MS

export interface TriggerSchedule {
  readonly cron?: string
  readonly interval_minutes?: number
  /** Of `once`; without an offset it is read in the intent's time zone. */
  readonly datetime?: string
  /** Another spelling of `datetime`. */
  readonly trigger_at?: string
  readonly check_interval_minutes?: number
}

export interface TriggerCondition {
  readonly ticker?: string
  readonly operator?: Operator
  readonly value?: number
  readonly keywords?: readonly string[]
  readonly threshold_hours?: number
  readonly max_age_minutes?: number
  readonly cooldown_minutes?: number
  /** Of a condition of the app: its name, and what it is asked with. */
  readonly type?: string
  readonly params?: Readonly<Record<string, unknown>>
  /** Of an event: what its data must say. */
  readonly where?: readonly Predicate[]
}

/** When an intent is looked at and what it waits for. */
export interface IntentTrigger {
  readonly trigger_type: TriggerType
  readonly trigger_schedule: TriggerSchedule
  readonly trigger_condition: TriggerCondition
  readonly timezone: string
}

/** What its row says, under the names of its columns, JSON read. */
export interface IntentTerms extends IntentTrigger, CatchUpTerms {
  /** Where the grid of an interval begins. */
  readonly anchor_at: Date
  readonly expires_at: Date | null
  readonly max_executions: number | null
  readonly execution_count: number
  readonly next_check: Date | null
  /** The slot in hand, while an event of ours is under way. */
  readonly scheduled_for: Date | null
  /** Of one that follows its person: what its clock showed at the slot that fired last. */
  readonly fired_local?: string | null
}

/** The same as the database keeps it: JSON as text, or null. */
export type StoredTerms = Omit<
  IntentTerms,
  'trigger_type' | 'trigger_schedule' | 'trigger_condition'
> & {
  readonly trigger_type: string
  readonly trigger_schedule: string | null
  readonly trigger_condition: string | null
}

export function termsOf(row: StoredTerms): IntentTerms {
  return {
    trigger_type: row.trigger_type as TriggerType,
    trigger_schedule: fields(row.trigger_schedule),
    trigger_condition: fields(row.trigger_condition),
    timezone: row.timezone,
    anchor_at: row.anchor_at,
    expires_at: row.expires_at,
    max_executions: row.max_executions,
    execution_count: row.execution_count,
    next_check: row.next_check,
    scheduled_for: row.scheduled_for,
    fired_local: row.fired_local ?? null,
    catch_up: row.catch_up ?? 'once',
    catch_up_within_seconds: row.catch_up_within_seconds ?? null,
  }
}

/** Written by us after the check of its shape, so its members are what the types say. */
function fields(text: string | null): object {
  return text === null ? {} : (JSON.parse(text) as object)
}

/** Looked at again and again until something holds, instead of at times of its own. */
export function isConditionType(type: TriggerType): boolean {
  return type !== 'cron' && type !== 'interval' && type !== 'once'
}

/** The instant of a `once`; null when it says none. */
export function onceAt(trigger: IntentTrigger): Date | null {
  const { datetime, trigger_at } = trigger.trigger_schedule
  const at = localInstant(datetime ?? trigger_at ?? '', trigger.timezone)
  return at === null ? null : new Date(at)
}

/** The times of its own, if it has any. An error when what was accepted once cannot be read any more. */
export function scheduleOf(trigger: IntentTrigger): Schedule | ScheduleError | null {
  const { trigger_type, trigger_schedule, timezone } = trigger
  switch (trigger_type) {
    case 'cron': {
      const parsed = parsedOf({ cron_expr: trigger_schedule.cron ?? '', timezone })
      return parsed instanceof ScheduleError ? parsed : parsed.schedule
    }
    case 'interval': {
      const everyMs = (trigger_schedule.interval_minutes ?? 0) * MINUTE_MS
      if (everyMs <= 0) return new ScheduleError('the interval is missing')
      return { kind: 'every', everyMs, timezone }
    }
    case 'once':
      return { kind: 'once', at: onceAt(trigger)?.getTime() ?? null, timezone }
    default:
      return null
  }
}

/** The first regular slot strictly after now; null without one. */
function slotAfter(
  terms: IntentTrigger & Pick<IntentTerms, 'anchor_at' | 'fired_local'>,
  now: Date,
): Date | null {
  const schedule = scheduleOf(terms)
  if (schedule === null || schedule instanceof ScheduleError) return null
  const anchor = terms.anchor_at.getTime()
  const at = nextUnfired(schedule, now.getTime(), anchor, terms.fired_local ?? null)
  return at === null ? null : new Date(at)
}

/**
 * When an intent that begins, or begins again, is looked at first: cron, interval and once at their time,
 * conditions at once. Null when that time never comes.
 */
export function firstCheck(
  terms: IntentTrigger & Pick<IntentTerms, 'anchor_at' | 'fired_local'>,
  now: Date,
): Date | null {
  if (isConditionType(terms.trigger_type)) return now
  return slotAfter(terms, now)
}

export interface Report {
  readonly status: ExecutionStatus
  /** Of `gate_blocked`: not before then. */
  readonly deferUntil?: Date | null
  /** Of `failed`: trying again is pointless, so it goes on as after a success. */
  readonly terminal?: boolean
}

export interface Settled {
  /** Null exactly when it is disabled. */
  readonly next_check: Date | null
  readonly enabled: boolean
  /** It counts: `last_executed` and `execution_count` move. */
  readonly executed: boolean
  readonly execution_count: number
  readonly was_disabled_reason?: string
}

/** How the end by expires_at is told. */
export const EXPIRED = 'expires_at passed'

/** What an enabled intent becomes after a check. */
export function afterReport(terms: IntentTerms, report: Report, now: Date): Settled {
  const executed = report.status === 'success'
  const givenUp = isGivenUp(report)
  const execution_count = terms.execution_count + (executed ? 1 : 0)
  const reason = endOf(terms, { executed, givenUp }, execution_count, now)
  const next_check = reason === null ? nextCheck(terms, report, now) : null
  if (next_check !== null) return { next_check, enabled: true, executed, execution_count }
  const was_disabled_reason = reason ?? 'no further time in its schedule'
  return { next_check, enabled: false, executed, execution_count, was_disabled_reason }
}

function endOf(
  terms: IntentTerms,
  { executed, givenUp }: { executed: boolean; givenUp: boolean },
  count: number,
  now: Date,
): string | null {
  const once = terms.trigger_type === 'once'
  if (once && executed) return 'one-time trigger executed'
  if (once && givenUp) return 'one-time trigger failed for good'
  const { max_executions: max, expires_at } = terms
  if (max !== null && count >= max) return `max_executions (${max}) reached`
  return isExpired({ expires_at }, now) ? EXPIRED : null
}

export function isExpired(terms: Pick<IntentTerms, 'expires_at'>, now: Date): boolean {
  return terms.expires_at !== null && terms.expires_at <= now
}

const isGivenUp = ({ status, terminal }: Report) => status === 'failed' && terminal === true

function nextCheck(terms: IntentTerms, report: Report, now: Date): Date | null {
  const inMs = (ms: number) => new Date(now.getTime() + ms)
  switch (isGivenUp(report) ? 'success' : report.status) {
    case 'success':
      return isConditionType(terms.trigger_type)
        ? inMs(checkIntervalMs(terms))
        : slotAfter(terms, goesOnFrom(terms, now))
    case 'condition_not_met':
      return inMs(terms.trigger_type === 'condition' ? checkIntervalMs(terms) : NOT_NOW_MS)
    case 'gate_blocked': {
      // An instant that has passed says nothing about when the gate opens.
      const until = report.deferUntil ?? null
      return until !== null && until > now ? until : inMs(NOT_NOW_MS)
    }
    case 'failed': {
      const slot = slotAfter(terms, now)
      const later = inMs(FAILED_MS)
      return slot !== null && slot < later ? slot : later
    }
  }
}

/** With catch_up all, the next slot follows even when its time has passed. */
function goesOnFrom({ catch_up, scheduled_for }: IntentTerms, now: Date): Date {
  return catch_up === 'all' && scheduled_for !== null ? scheduled_for : now
}

function checkIntervalMs({ trigger_schedule }: IntentTerms): number {
  return (trigger_schedule.check_interval_minutes ?? CHECK_INTERVAL_MINUTES) * MINUTE_MS
}

/** When it is looked at, in words; a condition's own words are the condition. */
export function scheduleWords(trigger: IntentTrigger): string {
  const schedule = scheduleOf(trigger)
  if (schedule instanceof ScheduleError) return schedule.message
  return schedule === null ? conditionWords(trigger) : describe(schedule)
}

function conditionWords({ trigger_type, trigger_condition }: IntentTrigger): string {
  const { ticker, operator, value, keywords, threshold_hours, where } = trigger_condition
  const { type, params } = trigger_condition
  switch (trigger_type) {
    case 'price':
      return `when ${ticker} is ${operator} ${value}`
    case 'silence':
      return `when the user has been silent for ${threshold_hours} hours`
    case 'condition':
      return `when ${type} holds${params === undefined ? '' : ` for ${JSON.stringify(params)}`}`
    case 'calendar':
      return `when a calendar entry starts within ${value ?? CALENDAR_MINUTES} minutes`
    default:
      return `when ${trigger_type === 'news' ? 'a headline' : 'an event'} mentions ${(keywords ?? []).join(', ')}${where === undefined ? '' : ` and ${whereWords(where)}`}`
  }
}

/** How long before its start a calendar entry counts, unless `value` says otherwise. */
export const CALENDAR_MINUTES = 15

/** Up to three: the one it waits for, then the slots that follow. Only where it has times of its own. */
export function nextChecks(terms: IntentTerms, now: Date): Date[] | null {
  const schedule = scheduleOf(terms)
  if (schedule === null) return null
  const { next_check: first, anchor_at: anchor } = terms
  if (first === null) return []
  return nextTimes(first, schedule instanceof ScheduleError ? null : schedule, anchor, now)
}

/**
 * The slot a due intent stands for: the one that still waits to be fired, else the time it was due, as far as its catch_up has not
 * given it up; a condition's is now.
 */
export function slotOf(terms: IntentTerms, now: Date): CatchUpPlan {
  const alone = { missedCount: 0, givenUp: null, nextAt: null }
  if (isConditionType(terms.trigger_type)) return { slot: now, last: now, ...alone }
  const slot = terms.scheduled_for ?? terms.next_check ?? now
  const schedule = scheduleOf(terms)
  if (schedule === null || schedule instanceof ScheduleError) return { slot, last: slot, ...alone }
  const begun = terms.scheduled_for !== null
  const policy = begun ? ({ catch_up: 'once', catch_up_within_seconds: null } as const) : terms
  return catchUp(policy, schedule.kind === 'once' ? null : schedule, slot, now, terms.anchor_at)
}

/** The slot that a failure leaves to be tried again: none where the next look is a slot of its own. */
function keptSlot(
  terms: IntentTerms,
  scheduledFor: Date,
  nextCheck: Date | null,
  now: Date,
): Date | null {
  const schedule = scheduleOf(terms)
  if (schedule === null || nextCheck === null) return null
  if (schedule instanceof ScheduleError) return scheduledFor
  return slotAfter(terms, now)?.getTime() === nextCheck.getTime() ? null : scheduledFor
}

/** The row's next state after the turn over its fire, under the names of its columns. */
export interface AfterTurn extends Settled {
  readonly scheduled_for: Date | null
  /** Slots that passed until now, since the one in hand. */
  readonly missed_count: number
  readonly was_met: boolean
  readonly fact: string | null
}

/**
 * A fire whose turn failed has used up nothing: neither the edge nor the headline. What became true meanwhile is
 * looked at right after a fire that succeeded.
 */
export function afterTurn(
  terms: IntentTerms,
  state: { enabled: boolean; was_met: boolean; fact: string | null; again: string | null },
  report: { readonly status: ExecutionStatus; readonly terminal: boolean },
  now: Date,
): AfterTurn {
  const settled = afterReport(terms, report, now)
  // What is given up for good has used up its slot, too: else it would be tried again without end.
  const through = report.status === 'success' || report.terminal
  const enabled = state.enabled && settled.enabled
  const soon = through && state.again !== null ? now : settled.next_check
  const next_check = enabled ? soon : null
  const slot = terms.scheduled_for
  return {
    ...settled,
    enabled,
    next_check,
    scheduled_for: through || slot === null ? null : keptSlot(terms, slot, next_check, now),
    missed_count: slot === null ? 0 : slotOf({ ...terms, scheduled_for: slot }, now).missedCount,
    was_met: through && state.was_met,
    fact: through ? null : state.fact,
  }
}
