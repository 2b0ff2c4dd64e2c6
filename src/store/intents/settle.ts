/** How the slots of intents end: with the commit of the turn over their event. */
import type { ExecutionStatus } from '../../core/intents/intent.ts'
import type { AfterTurn } from '../../core/intents/slot.ts'
import type { Db } from '../db/db.ts'
import { inFlight, keyIs, keyOrder, NOW } from '../db/due.ts'
import { type IntentSlot, SLOT } from './slots.ts'

interface EventRef {
  readonly bucket: number
  readonly eventId: string
}

/** Of these events, those whose intent was deleted or disabled since. */
export async function withdrawnIntents(db: Db, events: readonly EventRef[]): Promise<Set<string>> {
  const rows = await db.query<{ event_id: string }>(
    // A scalar, not `not exists`: that would become a join, and read the whole table where statistics are old.
    `select i.event_id from unnest($1::smallint[], $2::uuid[]) i(bucket, event_id)
     where (select t.id from wakeful.scheduled_intents t
            where t.bucket = i.bucket and t.in_flight = i.event_id and t.enabled) is null`,
    [events.map((e) => e.bucket), events.map((e) => e.eventId)],
  )
  return new Set(rows.map((row) => row.event_id))
}

/** Locks the intents whose events these are, always in the same order; those missing were deleted. */
export async function lockInFlight(
  tx: Db,
  events: readonly EventRef[],
): Promise<Map<string, IntentSlot>> {
  const rows = await tx.query<IntentSlot & { held: string }>(
    `select ${SLOT}, ${NOW} as now, t.in_flight as held
     from unnest($2::smallint[], $3::uuid[]) h(bucket, event_id)
     cross join lateral ${inFlight('wakeful.scheduled_intents')} f
     join wakeful.scheduled_intents t on ${keyIs('t.bucket', 'h.bucket')} and ${keyIs('t.id', 'f.id')} and t.in_flight is not distinct from h.event_id
     ${keyOrder('t', 'id')} for update of t`,
    [tx.now(), events.map((e) => e.bucket), events.map((e) => e.eventId)],
  )
  return new Map(rows.map((row) => [row.held, row]))
}

/** The record of a fire. `slot` is null where the intent was deleted: the row stays, without its link. */
export interface Execution {
  readonly slot: IntentSlot | null
  readonly id: string
  readonly bucket: number
  readonly userId: string
  readonly sessionKey: string
  readonly eventSeq: number
  readonly scheduledFor: Date
  readonly status: ExecutionStatus
  readonly gate: string | null
  readonly error: string | null
  readonly messageId: string | null
  readonly preview: string | null
  readonly generationMs: number
}

/** What was seen is in the event already: it goes from there into the record. */
const RECORD = `insert into wakeful.intent_executions (bucket, id, intent_id, user_id, executed_at, trigger_type, trigger_data, status, gate_result,
    message_id, message_preview, evaluation_ms, generation_ms, error_message, scheduled_for, session_key, event_seq)
  select i.bucket, i.id, i.intent_id, i.user_id, ${NOW}, e.payload ->> 'trigger_type', e.payload -> 'trigger_data', i.status, i.gate::json,
    i.message_id, i.preview, i.evaluation_ms, i.generation_ms, i.error, i.scheduled_for, i.session_key, i.event_seq
  from unnest($2::smallint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::int[], $11::int[],
    $12::text[], $13::timestamptz[], $14::text[], $15::int[])
    i(bucket, id, intent_id, user_id, status, gate, message_id, preview, evaluation_ms, generation_ms, error, scheduled_for, session_key, event_seq)
  join wakeful.events e on ${keyIs('e.bucket', 'i.bucket')} and ${keyIs('e.session_key', 'i.session_key')} and e.seq = i.event_seq`

export async function recordExecutions(tx: Db, executions: readonly Execution[]): Promise<void> {
  await tx.query(RECORD, [
    tx.now(),
    executions.map((e) => e.bucket),
    executions.map((e) => e.id),
    executions.map((e) => e.slot?.id ?? null),
    executions.map((e) => e.userId),
    executions.map((e) => e.status),
    executions.map((e) => e.gate),
    executions.map((e) => e.messageId),
    executions.map((e) => e.preview),
    executions.map((e) => e.slot?.evaluation_ms ?? null),
    executions.map((e) => e.generationMs),
    executions.map((e) => e.error),
    executions.map((e) => e.scheduledFor),
    executions.map((e) => e.sessionKey),
    executions.map((e) => e.eventSeq),
  ])
}

export interface SettledIntent {
  readonly slot: IntentSlot
  readonly execution: Execution
  readonly next: AfterTurn
}

/** Writes what the locked intents become, and frees them. */
export async function settleIntents(tx: Db, settled: readonly SettledIntent[]): Promise<void> {
  await tx.query(
    `update wakeful.scheduled_intents t
     set in_flight = null, next_check = i.next_check, enabled = i.enabled, last_checked = ${NOW},
         last_executed = case when i.executed then ${NOW} else t.last_executed end, execution_count = i.execution_count,
         last_execution_status = i.status, last_execution_error = i.error, last_message_id = coalesce(i.message_id, t.last_message_id),
         scheduled_for = i.scheduled_for, missed_count = 0, was_met = i.was_met, fact = i.fact, evaluation_ms = null, updated_at = ${NOW}
     from unnest($2::smallint[], $3::uuid[], $4::timestamptz[], $5::boolean[], $6::boolean[], $7::int[], $8::text[], $9::text[], $10::text[],
       $11::timestamptz[], $12::boolean[], $13::text[])
       i(bucket, id, next_check, enabled, executed, execution_count, status, error, message_id, scheduled_for, was_met, fact)
     where ${keyIs('t.bucket', 'i.bucket')} and ${keyIs('t.id', 'i.id')}`,
    [
      tx.now(),
      settled.map(({ slot }) => slot.bucket),
      settled.map(({ slot }) => slot.id),
      settled.map(({ next }) => next.next_check),
      settled.map(({ next }) => next.enabled),
      settled.map(({ next }) => next.executed),
      settled.map(({ next }) => next.execution_count),
      settled.map(({ execution }) => execution.status),
      settled.map(({ execution }) => execution.error),
      settled.map(({ execution }) => execution.messageId),
      settled.map(({ next }) => next.scheduled_for),
      settled.map(({ next }) => next.was_met),
      settled.map(({ next }) => next.fact),
    ],
  )
}
