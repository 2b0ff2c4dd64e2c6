/** An agent with its figures, as the server shows it. */
import type { Stop } from '../stops/stops.ts'

export interface Figures {
  readonly sessions: number
  readonly running: number
  readonly turns_24h: number
  readonly failed_24h: number
  readonly error_rate: number | null
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly model_calls_24h: number
  readonly cost_24h: number | null
  readonly concurrency: number | null
  readonly per_minute: number | null
  readonly stop: Pick<Stop, 'id'> | null
}

export interface Agent {
  readonly id: string
  readonly kind: string
  readonly url?: string
  readonly timeout_ms: number
  readonly enabled: boolean
  readonly figures?: Figures
}

export const agentPath = (id: string) => `v1/agents/${encodeURIComponent(id)}`

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined
    ? '–'
    : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`
}
