/**
 * The slots of intents that Wakeful runs itself: looked at when due or when a signal concerns them, taken by
 * becoming an event (`in_flight` until its turn commits), settled with that turn. Every write here is under the
 * lock of the intent's row.
 */
import type { Memory } from '../../core/intents/condition.ts'
import type { StoredTerms } from '../../core/intents/intent.ts'
import type { Db } from '../db/db.ts'
import { dueRows, INTENTS, keyIs, keyOrder, NOW, nextDueMs } from '../db/due.ts'
import { type SlotEvent, takeSeqs } from '../sessions/heads.ts'

export const SLOT = `t.bucket, t.id, t.user_id, t.agent_id, t.thread_id, t.trigger_type, t.trigger_schedule, t.trigger_condition, t.timezone,
  t.anchor_at, t.expires_at, t.max_executions, t.execution_count, t.next_check, t.scheduled_for, t.enabled, t.last_executed, t.was_met,
  t.seen_at, t.again, t.fact, t.evaluation_ms, t.quiet_execution, t.quiet_reason, t.traceparent`

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
  readonly quiet_execution: string | null
  readonly quiet_reason: string | null
  /** The trace it was made in. */
  readonly traceparent: string | null
  /** The database's time when it was locked. */
  readonly now: Date
}

const DUE = `with due as materialized (${dueRows(INTENTS, SLOT, '$2::int')})
  select n.next_ms, ${NOW} as now, d.* from (select ${nextDueMs(INTENTS)} as next_ms) n left join due d on true`

/** Locks up to `limit` due intents; another clock's are skipped. */
export async function dueIntents(
  tx: Db,
  limit: number,
): Promise<{ slots: IntentSlot[]; nextMs: number | null }> {
  const rows = await tx.query<IntentSlot & { next_ms: number | null }>(DUE, [tx.now(), limit])
  return { slots: rows.filter((row) => row.id !== null), nextMs: rows[0]?.next_ms ?? null }
}

interface IntentKey {
  readonly bucket: number
  readonly id: string
}

/**
 * Locks those of the named intents that can fire now, or those that are in flight, always in the same order. The two
 * are never locked together: the commit of a turn holds its session and waits for the intent in flight, while a
 * fire holds its intent and waits for the session.
 */
