/** How the slots of intents end: with the commit of the turn over their event. */

import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { lockingByEvent } from '../../store/slots.ts'
import { rows, rowsOf, statement } from '../../store/statement.ts'
import type { AfterTurn, ExecutionStatus } from './rules.ts'
import { type IntentSlot, SLOT } from './slot-rows.ts'

export const lockByEvent = lockingByEvent<IntentSlot>('wakeful.scheduled_intents', SLOT)

/** The record of a fire. `slot` is null where the intent was deleted: the row stays, without its link. */
export interface Execution {
  /** Failed for good: trying again is pointless. */
  readonly terminal: boolean
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
const RECORD = statement(
  {
    i: rowsOf<Execution>({
      bucket: ['smallint', (e) => e.bucket],
      id: ['uuid', (e) => e.id],
      intent_id: ['uuid?', (e) => e.slot?.id ?? null],
      user_id: ['text', (e) => e.userId],
      status: ['text', (e) => e.status],
      gate: ['json?', (e) => e.gate],
      message_id: ['text?', (e) => e.messageId],
      preview: ['text?', (e) => e.preview],
      evaluation_ms: ['int?', (e) => e.slot?.evaluation_ms ?? null],
      generation_ms: ['int', (e) => e.generationMs],
      error: ['text?', (e) => e.error],
      scheduled_for: ['timestamptz', (e) => e.scheduledFor],
      session_key: ['text', (e) => e.sessionKey],
      event_seq: ['int', (e) => e.eventSeq],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.intent_executions (bucket, id, intent_id, user_id, agent_id, executed_at, trigger_type, trigger_data, status, gate_result,
      message_id, message_preview, evaluation_ms, generation_ms, error_message, scheduled_for, session_key, event_seq)
    select i.bucket, i.id, i.intent_id, i.user_id, split_part(i.session_key, ':', 2), ${NOW}, e.payload ->> 'trigger_type', e.payload -> 'trigger_data', i.status, i.gate,
      i.message_id, i.preview, i.evaluation_ms, i.generation_ms, i.error, i.scheduled_for, i.session_key, i.event_seq
    from ${i}
    join wakeful.events e on ${eqByKey('e.bucket', 'i.bucket')} and e.session_key = i.session_key and e.seq = i.event_seq`,
)

export async function recordExecutions(tx: Db, executions: readonly Execution[]): Promise<void> {
  if (executions.length > 0) await RECORD.run(tx, { i: executions })
}

export interface SettledSlot {
  readonly slot: IntentSlot
  readonly execution: Execution
  readonly next: AfterTurn
}

const SETTLE = statement(
  {
    i: rowsOf<SettledSlot>({
      bucket: ['smallint', ({ slot }) => slot.bucket],
      id: ['uuid', ({ slot }) => slot.id],
      next_check: ['timestamptz?', ({ next }) => next.next_check],
      enabled: ['boolean', ({ next }) => next.enabled],
      executed: ['boolean', ({ next }) => next.executed],
      execution_count: ['int', ({ next }) => next.execution_count],
      status: ['text', ({ execution }) => execution.status],
      error: ['text?', ({ execution }) => execution.error],
      message_id: ['text?', ({ execution }) => execution.messageId],
      scheduled_for: ['timestamptz?', ({ next }) => next.scheduled_for],
      missed_count: ['int', ({ next }) => next.missed_count],
      was_met: ['boolean', ({ next }) => next.was_met],
      fact: ['text?', ({ next }) => next.fact],
    }),
  },
  ({ i }) => `update wakeful.scheduled_intents t
    set in_flight = null, next_check = i.next_check, enabled = i.enabled, last_checked = ${NOW},
        last_executed = case when i.executed then ${NOW} else t.last_executed end, execution_count = i.execution_count,
        last_execution_status = i.status, last_execution_error = i.error, last_message_id = coalesce(i.message_id, t.last_message_id),
        scheduled_for = i.scheduled_for, missed_count = i.missed_count, was_met = i.was_met, fact = i.fact, evaluation_ms = null, updated_at = ${NOW}
    from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
)

/** Writes what the locked intents become, and frees them. */
export async function settleSlots(tx: Db, settled: readonly SettledSlot[]): Promise<void> {
  if (settled.length > 0) await SETTLE.run(tx, { i: settled })
}

const FREE = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ i }) => `update wakeful.scheduled_intents t set in_flight = null, updated_at = ${NOW} from ${i}
    where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
)

/** Of locked intents whose slot has come to nothing. */
export async function freeSlots(tx: Db, slots: readonly IntentSlot[]): Promise<void> {
  if (slots.length > 0) await FREE.run(tx, { i: slots })
}
