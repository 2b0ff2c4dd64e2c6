/** A schedule as it is stored, and a change to one. */
import type { ScheduleKind, SchedulePlan } from './plan.ts'

export const SCHEDULE_STATUSES = ['active', 'paused', 'done', 'failed'] as const
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number]

/** What a kind has not is null. JSON as text. */
export interface ScheduleRow {
  readonly kind: ScheduleKind
  readonly bucket: number
  readonly id: string
  readonly name: string
  readonly title: string
  readonly user_id: string
  readonly agent_id: string | null
  readonly thread_id: string | null
  readonly status: ScheduleStatus
  readonly next_at: Date | null
  readonly last_at: Date | null
  readonly last_outcome: string | null
  readonly note: string | null
  readonly data: string | null
  readonly timezone: string
  readonly follows_zone: boolean
  readonly fired_local: string | null
  readonly anchor_at: Date | null
  readonly cron: string | null
  readonly once_at: Date | null
  readonly priority: string | null
  readonly catch_up: string | null
  readonly catch_up_within_seconds: number | null
  readonly executor: string | null
  readonly trigger_type: string | null
  readonly trigger_schedule: string | null
  readonly trigger_condition: string | null
  readonly expires_at: Date | null
  readonly max_executions: number | null
  readonly execution_count: number | null
  readonly paused_at: Date | null
  readonly now: Date
}

/** One that exists, of any name. */
export interface ScheduleTarget {
  readonly kind: ScheduleKind
  readonly id: string
}

export interface ScheduleChange {
  /** Empty where only the target is meant. */
  readonly name: string
  /** Null: it is removed. */
  readonly plan: SchedulePlan | null
  readonly target?: ScheduleTarget
}

/** What a turn may ask of schedules. Its timers are written with the turn itself. */
export type ScheduleAsk = { readonly schedule: ScheduleChange }
