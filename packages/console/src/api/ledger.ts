/** The ledger: every occurrence with its outcome, as far as the console reads it. */
import { shownZone } from '../parts/zone.ts'
import { address } from './address.ts'
import type { Reason, Verdict } from './shapes.ts'

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
  readonly dismissed?: { readonly at: string; readonly by: string }
  readonly receipt?: { readonly at: string; readonly channel?: string }
  readonly reply?: { readonly seq: number; readonly at: string }
  readonly output?: {
    readonly run_number: number
    readonly status: string
    readonly title: string | null
  }
}

/** The words of its entries are told in the zone that every time is shown in. */
export function ledgerPath(query: Parameters<typeof address>[1]): string {
  return address('v1/ledger', { ...query, timezone: shownZone() })
}

export function entryPath(id: string): string {
  return `v1/ledger/${encodeURIComponent(id)}`
}

/** How long after its time a slot was taken up. Zero for what was looked at early, such as a cancelled one. */
export function latenessMs({ at, scheduled_for }: LedgerEntry): number {
  return Math.max(0, Date.parse(at) - Date.parse(scheduled_for))
}
