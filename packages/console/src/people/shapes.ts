/** What the server says of a person and of what waits for them. */

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

export interface QuietWindow {
  /** The days it begins on; every day by default. */
  readonly days?: readonly Weekday[]
  readonly from: string
  readonly to: string
}

export interface Person {
  readonly user_id: string
  readonly timezone: string
  readonly timezone_known: boolean
  readonly quiet_hours: readonly QuietWindow[]
  readonly most_unasked_per_day: number | null
  readonly paused_until: string | null
  readonly muted_agents: readonly string[]
  readonly quiet_until: string | null
  readonly unasked_today: number
  readonly deferred: number
  readonly notes?: readonly string[]
}

export interface Deferred {
  readonly id: string
  readonly session_key: string
  readonly kind: string
  readonly name: string
  readonly scheduled_for: string
  readonly why: string
  readonly release_at: string | null
  readonly deferred_at: string
}

export const pathOf = (userId: string) => `v1/people/${encodeURIComponent(userId)}`
