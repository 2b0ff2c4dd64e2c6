/**
 * The slots of intents that Wakeful runs itself: looked at when due or when a signal concerns them, taken by
 * becoming an event (`in_flight` until its turn commits), settled with that turn. Every write here is under the
 * lock of the intent's row.
 */

import type { Db } from '../../store/db.ts'
import { eqByKey, INTENTS, lockOrder, NOW } from '../../store/due.ts'
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
import { type Columns, type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import { type NumberLease, promoteAsEvents } from '../sessions/number-rows.ts'
import type { ClaimedTurn } from '../sessions/rows.ts'
import type { Memory } from './condition.ts'
import type { StoredTerms } from './rules.ts'

export const SLOT = `t.bucket, t.id, t.user_id, t.agent_id, t.thread_id, t.trigger_type, t.trigger_schedule, t.trigger_condition, t.timezone,
  t.anchor_at, t.expires_at, t.max_executions, t.execution_count, t.next_check, t.scheduled_for, t.enabled, t.last_executed, t.was_met,
  t.seen_at, t.again, t.fact, t.evaluation_ms, t.quiet_execution, t.quiet_reason, t.traceparent, t.lineage, t.catch_up,
  t.catch_up_within_seconds, t.missed_count, t.action_priority, t.follows_zone, t.fired_local,
  t.observed, t.intent_name as name`

export interface IntentSlot extends StoredTerms, Memory {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly agent_id: string
  readonly thread_id: string | null
  readonly enabled: boolean
  /** JSON text: what became true while in flight; `true` where it is worth another look. */
  readonly again: string | null
  readonly evaluation_ms: number | null
  /** While its last event was in hand, or since: slots that passed. */
  readonly missed_count: number
  readonly quiet_execution: string | null
  readonly quiet_reason: string | null
  readonly action_priority: string
  readonly follows_zone: boolean
  readonly fired_local: string | null
  /** JSON text: what the last poll of a condition of the app saw. */
  readonly observed: string | null
  readonly name: string
  /** The trace it was made in. */
  readonly traceparent: string | null
  readonly lineage: string | null
  /** The database's time when it was locked. */
  readonly now: Date
}

export const dueSlots = dueFrom<IntentSlot>(INTENTS, SLOT)

const KEYS = rows({ bucket: 'smallint', id: 'uuid' })

const locking = (state: string) =>
  statement(
    { k: KEYS },
    ({ k }) => `select ${SLOT}, ${NOW} as now
      from ${k}
      join wakeful.scheduled_intents t on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.id')}
      where t.enabled and t.agent_id is not null and ${state} and (t.expires_at is null or t.expires_at > ${NOW})
      ${lockOrder('t', 'id')} for update of t`,
  )
const LOCK = {
  waiting: locking('t.in_flight is null'),
  'in flight': locking('t.in_flight is not null'),
}

/**
 * Locks those of the named intents that can fire now, or those that are in flight, always in the same order. The two
 * are never locked together: the commit of a turn holds its session and waits for the intent in flight, while a
 * fire holds its intent and waits for the session.
 */
export async function lockIntents(
  tx: Db,
  keys: readonly RowOf<typeof KEYS>[],
  state: keyof typeof LOCK,
): Promise<IntentSlot[]> {
  return LOCK[state].run<IntentSlot>(tx, { k: keys })
}

/** A look that led to no event. */
export interface Check {
  readonly slot: IntentSlot
  /** The execution row that says so: the one of the look before where nothing is new. */
  readonly executionId: string
  readonly status: 'condition_not_met' | 'failed'
  readonly reason: string
  /** JSON text. */
  readonly data: string
  readonly error: string | null
  readonly cause: 'expired' | null
  /** Null: as it was. */
  readonly nextCheck: Date | null
  readonly enabled: boolean
  readonly wasMet: boolean
  readonly seenAt: Date | null
  readonly again: string | null
  /** The slot that was looked at, where it is one of a schedule. */
  readonly lookedFor: Date | null
  readonly evaluationMs: number
  /** How many looks this stands for. */
  readonly looks: number
}

const OF_SLOT: Columns<{ readonly slot: IntentSlot }> = {
  bucket: ['smallint', ({ slot }) => slot.bucket],
  id: ['uuid', ({ slot }) => slot.id],
}

const CHECKS = rowsOf<Check>({
  ...OF_SLOT,
  user_id: ['text', ({ slot }) => slot.user_id],
  agent_id: ['text?', ({ slot }) => slot.agent_id],
  trigger_type: ['text', ({ slot }) => slot.trigger_type],
  execution_id: ['uuid', (c) => c.executionId],
  status: ['text', (c) => c.status],
  reason: ['text', (c) => c.reason],
  data: ['json', (c) => c.data],
  error: ['text?', (c) => c.error],
  next_check: ['timestamptz?', (c) => c.nextCheck],
  enabled: ['boolean', (c) => c.enabled],
  was_met: ['boolean', (c) => c.wasMet],
  seen_at: ['timestamptz?', (c) => c.seenAt],
  again: ['json?', (c) => c.again],
  scheduled_for: ['timestamptz?', (c) => c.lookedFor],
  evaluation_ms: ['int', (c) => c.evaluationMs],
  looks: ['int', (c) => c.looks],
  cause: ['text?', (c) => c.cause],
})

/** One row for a run of looks with nothing new: how often, since when, and what was seen last. */
const WRITE_CHECKS = statement(
  { i: CHECKS },
  ({ i }) => `with recorded as (
    insert into wakeful.intent_executions as e (bucket, id, intent_id, user_id, agent_id, executed_at, trigger_type, trigger_data, status,
      evaluation_ms, error_message, scheduled_for, repeats, last_seen_at, cause)
    select bucket, execution_id, id, user_id, agent_id, ${NOW}, trigger_type, data, status, evaluation_ms, error, scheduled_for, looks,
      ${NOW}, cause
    from ${i}
    on conflict (bucket, id) do update
      set repeats = e.repeats + excluded.repeats, last_seen_at = excluded.last_seen_at, trigger_data = excluded.trigger_data,
          evaluation_ms = excluded.evaluation_ms),
  looked as (
  update wakeful.scheduled_intents t
  set next_check = case when i.enabled then coalesce(i.next_check, t.next_check) end, enabled = i.enabled,
      last_checked = ${NOW}, last_execution_status = i.status, last_execution_error = i.error, was_met = i.was_met, seen_at = i.seen_at, again = i.again,
      scheduled_for = null, checks = t.checks + i.looks, calls_avoided = t.calls_avoided + i.looks,
      quiet_execution = i.execution_id, quiet_reason = i.reason
  from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')})
  select 1`,
)

export async function writeChecks(tx: Db, checks: readonly Check[]): Promise<void> {
  if (checks.length > 0) await WRITE_CHECKS.run(tx, { i: checks })
}

/** What a signal changed about an intent that it did not fire. */
export interface Note {
  readonly slot: IntentSlot
  readonly wasMet: boolean
  readonly seenAt: Date | null
  readonly again: string | null
  /** Looked at then, if that is sooner. */
  readonly lookAt: Date | null
  readonly looks: number
}

const WRITE_NOTES = statement(
  {
    i: rowsOf<Note>({
      ...OF_SLOT,
      was_met: ['boolean', (n) => n.wasMet],
      seen_at: ['timestamptz?', (n) => n.seenAt],
      again: ['json?', (n) => n.again],
      look_at: ['timestamptz?', (n) => n.lookAt],
      looks: ['int', (n) => n.looks],
    }),
  },
  ({ i }) => `update wakeful.scheduled_intents t
    set was_met = i.was_met, seen_at = i.seen_at, again = i.again, next_check = least(t.next_check, i.look_at),
        checks = t.checks + i.looks, calls_avoided = t.calls_avoided + i.looks
    from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
)

export async function writeNotes(tx: Db, notes: readonly Note[]): Promise<void> {
  if (notes.length > 0) await WRITE_NOTES.run(tx, { i: notes })
}

/** What an intent becomes when it fires: an event of this session. */
export interface Fire extends SlotEvent {
  readonly slot: IntentSlot
  readonly scheduledFor: Date
  readonly missedCount: number
  /** JSON text for its agent; null where it stands for no other. */
  readonly missed: string | null
  readonly late: boolean
  /** What its clock showed at the slot, of one that follows its person. */
  readonly firedLocal: string | null
  /** JSON text. */
  readonly data: string
  readonly wasMet: boolean
  readonly seenAt: Date | null
  readonly again: string | null
  readonly fact: string | null
  readonly evaluationMs: number
  readonly looks: number
  /** The trace its turn goes on in. */
  readonly traceparent: string | null
  readonly lineage: string | null
}

const TAKE = statement(
  {
    i: rowsOf<Numbered<Fire>>({
      ...NUMBERED,
      id: ['uuid', ({ event }) => event.slot.id],
      scheduled_for: ['timestamptz', ({ event }) => event.scheduledFor],
      missed_count: ['int', ({ event }) => event.missedCount],
      missed: ['json?', ({ event }) => event.missed],
      fired_local: ['text?', ({ event }) => event.firedLocal],
      was_met: ['boolean', ({ event }) => event.wasMet],
      seen_at: ['timestamptz?', ({ event }) => event.seenAt],
      again: ['json?', ({ event }) => event.again],
      fact: ['text?', ({ event }) => event.fact],
      evaluation_ms: ['int', ({ event }) => event.evaluationMs],
      looks: ['int', ({ event }) => event.looks],
      data: ['json', ({ event }) => event.data],
      traceparent: ['text?', ({ event }) => event.traceparent],
      lineage: ['text?', ({ event }) => event.lineage],
    }),
    begun: 'uuid[]',
  },
  ({ i, begun }) => `with taken as (
    update wakeful.scheduled_intents t
    set in_flight = i.event_id, scheduled_for = i.scheduled_for, missed_count = i.missed_count, was_met = i.was_met, seen_at = i.seen_at,
        again = i.again, fact = i.fact, evaluation_ms = i.evaluation_ms, last_checked = ${NOW}, checks = t.checks + i.looks,
        calls_avoided = t.calls_avoided + i.looks - 1, quiet_execution = null, quiet_reason = null,
        fired_local = coalesce(i.fired_local, t.fired_local)
    from ${i}
    where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}
    returning t.bucket, t.id as intent_id, t.intent_name, t.action_type, t.action_context, t.action_priority, t.trigger_type, t.metadata,
      i.traceparent, i.lineage, i.event_id, i.scheduled_for, i.missed_count, i.missed, i.data as trigger_data, i.session_key, i.seq,
      nullif(t.unattended, 'ask') as unattended),
  ${appendTaken('intent', [
    'intent_id',
    'intent_name',
    'action_type',
    'action_context',
    'action_priority',
    'trigger_type',
    'trigger_data',
    'scheduled_for',
    'missed_count',
    'metadata',
    'missed',
    'unattended',
  ])}
  ${appendedOf(begun)}`,
)

/** Turns intents into events, within the transaction that holds their locks; answers with the turns whose sessions were leased. */
export async function promoteSlots(
  tx: Db,
  fires: readonly Fire[],
  lease: NumberLease | null = null,
): Promise<readonly ClaimedTurn[]> {
  return promoteAsEvents(tx, 'intent', fires, lease, (i, begun) =>
    TAKE.run<Appended>(tx, { i, begun }),
  )
}

const SKIP = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid', next_check: 'timestamptz?' }) },
  ({ i }) => `update wakeful.scheduled_intents t
    set next_check = i.next_check, enabled = i.next_check is not null, last_checked = ${NOW}, scheduled_for = null, updated_at = ${NOW}
    from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
)

/** Of locked intents whose slots were given up: on to the next, or at their end. */
export async function skipSlots(
  tx: Db,
  skipped: readonly { bucket: number; id: string; next_check: Date | null }[],
): Promise<void> {
  if (skipped.length > 0) await SKIP.run(tx, { i: skipped })
}

/** Of these events, those whose intent was deleted or disabled since. */
export const withdrawnEvents = withdrawnFrom(
  'wakeful.scheduled_intents',
  // Written so that the index of all enabled ones does not fit: only this event's is wanted.
  't.in_flight = i.event_id and t.enabled is not false',
)
