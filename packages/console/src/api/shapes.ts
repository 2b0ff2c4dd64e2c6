/** What the server answers with, as far as the console reads it. */

export interface Page<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

export interface Gate {
  readonly allowed: boolean
  readonly reason?: string
  readonly until?: string
}

export interface Timer {
  readonly id: string
  readonly timer_id: string
  readonly fire_at: string
  readonly created_at: string
  readonly updated_at: string
}

export interface ListedSession {
  readonly session_key: string
  readonly last_seq: number
  readonly done_seq: number
  readonly consecutive_autonomous_msgs: number
  readonly gate: Gate
  readonly created_at: string
  readonly updated_at: string
  readonly last_activity_at?: string
}

export interface SessionHead extends ListedSession {
  readonly timers: readonly Timer[]
}

export interface SessionEvent {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly payload: unknown
  readonly created_at: string
}

export interface Verdict {
  readonly allowed: boolean
  readonly rule: string
  readonly count?: number
  readonly max?: number
  readonly until?: string
  /** Of a preference: whether it comes later. */
  readonly deferred?: boolean
  /** Of silence: why, and what was written without being sent. */
  readonly reason?: string
  readonly text?: string
}

export interface Turn {
  readonly event_seq: number
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying' | 'running'
  readonly started_at: string
  readonly finished_at: string | null
  readonly error?: string
  readonly effect_ids: readonly string[]
  readonly verdicts: readonly Verdict[]
}

/** Why a message is there. */
export type Reason = 'answer' | 'follow_up' | 'promise' | 'notice'

export interface Effect {
  readonly id: string
  readonly type: string
  readonly reason: Reason
  readonly payload: unknown
  readonly status: 'pending' | 'executing' | 'completed' | 'failed'
  readonly attempt_count: number
  readonly created_at: string
}

export interface Preview {
  readonly canonical: string
  readonly kind: 'once' | 'cron' | 'every'
  readonly description: string
  readonly timezone: string
  readonly next: readonly string[]
  readonly notes?: readonly string[]
}

export interface Health {
  readonly status: string
  readonly version: string
  readonly database: string
  readonly tz_data: string
  readonly services?: readonly string[]
}

/** A text field of an opaque payload, or undefined: payloads are whatever an agent wrote. */
export function textIn(payload: unknown, field: string): string | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const value = (payload as Record<string, unknown>)[field]
  return typeof value === 'string' ? value : undefined
}
