/**
 * What becomes of an alarm. Pure: the slot in hand, what its attempt came to and the database's time go
 * in, the row's next state comes out. A slot ends only when the wake was really taken, when its attempts
 * are used up, or when the owner cancels.
 */

import {
  type CatchUpPlan,
  type CatchUpTerms,
  catchUp,
} from '../../../packages/schedule/src/catch-up.ts'
import {
  cronSchedule,
  formatLocal,
  missed,
  nextTimes,
  parsedOf,
  ScheduleError,
  unfiredFrom,
} from '../../../packages/schedule/src/index.ts'
import { askedMs, ladderMs, type RetryAfter } from '../../core/backoff.ts'
import type { CallFault } from '../../core/calls/address.ts'
import { newId } from '../../core/ids.ts'
import { storableText } from '../../core/text.ts'

export const ALARM_STATUSES = ['active', 'paused', 'fired', 'cancelled', 'failed'] as const
export type AlarmStatus = (typeof ALARM_STATUSES)[number]
export const ALARM_KINDS = ['once', 'cron'] as const
export type AlarmKind = (typeof ALARM_KINDS)[number]
/** What an attempt, or the owner, made of the slot. `exhausted` is a failure after which none is left. */
export type AlarmOutcome = 'taken' | 'failed' | 'exhausted' | 'cancelled'
type Move = 'fire' | 'advance' | 'retry' | 'fail' | 'skip' | 'cancel' | 'stay'

const STAY = { once: 'stay', cron: 'stay' } as const
const ENDED = { taken: STAY, failed: STAY, exhausted: STAY, cancelled: STAY } as const

/** Whatever happens to an alarm that has ended, it stays as it is: a late answer changes nothing. */
export const LIFECYCLE: Record<AlarmStatus, Record<AlarmOutcome, Record<AlarmKind, Move>>> = {
  active: {
    taken: { once: 'fire', cron: 'advance' },
    failed: { once: 'retry', cron: 'retry' },
    exhausted: { once: 'fail', cron: 'skip' },
    cancelled: { once: 'cancel', cron: 'cancel' },
  },
  paused: ENDED,
  fired: ENDED,
  cancelled: ENDED,
  failed: ENDED,
}

const LAST_ERROR_MAX = 2000
const RETRY_BASE_MS = 30_000
const RETRY_MAX_MS = 15 * 60_000
const RETRY_AFTER_MAX_MS = 60 * 60_000

/** What never changes, under the names of its columns. */
export interface AlarmTerms extends CatchUpTerms {
  readonly kind: AlarmKind
  readonly cron_expr: string
  readonly timezone: string
  readonly anchor_at: Date
  readonly max_failures: number
  /** Of one that follows its person: what its clock showed at the slot that fired last. */
  readonly fired_local?: string | null
}

/** What a settle may change, under the names of its columns. */
export interface AlarmState {
  readonly status: AlarmStatus
  readonly scheduled_for: Date
  readonly missed_count: number
  readonly attempt: number
  readonly delivery_id: string
  readonly failure_count: number
  readonly last_error: string
  readonly next_fire_at: Date
  readonly due_at: Date | null
  readonly last_fired_at: Date | null
}

/** What one attempt to wake came to. */
export type Attempt =
  | { readonly taken: true }
  | {
      readonly taken: false
      readonly error: string
      /** Trying again is pointless. */
      readonly terminal: boolean
      readonly retryAfter: RetryAfter | null
      /** Of the answer, where there was one. */
      readonly status?: number
      /** What it was that there was none, where that is known. */
      readonly fault?: CallFault
    }

export function settleAlarm(
  alarm: AlarmTerms & AlarmState,
  attempt: Attempt,
  now: Date,
): AlarmState {
  const failures = alarm.failure_count + 1
  const outcome = outcomeOf(alarm, attempt)
  const error = attempt.taken ? alarm.last_error : storableText(attempt.error, LAST_ERROR_MAX)
  switch (LIFECYCLE[alarm.status][outcome][alarm.kind]) {
    case 'fire':
      return { ...stateOf(alarm), status: 'fired', due_at: null, last_fired_at: now }
    case 'advance':
      return advance({ ...alarm, last_fired_at: now }, now, 'fired')
    case 'retry': {
      const at = retryAt(alarm.failure_count, attempt, now)
      const due = { next_fire_at: at, due_at: at }
      return { ...stateOf(alarm), failure_count: failures, last_error: error, ...due }
    }
    case 'fail': {
      const counted = { failure_count: failures, last_error: error }
      return { ...stateOf(alarm), status: 'failed', due_at: null, ...counted }
    }
    case 'skip':
      return advance({ ...alarm, last_error: error }, now, 'failed')
    case 'cancel':
      return cancelledAlarm(alarm)
    case 'stay':
      return stateOf(alarm)
  }
}

export function cancelledAlarm(alarm: AlarmState): AlarmState {
  if (alarm.status !== 'active') return stateOf(alarm)
  return { ...stateOf(alarm), status: 'cancelled', due_at: null }
}

function outcomeOf(alarm: AlarmTerms & AlarmState, attempt: Attempt): AlarmOutcome {
  if (attempt.taken) return 'taken'
  return attempt.terminal || alarm.failure_count + 1 >= alarm.max_failures ? 'exhausted' : 'failed'
}

