/** Intents as workers outside see them: which are due, whose they are for a while, and what became of a check. */
import { newId } from '../../core/ids.ts'
import { EXPIRED, type ExecutionStatus, type Settled } from '../../core/intents/intent.ts'
import type { Db } from '../db/db.ts'
import { byKey, type DueTable, dueRows, inIndexOrder, keyIs, NOW } from '../db/due.ts'
import { INTENT_ROW, type IntentRow, ofUser } from './intents.ts'

/** Due and nobody's own here; the same words as the index that is read. */
const PENDING: DueTable = {
  name: 'wakeful.scheduled_intents',
  key: 'id',
  keyType: 'uuid',
  due: 'next_check',
  live: 'enabled = true and t.next_check is not null and t.agent_id is null',
  lease: 'claimed_until',
}
const NOT_EXPIRED = `(t.expires_at is null or t.expires_at > ${NOW})`

/** One person has few, found by their key; all that is due is read in its order. */
function reading(userId: string | null): typeof byKey {
  return userId === null ? inIndexOrder : byKey
}

export interface PendingPage {
  readonly userId: string | null
  readonly limit: number
  readonly offset: number
}

/**
 * Soonest first: the head of the partial index on `next_check`, read in its order up to the limit, so that the
 * cost is that of the rows shown and not of all that are kept. Leased and expired ones are read past.
 */
export async function pendingIntents(db: Db, page: PendingPage): Promise<IntentRow[]> {
  const { where, values } = ofUser(page.userId, 4)
  const text = `select ${INTENT_ROW} from ${PENDING.name} t
    where t.${PENDING.live} and t.next_check <= ${NOW} and (t.claimed_until is null or t.claimed_until <= ${NOW})
      and ${NOT_EXPIRED} and ${where}
    order by t.next_check limit $2::int offset $3::int`
  return reading(page.userId)(db, (tx) =>
    tx.query<IntentRow>(text, [tx.now(), page.limit, page.offset, ...values]),
  )
}

/** Leases the first of them, each under a token of its own, one of `tokens` each. */
export async function claimPending(
  db: Db,
  claim: { readonly userId: string | null; readonly seconds: number; readonly tokens: string[] },
): Promise<IntentRow[]> {
  const { where, values } = ofUser(claim.userId, 5)
  const due = dueRows(PENDING, 't.bucket, t.id', '$2::int', {
    where: `${NOT_EXPIRED} and ${where}`,
  })
  const rows = await reading(claim.userId)(db, (tx) =>
    tx.query<IntentRow>(
      `update ${PENDING.name} t
       set claim_token = ($4::uuid[])[d.place], claimed_until = ${NOW} + $3::int * interval '1 second'
       from (select bucket, id, row_number() over () as place from (${due}) f) d
       where ${keyIs('t.bucket', 'd.bucket')} and ${keyIs('t.id', 'd.id')} returning ${INTENT_ROW}`,
      [tx.now(), claim.tokens.length, claim.seconds, claim.tokens, ...values],
    ),
  )
  // An update answers in whatever order it wrote.
  return rows.sort((a, b) => dueTime(a) - dueTime(b))
}

function dueTime(row: IntentRow): number {
  return row.next_check?.getTime() ?? 0
}

/** Of a row that is locked. */
export async function claimIntent(
  tx: Db,
  row: IntentRow,
  claim: { readonly seconds: number; readonly token: string },
): Promise<IntentRow> {
  const [claimed] = await tx.query<IntentRow>(
    `update ${PENDING.name} t set claim_token = $4::uuid, claimed_until = ${NOW} + $5::int * interval '1 second'
     where t.bucket = $2 and t.id = $3::uuid returning ${INTENT_ROW}`,
    [tx.now(), row.bucket, row.id, claim.token, claim.seconds],
  )
  if (claimed === undefined) throw new Error(`intent ${row.id} was not claimed`)
  return claimed
}

/** What a worker says of a check, JSON as text. */
export interface IntentReport {
  readonly id: string
  readonly status: ExecutionStatus
  readonly trigger_data: string | null
  readonly gate_result: string | null
  readonly message_id: string | null
  readonly message_preview: string | null
  readonly evaluation_ms: number | null
  readonly generation_ms: number | null
  readonly delivery_ms: number | null
  readonly error_message: string | null
  readonly claim_token: string | null
}

/** What the report made under this token was, and was answered; null when there was none. */
export async function reportUnder(
  tx: Db,
  row: IntentRow,
  token: string,
): Promise<{ readonly status: string; readonly answer: string } | null> {
  const [found] = await tx.query<{ status: string; answer: string }>(
    `select status, answer from wakeful.intent_executions
     where bucket = $1 and intent_id = $2::uuid and claim_token = $3::uuid`,
    [row.bucket, row.id, token],
  )
  return found ?? null
}

