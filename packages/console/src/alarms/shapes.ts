/** Alarms as the server shows them, and in words. Pure. */
import type { Tone } from '../parts/parts.tsx'

export interface Alarm {
  readonly id: string
  readonly label: string
  readonly kind: 'once' | 'cron'
  readonly timezone: string
  readonly next_fire_at?: string
  readonly next_fires?: readonly string[]
  readonly conversation_id?: string
  readonly wake_message: string
  readonly payload: unknown
  readonly status: 'active' | 'paused' | 'fired' | 'cancelled' | 'failed'
  readonly max_failures: number
  readonly failure_count: number
  readonly last_error?: string
  readonly created_at: string
  readonly last_fired_at?: string
  readonly agent_id?: string
  readonly description: string
  readonly missed_count: number
  readonly notes?: readonly string[]
}

export const STATUSES = [
  ['', 'All'],
  ['active', 'Active'],
  ['paused', 'Paused'],
  ['fired', 'Fired'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const
export type StatusChoice = (typeof STATUSES)[number][0]

export const STATUS_TONES: Readonly<Record<Alarm['status'], Tone>> = {
  active: 'good',
  paused: 'plain',
  fired: 'own',
  failed: 'bad',
  cancelled: 'plain',
}

export function titleOf(alarm: Alarm): string {
  return alarm.label.trim() === '' ? alarm.wake_message : alarm.label
}

/** A wake that failed is tried again; this is how often it was. */
export function troubleOf(alarm: Alarm): string | null {
  if (alarm.failure_count === 0 && alarm.last_error === undefined) return null
  const tries = `${alarm.failure_count} of ${alarm.max_failures} attempts failed`
  return alarm.failure_count === 0 ? 'An earlier time was given up' : tries
}
