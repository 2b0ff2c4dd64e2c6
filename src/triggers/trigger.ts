/** What can become due. The clock promotes it to an event; where it says so, the turn's outcome settles its slot. */
import type { EventType } from '../core/session.ts'
import type { Db } from '../store/db.ts'

export interface Promotion {
  readonly promoted: number
  /** More is due than one batch held. */
  readonly more: boolean
  readonly nextMs: number | null
  /** How late the latest of them was, for the lateness histogram. */
  readonly latenessMs: number
}

/** What the turn over a slot's event came to, told within the turn's own transaction. */
export interface SlotOutcome {
  readonly bucket: number
  readonly sessionKey: string
  readonly triggerId: string
  readonly scheduledFor: Date
  readonly eventSeq: number
  readonly committed: boolean
  readonly error: string | null
  readonly terminal: boolean
  readonly now: Date
}

export interface Trigger {
  readonly type: EventType
  promote(db: Db): Promise<Promotion>
  /**
   * Present where a failed turn is the trigger's own affair: the session goes on at once, and the slot is
   * settled here. Absent: the turn is tried again at the head of its session.
   */
  settle?(tx: Db, outcomes: readonly SlotOutcome[]): Promise<void>
}
