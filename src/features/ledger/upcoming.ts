/** What is still to come of a trigger: in words, and within a window the slot it waits for, then those that follow. Pure. */

import {
  formatLocal,
  next,
  parsedOf,
  type Schedule,
  ScheduleError,
} from '../../../packages/schedule/src/index.ts'
import {
  type IntentTerms,
  isConditionType,
  scheduleOf,
  scheduleWords,
  termsOf,
} from '../intents/rules.ts'
import { frequencyWords } from '../work/rules.ts'
import type { TriggerKind } from './rules.ts'

/** One trigger shows no more of its slots than this: what comes every second would hide everything else. */
export const SLOTS_PER_TRIGGER_MAX = 60

/** A trigger of any kind as its row says; what it has not is null. JSON as text. */
export interface Standing {
  readonly kind: TriggerKind
  readonly id: string
  readonly name: string
  readonly at: Date | null
  readonly user_id: string
  readonly session_key: string | null
  /** The agent that will run, or the executor; null: somebody outside. */
  readonly agent: string | null
  /** Of an alarm or a work; null where it happens once. */
  readonly cron: string | null
  readonly timezone: string | null
  readonly anchor_at: Date | null
  readonly attempt: number | null
  /** Of an intent, with what follows. */
  readonly trigger_type: string | null
  readonly trigger_schedule: string | null
  readonly trigger_condition: string | null
  readonly expires_at: Date | null
  readonly max_executions: number | null
  readonly execution_count: number | null
}

export interface Ahead {
  readonly id: string
  readonly title: string
  /** When, or on what condition, in words. */
  readonly when: string
  readonly timezone: string
  /** Null where it waits for something other than a time. */
  readonly next_at: Date | null
  /** Whether it goes on after its next time. */
  readonly again: boolean
  /** What it repeats on, as cron or `@every`; null where it waits for one time or a condition. */
  readonly rhythm: string | null
}

function intentTerms(row: Standing) {
  const { at, trigger_type, timezone, anchor_at, execution_count } = row
  return termsOf({
    ...row,
    ...{ trigger_type: trigger_type ?? '', timezone: timezone ?? 'UTC' },
    ...{ anchor_at: anchor_at ?? new Date(0), execution_count: execution_count ?? 0 },
    ...{ next_check: at, scheduled_for: null },
  })
}

/** It is looked at then, and maybe not fired. */
export function onlyLooks(row: Standing): boolean {
  return row.kind === 'intent' && isConditionType(intentTerms(row).trigger_type)
}

export function aheadOf(row: Standing): Ahead {
  const { kind, id, name: title, at, cron } = row
  const timezone = row.timezone ?? 'UTC'
  const common = { id, title, timezone, next_at: at, rhythm: cron }
  if (kind === 'intent') {
    const terms = intentTerms(row)
    const { trigger_type, max_executions: max, execution_count: count } = terms
    return {
      ...common,
      when: scheduleWords(terms),
      next_at: isConditionType(trigger_type) ? null : at,
      again: trigger_type !== 'once' && (max === null || max - count > 1),
      rhythm: intentRhythm(terms),
    }
  }
  const again = cron !== null
  if (again || kind === 'work')
    return { ...common, when: frequencyWords({ frequency_cron: cron, timezone }), again }
  const when = at === null ? 'once' : `once at ${formatLocal(at.getTime(), timezone)}`
  return { ...common, when, again }
}

function intentRhythm({ trigger_schedule }: IntentTerms): string | null {
  const { cron, interval_minutes: minutes } = trigger_schedule
  return cron ?? (minutes === undefined ? null : `@every ${minutes}m`)
}

export interface Repeating {
  readonly schedule: Schedule
  /** Where the grid of an interval begins. */
  readonly anchor: number
}

/** The instants up to and including `to`, ascending. `first` is the one it waits for, however late. */
export function slotsUntil(
  first: Date,
  repeating: Repeating | null,
  now: Date,
  to: Date,
  max: number,
): Date[] {
  if (first > to) return []
  if (repeating === null || max <= 1) return [first]
  // What was missed coalesces into the slot it waits for, so what follows lies after now.
  const after = Math.max(first.getTime(), now.getTime())
  const following = next(repeating.schedule, after, { anchor: repeating.anchor, count: max - 1 })
  return [first, ...following.filter((at) => at <= to.getTime()).map((at) => new Date(at))]
}

/** Null for what happens once, or cannot be read any more; of an intent's condition the next look is told, not its whole rhythm. */
export function repeatingOf(row: Standing): Repeating | null {
  const { kind, cron, timezone, anchor_at } = row
  if (timezone === null || anchor_at === null) return null
  if (kind !== 'intent') return repeatingCron(cron, timezone, anchor_at)
  const schedule = scheduleOf(intentTerms(row))
  if (schedule === null || schedule instanceof ScheduleError || schedule.kind === 'once')
    return null
  return { schedule, anchor: anchor_at.getTime() }
}

export function repeatingCron(
  cronExpr: string | null,
  timezone: string,
  anchorAt: Date,
): Repeating | null {
  if (cronExpr === null || cronExpr === '') return null
  const parsed = parsedOf({ cron_expr: cronExpr, timezone })
  if (parsed instanceof ScheduleError) return null
  return { schedule: parsed.schedule, anchor: anchorAt.getTime() }
}