export async function lockIntents(
  tx: Db,
  keys: readonly IntentKey[],
  state: 'waiting' | 'in flight',
): Promise<IntentSlot[]> {
  return tx.query<IntentSlot>(
    `select ${SLOT}, ${NOW} as now
     from unnest($2::smallint[], $3::uuid[]) k(bucket, id)
     join wakeful.scheduled_intents t on ${keyIs('t.bucket', 'k.bucket')} and ${keyIs('t.id', 'k.id')}
     where t.enabled and t.agent_id is not null and t.in_flight is ${state === 'waiting' ? 'null' : 'not null'}
       and (t.expires_at is null or t.expires_at > ${NOW})
     ${keyOrder('t', 'id')} for update of t`,
    [tx.now(), keys.map((k) => k.bucket), keys.map((k) => k.id)],
  )
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

/** One row for a run of looks with nothing new: how often, since when, and what was seen last. */
const RECORD_CHECKS = `insert into wakeful.intent_executions as e (bucket, id, intent_id, user_id, executed_at, trigger_type, trigger_data, status,
    evaluation_ms, error_message, scheduled_for, repeats, last_seen_at, cause)
  select bucket, id, intent_id, user_id, ${NOW}, trigger_type, data::json, status, evaluation_ms, error, scheduled_for, looks, ${NOW}, cause
  from unnest($2::smallint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::text[],
    $11::timestamptz[], $12::int[], $13::text[])
    i(bucket, id, intent_id, user_id, trigger_type, data, status, evaluation_ms, error, scheduled_for, looks, cause)
  on conflict (bucket, id) do update
    set repeats = e.repeats + excluded.repeats, last_seen_at = excluded.last_seen_at, trigger_data = excluded.trigger_data,
        evaluation_ms = excluded.evaluation_ms`

const WRITE_CHECKS = `update wakeful.scheduled_intents t
  set next_check = case when i.enabled then coalesce(i.next_check, t.next_check) end, enabled = i.enabled, last_checked = ${NOW},
      last_execution_status = i.status, last_execution_error = i.error, was_met = i.was_met, seen_at = i.seen_at, again = i.again::json,
      scheduled_for = null, checks = t.checks + i.looks, calls_avoided = t.calls_avoided + i.looks,
      quiet_execution = i.execution_id, quiet_reason = i.reason
  from unnest($2::smallint[], $3::uuid[], $4::timestamptz[], $5::boolean[], $6::text[], $7::text[], $8::boolean[], $9::timestamptz[],
    $10::text[], $11::int[], $12::uuid[], $13::text[])
    i(bucket, id, next_check, enabled, status, error, was_met, seen_at, again, looks, execution_id, reason)
  where ${keyIs('t.bucket', 'i.bucket')} and ${keyIs('t.id', 'i.id')}`

export async function writeChecks(tx: Db, checks: readonly Check[]): Promise<void> {
  if (checks.length === 0) return
  const buckets = checks.map(({ slot }) => slot.bucket)
  const ids = checks.map(({ slot }) => slot.id)
  const executions = checks.map((c) => c.executionId)
  const statuses = checks.map((c) => c.status)
  const errors = checks.map((c) => c.error)
  const looks = checks.map((c) => c.looks)
  await tx.query(RECORD_CHECKS, [
    tx.now(),
    buckets,
    executions,
    ids,
    checks.map(({ slot }) => slot.user_id),
    checks.map(({ slot }) => slot.trigger_type),
    checks.map((c) => c.data),
    statuses,
    checks.map((c) => c.evaluationMs),
    errors,
    checks.map((c) => c.lookedFor),
    looks,
    checks.map((c) => c.cause),
  ])
  await tx.query(WRITE_CHECKS, [
    tx.now(),
    buckets,
    ids,
    checks.map((c) => c.nextCheck),
    checks.map((c) => c.enabled),
    statuses,
    errors,
    checks.map((c) => c.wasMet),
    checks.map((c) => c.seenAt),
    checks.map((c) => c.again),
    looks,
    executions,
    checks.map((c) => c.reason),
  ])
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

export async function writeNotes(tx: Db, notes: readonly Note[]): Promise<void> {
  if (notes.length === 0) return
  await tx.query(
    `update wakeful.scheduled_intents t
     set was_met = i.was_met, seen_at = i.seen_at, again = i.again::json, next_check = least(t.next_check, i.look_at),
         checks = t.checks + i.looks, calls_avoided = t.calls_avoided + i.looks
     from unnest($1::smallint[], $2::uuid[], $3::boolean[], $4::timestamptz[], $5::text[], $6::timestamptz[], $7::int[])
       i(bucket, id, was_met, seen_at, again, look_at, looks)
     where ${keyIs('t.bucket', 'i.bucket')} and ${keyIs('t.id', 'i.id')}`,
    [
      notes.map(({ slot }) => slot.bucket),
      notes.map(({ slot }) => slot.id),
      notes.map((n) => n.wasMet),
      notes.map((n) => n.seenAt),
      notes.map((n) => n.again),
      notes.map((n) => n.lookAt),
      notes.map((n) => n.looks),
    ],
  )
}

/** What an intent becomes when it fires: an event of this session. */
export interface Fire extends SlotEvent {
  readonly slot: IntentSlot
  readonly eventId: string
  readonly scheduledFor: Date
  readonly missedCount: number
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
}

/** Context and metadata stay in the database: they go from the intent's row into the event's, verbatim. */
const TAKE = `with taken as (
    update wakeful.scheduled_intents t
    set in_flight = i.event_id, scheduled_for = i.scheduled_for, missed_count = i.missed_count, was_met = i.was_met, seen_at = i.seen_at,
        again = i.again::json, fact = i.fact, evaluation_ms = i.evaluation_ms, last_checked = ${NOW}, checks = t.checks + i.looks,
        calls_avoided = t.calls_avoided + i.looks - 1, quiet_execution = null, quiet_reason = null
    from unnest($2::smallint[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::int[], $7::boolean[], $8::timestamptz[], $9::text[], $10::text[],
      $11::int[], $12::int[], $13::text[], $14::text[], $15::int[], $16::text[])
      i(bucket, id, event_id, scheduled_for, missed_count, was_met, seen_at, again, fact, evaluation_ms, looks, data, session_key, seq, traceparent)
    where ${keyIs('t.bucket', 'i.bucket')} and ${keyIs('t.id', 'i.id')}
    returning t.bucket, t.id, t.intent_name, t.action_type, t.action_context, t.action_priority, t.trigger_type, t.metadata, i.traceparent,
      i.event_id, i.scheduled_for, i.missed_count, i.data, i.session_key, i.seq)
  insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, created_at)
  select bucket, session_key, seq, event_id, 'intent',
    ('{"intent_id":"' || id || '","intent_name":' || to_json(intent_name::text) || ',"action_type":' || to_json(action_type::text) ||
     ',"action_context":' || to_json(action_context) || ',"action_priority":' || to_json(action_priority::text) ||
     ',"trigger_type":' || to_json(trigger_type::text) || ',"trigger_data":' || data || ',"scheduled_for":"' ||
     to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","missed_count":' || missed_count ||
     ',"metadata":' || metadata || '}')::json,
    id, scheduled_for, traceparent, ${NOW}
  from taken`

export async function takeIntents(tx: Db, fires: readonly Fire[]): Promise<void> {
  if (fires.length === 0) return
  const seqs = await takeSeqs(tx, fires)
  await tx.query(TAKE, [
    tx.now(),
    fires.map((f) => f.bucket),
    fires.map(({ slot }) => slot.id),
    fires.map((f) => f.eventId),
    fires.map((f) => f.scheduledFor),
    fires.map((f) => f.missedCount),
    fires.map((f) => f.wasMet),
    fires.map((f) => f.seenAt),
    fires.map((f) => f.again),
    fires.map((f) => f.fact),
    fires.map((f) => f.evaluationMs),
    fires.map((f) => f.looks),
    fires.map((f) => f.data),
    fires.map((f) => f.sessionKey),
    seqs,
    fires.map((f) => f.traceparent),
  ])
}
