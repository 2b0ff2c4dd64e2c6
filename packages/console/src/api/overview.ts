/** What is to come, and the figures of what waits: one answer that Home and System both show. */

import { address } from './address.ts'
import type { Kind } from './ledger.ts'

interface UpcomingSlot {
  readonly trigger_id: string
  readonly name: string
  readonly at: string
  readonly user_id: string
  readonly by: string | null
  /** It only looks whether a condition holds. */
  readonly checks?: boolean
}

export interface Overview {
  readonly now: string
  readonly to: string
  readonly lanes: Readonly<Record<Kind, { readonly slots: readonly UpcomingSlot[] }>>
  readonly figures: {
    readonly due_lag_ms: number
    readonly undelivered: number
    readonly oldest_undelivered_at: string | null
    readonly sessions_waiting: number
  }
}

export function overviewPath(to: string, person = ''): string {
  return address('v1/overview', { to, user_id: person })
}
