/** How the last day and the last week went. */
import type { Kind } from './ledger.ts'

export interface Activity {
  readonly now: string
  readonly slots: readonly {
    readonly at: string
    readonly kind: Kind
    readonly slots: number
    readonly late: number
    readonly worst_ms: number
  }[]
  readonly held: readonly {
    readonly at: string
    readonly rule: string
    readonly messages: number
  }[]
  readonly runs: readonly Run[]
}

export interface Run {
  readonly work_id: string
  readonly task: string
  readonly user_id: string
  readonly run_number: number
  readonly status: 'pending' | 'running'
  readonly progress: number | null
  readonly progress_note: string | null
  readonly started_at: string | null
}
