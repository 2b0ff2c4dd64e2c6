/** What is to come and what waits. */
import { request } from './http.ts'
import type { Kind } from './ledger.ts'

export interface UpcomingSlot {
  readonly trigger_id: string
  readonly name: string
  readonly at: string
  readonly user_id: string
  readonly session_key?: string
  readonly by: string | null
  readonly repeats: boolean
  readonly checks?: boolean
  readonly attempt?: number
}

export interface Overview {
  readonly now: string
  readonly to: string
  readonly lanes: Readonly<
    Record<
      Kind,
      {
        readonly slots: readonly UpcomingSlot[]
        readonly triggers: number
        readonly more: boolean
      }
    >
  >
  readonly figures: {
    readonly due_lag_ms: number
    readonly undelivered: number
    readonly oldest_undelivered_at: string | null
    readonly sessions_waiting: number
  }
}

export function readOverview(to: string, signal: AbortSignal): Promise<Overview> {
  return request(`v1/overview?to=${to}`, { signal })
}

export interface Rules {
  readonly autonomy_enabled: boolean
  readonly max_consecutive: number
  readonly cooldown_ms: number
  readonly intents_max: number
}

export function readRules(signal: AbortSignal): Promise<Rules> {
  return request('v1/rules', { signal })
}