/** Exactly the columns of the state, whatever else the row carried. */
function stateOf(alarm: AlarmState): AlarmState {
  const { status, scheduled_for, missed_count, attempt, delivery_id } = alarm
  const { failure_count, last_error, next_fire_at, due_at, last_fired_at } = alarm
  const slot = { scheduled_for, missed_count, attempt, delivery_id }
  return { status, ...slot, failure_count, last_error, next_fire_at, due_at, last_fired_at }
}

/** min(30 s · 2^k, 15 min), or later when the other side asked for it, within reason. */
function retryAt(failuresBefore: number, attempt: Attempt, now: Date): Date {
  const ladder = ladderMs(RETRY_BASE_MS, RETRY_MAX_MS, failuresBefore)
  const asked = attempt.taken ? 0 : askedMs(attempt.retryAfter, now)
  return new Date(now.getTime() + Math.max(ladder, Math.min(asked, RETRY_AFTER_MAX_MS)))
}

/**
 * On to the first slot strictly after now, reckoned from the nominal slot so that nothing drifts. What
 * passed in between is coalesced into the slot that ends here. `last`: the status when no slot is left.
 */
function advance(alarm: AlarmTerms & AlarmState, now: Date, last: 'fired' | 'failed'): AlarmState {
  const parsed = parsedOf(alarm)
  if (parsed instanceof ScheduleError) {
    const last_error = storableText(`the schedule: ${parsed.message}`, LAST_ERROR_MAX)
    return { ...stateOf(alarm), status: 'failed', due_at: null, last_error }
  }
  const slot = alarm.scheduled_for.getTime()
  // With catch_up all, the next slot follows even when its time has passed.
  const from = alarm.catch_up === 'all' ? slot : now.getTime()
  const ahead = missed(parsed.schedule, slot, from, alarm.anchor_at.getTime())
  const rest = { missed_count: ahead.missedCount, failure_count: 0 }
  const anchor = alarm.anchor_at.getTime()
  const nextAt = unfiredFrom(parsed.schedule, ahead.nextAt, anchor, alarm.fired_local ?? null)
  if (nextAt === null) return { ...stateOf(alarm), ...rest, status: last, due_at: null }
  const at = new Date(nextAt)
  const fresh = {
    scheduled_for: at,
    next_fire_at: at,
    due_at: at,
    attempt: 0,
    delivery_id: newId(),
  }
  return { ...stateOf(alarm), ...rest, ...fresh }
}

/** How many further slots have passed by now and go into the one in hand. */
export function missedBy(alarm: AlarmTerms, scheduledFor: Date, now: Date): number {
  if (alarm.kind === 'once' || alarm.catch_up === 'all') return 0
  const schedule = cronSchedule(alarm)
  if (schedule === null) return 0
  const anchor = alarm.anchor_at.getTime()
  return missed(schedule, scheduledFor.getTime(), now.getTime(), anchor).missedCount
}

/** Which slot a due alarm fires for; another attempt is at the slot it has begun with. */
export function planCatchUp(alarm: AlarmTerms & AlarmState, now: Date): CatchUpPlan {
  const begun = alarm.attempt > 0
  const terms = begun ? { ...alarm, ...ONCE } : alarm
  const schedule = alarm.kind === 'once' ? null : cronSchedule(alarm)
  const caught = catchUp(terms, schedule, alarm.scheduled_for, now, alarm.anchor_at)
  return begun && alarm.catch_up === 'all' ? { ...caught, missedCount: 0 } : caught
}

const ONCE = { catch_up: 'once', catch_up_within_seconds: null } as const

/** An alarm none of whose slots fires now: on to the next, or at its end. */
export function skippedAlarm(
  alarm: AlarmTerms & AlarmState,
  { nextAt, last }: CatchUpPlan,
): AlarmState {
  if (nextAt !== null) {
    const fresh = { scheduled_for: nextAt, next_fire_at: nextAt, due_at: nextAt, missed_count: 0 }
    return { ...stateOf(alarm), ...fresh, delivery_id: newId() }
  }
  const was = formatLocal(last.getTime(), alarm.timezone)
  const last_error = `missed: it was due at ${was}, and its catch_up gave it up`
  return { ...stateOf(alarm), status: 'failed', due_at: null, last_error }
}

/** The next times while it is active: the one it waits for, then what follows. */
export function nextFires(
  alarm: Pick<
    AlarmTerms & AlarmState,
    'status' | 'kind' | 'cron_expr' | 'timezone' | 'anchor_at' | 'next_fire_at'
  >,
  now: Date,
): Date[] {
  if (alarm.status !== 'active') return []
  const schedule = alarm.kind === 'once' ? null : cronSchedule(alarm)
  return nextTimes(alarm.next_fire_at, schedule, alarm.anchor_at, now)
}

/** Its recurring schedule in words. */
export function cronWords(alarm: Pick<AlarmTerms, 'cron_expr' | 'timezone'>): string {
  const parsed = parsedOf(alarm)
  return parsed instanceof ScheduleError ? parsed.message : parsed.description
}