/** The state and the record of one report, in one statement. */
const REPORT = `with settled as (
    update wakeful.scheduled_intents t
    set next_check = $4::timestamptz, enabled = $5::boolean, execution_count = $6::int, last_checked = ${NOW},
        last_executed = case when $7::boolean then ${NOW} else t.last_executed end,
        last_execution_status = $9, last_execution_error = $17, last_message_id = coalesce($12, t.last_message_id),
        claim_token = null, claimed_until = null, updated_at = ${NOW}
    where t.bucket = $2 and t.id = $3::uuid
    returning t.bucket, t.id, t.user_id, t.trigger_type)
  insert into wakeful.intent_executions (bucket, id, intent_id, user_id, executed_at, trigger_type, status, trigger_data, gate_result,
    message_id, message_preview, evaluation_ms, generation_ms, delivery_ms, error_message, claim_token, answer, scheduled_for)
  select bucket, $8::uuid, id, user_id, ${NOW}, trigger_type, $9, $10::json, $11::json, $12, $13, $14::int, $15::int, $16::int,
    $17, $18::uuid, $19::json, case when trigger_type in ('cron', 'interval', 'once') and $20::timestamptz <= ${NOW} then $20::timestamptz end
  from settled`

/** Of a row that is locked. `answer` is kept with a report under a token, for when it comes again. */
export async function writeReport(
  tx: Db,
  row: IntentRow,
  report: IntentReport,
  settled: Settled,
  answer: string,
): Promise<void> {
  await tx.query(REPORT, [
    tx.now(),
    row.bucket,
    row.id,
    settled.next_check,
    settled.enabled,
    settled.execution_count,
    settled.executed,
    report.id,
    report.status,
    report.trigger_data,
    report.gate_result,
    report.message_id,
    report.message_preview,
    report.evaluation_ms,
    report.generation_ms,
    report.delivery_ms,
    report.error_message,
    report.claim_token,
    report.claim_token === null ? null : answer,
    // The slot of a schedule is the time it was due at; a report that came sooner is about none.
    row.next_check,
  ])
}

export interface ExecutionRow extends Omit<IntentReport, 'status'> {
  readonly intent_id: string
  readonly user_id: string
  readonly executed_at: Date
  readonly trigger_type: string
  readonly status: string
  readonly scheduled_for: Date | null
  readonly session_key: string | null
  readonly event_seq: number | null
  readonly repeats: number
  readonly last_seen_at: Date | null
}

/** Newest first. */
export async function listExecutions(
  db: Db,
  intent: Pick<IntentRow, 'bucket' | 'id'>,
  page: { readonly limit: number; readonly offset: number },
): Promise<ExecutionRow[]> {
  return db.query<ExecutionRow>(
    `select id, intent_id, user_id, executed_at, trigger_type, trigger_data, status, gate_result, message_id, message_preview,
       evaluation_ms, generation_ms, delivery_ms, error_message, scheduled_for, session_key, event_seq, repeats, last_seen_at, claim_token
     from wakeful.intent_executions where bucket = $1 and intent_id = $2::uuid
     order by executed_at desc, id desc limit $3::int offset $4::int`,
    [intent.bucket, intent.id, page.limit, page.offset],
  )
}

/**
 * Disables what expired an hour ago without a report: left enabled, such rows would stand at the head of the index
 * that `/pending` reads, for ever. The hour is for workers that took one just before its end and report later. Those
 * of our own agents are ended by the clock.
 */
export async function expireIntents(db: Db, limit: number): Promise<number> {
  const gone = `enabled = true and expires_at is not null and agent_id is null and expires_at <= ${NOW} - interval '1 hour'
    and (claimed_until is null or claimed_until <= ${NOW})`
  const rows = await db.query(
    `with ended as (
       update wakeful.scheduled_intents set enabled = false, next_check = null, claim_token = null, claimed_until = null, updated_at = ${NOW}
       where (bucket, id) in (select bucket, id from wakeful.scheduled_intents where ${gone} order by expires_at limit $2::int)
         and ${gone} returning bucket, id, user_id, trigger_type)
     insert into wakeful.intent_executions (bucket, id, intent_id, user_id, executed_at, trigger_type, status, error_message, cause, last_seen_at)
     select bucket, ($3::uuid[])[row_number() over ()], id, user_id, ${NOW}, trigger_type, 'condition_not_met', '${EXPIRED}', 'expired', ${NOW}
     from ended returning 1`,
    [db.now(), limit, Array.from({ length: limit }, newId)],
  )
  return rows.length
}
