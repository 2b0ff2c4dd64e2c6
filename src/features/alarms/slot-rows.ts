/**
 * The slots of alarms, taken when due: either by becoming an event (`in_flight` until its turn commits) or under a
 * lease while a receiver is called; both are fenced, so that a cancel or a lost lease makes the late settle find nothing.
 */

import type { Db } from '../../store/db.ts'
import {
  ALARMS,
  claimRows,
  eqByKey,
  LEASE,
  NOW,
  oneInOrder,
  takenAndNext,
  takenOf,
  WAKES,
} from '../../store/due.ts'
import {
  type Appended,
  appendedOf,
  appendTaken,
  dueFrom,
  NUMBERED,
  type Numbered,
  type SlotEvent,
  withdrawnFrom,
} from '../../store/slots.ts'
import { rowsOf, statement } from '../../store/statement.ts'
import { type NumberLease, promoteAsEvents } from '../sessions/number-rows.ts'
import type { ClaimedTurn } from '../sessions/rows.ts'
import type { AlarmState, AlarmTerms } from './rules.ts'

export const SLOT = `t.bucket, t.id, t.parent_id, t.user_id, t.agent_id, t.conversation_id, t.kind, t.cron_expr, t.timezone,
  t.anchor_at, t.max_failures, t.status, t.scheduled_for, t.missed_count, t.attempt, t.delivery_id,
  t.failure_count, t.last_error, t.next_fire_at, t.due_at, t.last_fired_at, t.traceparent, t.catch_up, t.catch_up_within_seconds,
  t.follows_zone, t.fired_local, left(coalesce(nullif(t.label, ''), t.wake_message), 200) as name`

export interface AlarmSlot extends AlarmTerms, AlarmState {
  readonly bucket: number
  readonly id: string
  readonly parent_id: string | null
  readonly user_id: string
  readonly agent_id: string | null
  readonly conversation_id: string
  readonly traceparent: string | null
  readonly follows_zone: boolean
  readonly name: string
  readonly now: Date
}

export const dueSlots = dueFrom<AlarmSlot>(ALARMS, SLOT)

/** What a due alarm becomes: an event of this session. */
export interface AlarmEvent extends SlotEvent {
  readonly id: string
  readonly scheduledFor: Date
  readonly missedCount: number
  /** JSON text for its agent; null where it stands for no other. */
  readonly missed: string | null
  readonly late: boolean
  /** What its clock showed at the slot, of one that follows its person. */
  readonly firedLocal: string | null
}

const TAKE = statement(
  {
    i: rowsOf<Numbered<AlarmEvent>>({
      ...NUMBERED,
      id: ['uuid', ({ event }) => event.id],
      scheduled_for: ['timestamptz', ({ event }) => event.scheduledFor],
      missed_count: ['int', ({ event }) => event.missedCount],
      missed: ['json?', ({ event }) => event.missed],
      fired_local: ['text?', ({ event }) => event.firedLocal],
    }),
    begun: 'uuid[]',
  },
  ({ i, begun }) => `with taken as (
    update wakeful.alarms a
    set in_flight = i.event_id, due_at = null, claim_token = null, claimed_at = ${NOW}, attempt = a.attempt + 1,
        scheduled_for = i.scheduled_for, missed_count = i.missed_count,
        fired_local = coalesce(i.fired_local, a.fired_local), updated_at = ${NOW}
    from ${i}
    where ${eqByKey('a.bucket', 'i.bucket')} and ${eqByKey('a.id', 'i.id')}
    returning a.bucket, coalesce(a.parent_id, a.id) as alarm_id, a.label, a.wake_message, a.payload, a.scheduled_for, a.missed_count,
      a.attempt, a.traceparent, a.lineage, i.event_id, i.session_key, i.seq, i.missed, nullif(a.unattended, 'ask') as unattended,
      nullif(a.priority, 'normal') as priority),
  ${appendTaken('alarm', ['alarm_id', 'label', 'wake_message', 'payload', 'scheduled_for', 'missed_count', 'attempt', 'missed', 'unattended', 'priority'])}
  ${appendedOf(begun)}`,
)

/** Turns due alarms into events, within the transaction that holds their locks; answers with the turns whose sessions were leased. */
export async function promoteSlots(
  tx: Db,
  events: readonly AlarmEvent[],
  lease: NumberLease | null = null,
): Promise<readonly ClaimedTurn[]> {
  return promoteAsEvents(tx, 'alarm', events, lease, (i, begun) =>
    TAKE.run<Appended>(tx, { i, begun }),
  )
}

/** An alarm leased for one call of its receiver. */
export interface ClaimedWake extends AlarmSlot {
  readonly wake_message: string
  readonly payload: string
}

/** Attempts are counted when claimed, so that one which kills its process ends too. */
const CLAIM = statement(LEASE, (lease) =>
  takenAndNext(
    WAKES,
    claimRows(WAKES, lease, `${SLOT}, t.wake_message, t.payload, d.was_due_at`, {
      set: ', attempt = t.attempt + 1',
    }),
  ),
)

export async function claimWakes(
  db: Db,
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ wakes: ClaimedWake[]; nextMs: number | null }> {
  const values = CLAIM.values(db, { limit, leaseMs, token })
  const { taken, nextMs } = takenOf<ClaimedWake>(await oneInOrder(db, CLAIM.text, values))
  return { wakes: taken, nextMs }
}

/** Of these events, those whose slot was cancelled since it was promoted. */
export const withdrawnEvents = withdrawnFrom('wakeful.alarms', 't.in_flight = i.event_id')
