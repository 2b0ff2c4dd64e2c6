/** What the engine reports about itself. The engine only calls; who counts, and how, is decided at the door. */

export interface TurnReport {
  readonly agentId: string
  readonly sessionKey: string
  readonly eventSeq: number
  readonly eventType: string
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying' | 'lost'
  readonly durationMs: number
  readonly checkpointId: string | null
  readonly error: string | null
  readonly notes: readonly { level: 'info' | 'warn'; rule: string; text: string }[]
}

export interface Meter {
  promoted(type: string, count: number, latenessMs: number): void
  turn(report: TurnReport): void
  batch(kind: 'append' | 'turns' | 'receipts' | 'alarms' | 'wakes', size: number): void
  leasesLost(count: number): void
  delivered(channel: string, count: number): void
  trouble(where: string, error: unknown): void
}
