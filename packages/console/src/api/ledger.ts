/** The ledger: every slot with its outcome, as far as the console reads it. */
import { request } from './http.ts'
import type { Page, Reason, Verdict } from './shapes.ts'

export const OUTCOMES = [
  'delivered',
  'sent',
  'silent',
  'suppressed',
  'deferred',
  'condition_false',
  'postponed',
  'expired',
  'failed',
  'cancelled',
  'pending',
  'missed',
] as const
export type Outcome = (typeof OUTCOMES)[number]
export const KINDS = ['timer', 'alarm', 'intent', 'work'] as const
export type Kind = (typeof KINDS)[number]
/** Whose slots are told; nobody plans a question. */
export const LEDGER_KINDS = [...KINDS, 'question'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

export interface LedgerEntry {
  readonly id: string
  readonly trigger: { readonly kind: LedgerKind; readonly id: string | null; readonly name: string }
  readonly user_id: string
  readonly session_key?: string
  readonly scheduled_for: string
  readonly at: string
  readonly ended_at?: string | null
  readonly outcome: Outcome
  readonly reason: {
    readonly rule: string
    readonly count?: number
    readonly max?: number
    readonly until?: string
    readonly error?: string
  } | null
  readonly words: string
  readonly seen?: unknown
  readonly missed_count: number
  readonly attempts: number
  readonly repeats?: number
  readonly verdicts?: readonly Verdict[]
  readonly turn?: {
    readonly event_seq: number
    readonly status: string
    readonly started_at: string
    readonly finished_at: string
    readonly error: string | null
  }
  readonly effects?: readonly {
    readonly id: string
    readonly status: string
    readonly channel?: string
    readonly reason: Reason
    readonly delivered_at: string | null
    readonly preview?: string
    readonly error?: string
  }[]
  readonly receipt?: { readonly at: string; readonly channel?: string }
  readonly reply?: { readonly seq: number; readonly at: string }
  readonly output?: {
    readonly run_number: number
    readonly status: string
    readonly title: string | null
  }
}

export interface LedgerQuery {
  readonly user_id?: string | undefined
  readonly session_key?: string | undefined
  readonly trigger?: LedgerKind | undefined
  readonly trigger_id?: string | undefined
  readonly outcome?: Outcome | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

export function readLedger(query: LedgerQuery, signal: AbortSignal): Promise<Page<LedgerEntry>> {
  const search = new URLSearchParams({ timezone: HERE })
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value))
  }
  return request(`v1/ledger?${search}`, { signal })
}

/** How long after its time a slot was taken up. Zero for what was looked at early, such as a cancelled one. */
export function latenessMs({ at, scheduled_for }: LedgerEntry): number {
  return Math.max(0, Date.parse(at) - Date.parse(scheduled_for))
}
