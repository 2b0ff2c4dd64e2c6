/** What the engine reports about itself. The engine only calls; who counts, and how, is decided at the door. */
import type { Reason, Verdict } from '../features/sessions/gate.ts'

export interface TurnRecord {
  readonly agentId: string
  readonly sessionKey: string
  readonly eventSeq: number
  readonly eventType: string
  /** Why what it says is said. */
  readonly reason: Reason
  /** The event's payload: a text for those alone who asked for texts. */
  readonly payload: string
  readonly triggerId: string | null
  readonly slot: Date | null
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying' | 'lost'
  readonly durationMs: number
  /** From the event to the agent; null for attempts after the first. */
  readonly waitMs: number | null
  /** From the slot's nominal instant to the agent; null where there is no slot, and for attempts after the first. */
  readonly latenessMs: number | null
  readonly checkpointId: string | null
  readonly error: string | null
  readonly verdicts: readonly Verdict[]
  readonly notes: readonly { level: 'info' | 'warn'; rule: string; text: string }[]
  readonly traceparent: string | null
}

/** What became of one message or one call, when that is known. */
export interface DeliveryRecord {
  readonly channel: string
  readonly result: 'acknowledged' | 'taken' | 'failed' | 'given_up'
  /** From the first attempt of this process. */
  readonly durationMs: number
  /** The effect's id, or that of the delivery. */
  readonly id: string
  readonly sessionKey: string | null
  readonly eventSeq: number | null
  readonly checkpointId: string | null
  readonly trigger: string | null
  readonly triggerId: string | null
  readonly reason: Reason
  readonly slot: Date | null
  readonly attempt: number | null
  readonly error: string | null
  readonly traceparent: string | null
}

export interface Meter {
  /** `latenessMs`: of each that was promoted, or of the latest. `again`: attempts after a failed one. */
  promoted(
    type: string,
    count: number,
    latenessMs: number | readonly number[],
    again?: number,
  ): void
  turn(record: TurnRecord): void
  /** By the gate of a worker outside; our own verdicts come with their turn. */
  heldBack(what: { readonly trigger: string; readonly triggerId: string }): void
  batch(kind: 'append' | 'turns' | 'receipts' | 'alarms' | 'wakes', size: number): void
  leasesLost(count: number): void
  /** Handed to a channel; whether it arrived is told later, by `delivery`. */
  delivered(channel: string, count: number): void
  delivery(record: DeliveryRecord): void
  /** A source of signals was asked. */
  polled(source: string, result: 'ok' | 'failed', durationMs: number): void
  trouble(where: string, error: unknown): void
}

/** Counts and logs nothing but errors. */
export function silentMeter({ trouble }: Pick<Meter, 'trouble'>): Meter {
  const nothing = () => undefined
  return {
    promoted: nothing,
    turn: nothing,
    heldBack: nothing,
    batch: nothing,
    leasesLost: nothing,
    delivered: nothing,
    delivery: nothing,
    polled: nothing,
    trouble,
  }
}
