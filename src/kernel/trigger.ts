/** What can become due. The clock promotes it to an event; where it says so, the turn's outcome settles its slot. */

import { type CatchUpPlan, missedSpan } from '../../packages/schedule/src/catch-up.ts'
import type { Schedule } from '../../packages/schedule/src/index.ts'
import { newId } from '../core/ids.ts'
import type { EventType, SessionRef } from '../core/session.ts'
import type { Attempt } from '../features/alarms/rules.ts'
import type { MissedSlots } from '../features/people/missed-rows.ts'
import type { Reason, Verdict } from '../features/sessions/gate.ts'
import type { ClaimedTurn, SessionLease } from '../features/sessions/rows.ts'
import type { Policy, TriggerCommand, TurnAction } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import type { DueTable } from '../store/due.ts'

export interface Promotion {
  readonly promoted: number
  /** More is due than one batch held. */
  readonly more: boolean
  readonly nextMs: number | null
  /** Each of them. */
  readonly rows: readonly PromotedRow[]
  /** The turns whose sessions were leased on the way. */
  readonly turns?: readonly ClaimedTurn[]
}

/** The first of several instants ahead; null without one. */
export function soonest(nextMs: readonly (number | null)[]): number | null {
  const known = nextMs.filter((ms) => ms !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/** Places that are kept for turns of sessions leased with their promotion. */
export interface CapacityGrant extends SessionLease {
  readonly places: number
}

/** How many due rows are taken at once. */
export const BATCH = 1000

/** One slot that has become an event. */
export interface PromotedRow {
  /** From when it was due, be it as a slot or as another attempt at one. */
  readonly latenessMs: number
  /** An attempt before this one has failed. */
  readonly again?: boolean
  /** Known where its trigger was set within a trace. */
  readonly trace?: {
    readonly traceparent: string
    readonly sessionKey: string
    readonly triggerId: string
    readonly scheduledFor: Date
  }
}

/** `fire`: what became of the slot; its trace is null where its trigger was set outside of any. */
export function promotedRow(
  latenessMs: number,
  fire: {
    readonly traceparent: string | null
    readonly session: SessionRef
    readonly triggerId: string
    readonly scheduledFor: Date
  },
): PromotedRow {
  const { traceparent, session, triggerId, scheduledFor } = fire
  if (traceparent === null) return { latenessMs }
  return { latenessMs, trace: { traceparent, sessionKey: session.key, triggerId, scheduledFor } }
}

/** What the turn over a slot's event came to, told within the turn's own transaction. */
export interface SlotOutcome {
  readonly bucket: number
  readonly sessionKey: string
  readonly triggerId: string
  readonly scheduledFor: Date
  readonly eventSeq: number
  readonly eventId: string
  readonly committed: boolean
  readonly error: string | null
  readonly terminal: boolean
  readonly retryAfterMs: number
  /** The messages this turn sends, as effects. */
  readonly messages: readonly { readonly id: string; readonly content: string }[]
  /** What the gate said to each message, where it answers nobody. */
  readonly verdicts: readonly Verdict[]
  /** What the turn asked of the trigger that woke it. */
  readonly asks: readonly TriggerCommand[]
  readonly startedAt: Date
  readonly now: Date
}

/** Something a turn asked of a trigger. */
export interface PendingCommand {
  readonly session: SessionRef
  readonly wish: TurnAction & { type: 'trigger_command' }
  /** The event whose turn asked. */
  readonly eventSeq: number
  /** The turn's trace. */
  readonly traceparent?: string | null
  /** Of what it sets. */
  readonly lineage?: string | null
}

/** An event of a slot whose turn begins. */
export interface BegunEvent {
  readonly bucket: number
  readonly eventId: string
  readonly triggerId: string
  /** From 1. */
  readonly attempt: number
}

export interface Trigger {
  readonly type: EventType
  /** Where its rows are; it promotes nothing while none of them is due. */
  readonly table: DueTable
  /** `busy`: more was due than the last batch held. `lent`: for a trigger that leases. */
  promote(db: Db, busy?: boolean, lent?: CapacityGrant | null): Promise<Promotion>
  /**
   * Its promotion leases the sessions it can: for a trigger that is not told of turns that begin (`began`). Nobody can have cancelled what
   * is promoted in the same transaction. `together`: a batch waits for room for many.
   */
  readonly leases?: 'each' | 'together'
  /** How many batches may be promoted side by side; absent: one after the other, so that their order is kept. */
  readonly lanes?: number
  /**
   * Present where a failed turn is the trigger's own affair: the session goes on at once, and the slot is
   * settled here. Absent: the turn is tried again at the head of its session.
   */
  settle?(tx: Db, outcomes: readonly SlotOutcome[]): Promise<void>
  /** A turn whose slot is withdrawn while it runs is aborted, within a heartbeat. */
  readonly abortsWithdrawn?: boolean
  /** Of these events, the ids of those whose slot was cancelled since: their turns do not run. */
  withdrawn?(
    db: Db,
    events: readonly { readonly bucket: number; readonly eventId: string }[],
  ): Promise<ReadonlySet<string>>
  /** Told when turns over these events are about to run, after their claim has committed. */
  began?(db: Db, events: readonly BegunEvent[]): Promise<void>
  /** Writes what turns asked of it, within their commit and after their slots were settled. */
  wishes?(tx: Db, asked: readonly PendingCommand[], policy: Policy): Promise<void>
}

/** One due row whose receiver is to be called. */
export interface WakeCall {
  readonly bucket: number
  readonly id: string
  readonly dueAt: Date
  readonly now: Date
  readonly url: string
  readonly bearer: string | null
  readonly deliveryId: string
  readonly body: string
  /** Of the receiver, instead of the configured ones. */
  readonly secrets?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Why it is not even tried any more. */
  readonly givenUp: string | null
  /** The slot it stands for, for the record. */
  readonly slot?: {
    readonly triggerId: string
    readonly scheduledFor: Date
    readonly attempt: number
    readonly userId: string
  }
  /** The trace it was set in. */
  readonly traceparent?: string | null
}

export interface WakeResult {
  readonly call: WakeCall
  readonly token: string
  readonly attempt: Attempt
}

/** What becomes due and wakes by a call instead of an event: under a lease, since it happens outside the database. */
export interface WakeSource {
  readonly type: string
  /** Why its receivers are called. */
  readonly reason: Reason
  readonly table: DueTable
  claim(
    db: Db,
    limit: number,
    leaseMs: number,
    token: string,
  ): Promise<{ readonly calls: readonly WakeCall[]; readonly nextMs: number | null }>
  /** Answers for each whether it was still ours. */
  settle(tx: Db, results: readonly WakeResult[]): Promise<boolean[]>
}

/** Slots up to 15 minutes late count as on time. */
const LATE_MS = 15 * 60_000

/** What an event tells of the slots that it stands for. */
export interface ToldMissed {
  readonly missedCount: number
  /** JSON text for the agent; null where it stands for no other. */
  readonly missed: string | null
  /** Others of its session may be late as well. */
  readonly late: boolean
}

/** `since`: when the previous event of its trigger was made, where slots passed while that had its turn. */
export function toldMissed(
  caught: CatchUpPlan,
  {
    schedule,
    anchor,
    since,
    now,
  }: { schedule: Schedule | null; anchor: Date; since: Date | null; now: Date },
): ToldMissed {
  const span = missedSpan(caught, schedule, anchor, since)
  const late = caught.slot !== null && now.getTime() - caught.slot.getTime() > LATE_MS
  return {
    missedCount: span?.count ?? 0,
    missed: span === null ? null : JSON.stringify(span),
    late: late || caught.missedCount > 0,
  }
}

export function givenUp(
  kind: MissedSlots['kind'],
  trigger: {
    readonly bucket: number
    readonly id: string
    readonly user_id: string
    readonly agent_id: string | null
    readonly name: string
  },
  caught: CatchUpPlan,
): MissedSlots[] {
  if (caught.givenUp === null) return []
  const { bucket, id: trigger_id, user_id, agent_id, name } = trigger
  const { first: scheduled_for, last: last_for, count: slots } = caught.givenUp
  return [
    {
      bucket,
      id: newId(),
      user_id,
      agent_id,
      kind,
      trigger_id,
      name,
      scheduled_for,
      last_for,
      slots,
    },
  ]
}
