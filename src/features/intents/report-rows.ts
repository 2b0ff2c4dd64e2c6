/** Intents as workers outside see them: which are due, whose they are for a while, and what became of a check. */
import { newId } from '../../core/ids.ts'
import { bucketOf, EFFECTS_PER_TURN_MAX } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, commitTx, type DueTable, dueRows, eqByKey, inMs, NOW } from '../../store/due.ts'
import { type Names, statement } from '../../store/statement.ts'
import { INTENT_ROW, type IntentRow } from './rows.ts'
import { EXPIRED, type ExecutionStatus, type Settled } from './rules.ts'

/** Due and without an agent; the same condition as its index. */
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
const OF_ONE = { bucket: 'smallint', userId: 'text' } as const
const ofOne = ({ bucket, userId }: Names<typeof OF_ONE>) =>
  `t.bucket = ${bucket} and t.user_id = ${userId}`

export interface PendingPage {
  readonly userId: string | null
  readonly limit: number
  readonly offset: number
}

const PAGE = { limit: 'int', offset: 'int' } as const
const listing = ({ limit, offset }: Names<typeof PAGE>, where: string) =>
  `select ${INTENT_ROW} from ${PENDING.name} t
   where t.${PENDING.live} and t.next_check <= ${NOW} and (t.claimed_until is null or t.claimed_until <= ${NOW})
     and ${NOT_EXPIRED} and ${where}
   order by t.next_check limit ${limit} offset ${offset}`
const LIST_ALL = statement(PAGE, (page) => listing(page, 'true'))
const LIST_OWN = statement({ ...PAGE, ...OF_ONE }, (p) => listing(p, ofOne(p)))

/**
 * Soonest first: the head of the partial index on `next_check`, read in its order up to the limit, so that the
 * cost is that of the rows shown and not of all that are kept. Leased and expired ones are skipped.
 */
export async function pendingIntents(db: Db, page: PendingPage): Promise<IntentRow[]> {
  const { userId, limit, offset } = page
  if (userId === null) return claimTx(db, (tx) => LIST_ALL.run<IntentRow>(tx, { limit, offset }))
  const own = { limit, offset, bucket: bucketOf(userId), userId }
  return commitTx(db, (tx) => LIST_OWN.run<IntentRow>(tx, own))
}

const LEASE = { limit: 'int', seconds: 'int', tokens: 'uuid[]' } as const
const leasing = ({ limit, seconds, tokens }: Names<typeof LEASE>, where: string) =>
  `update ${PENDING.name} t
   set claim_token = k.token, claimed_until = ${inMs(`${seconds} * 1000`)}
   from (select bucket, id, row_number() over () as place
         from (${dueRows(PENDING, 't.bucket, t.id', limit, { where: `${NOT_EXPIRED} and ${where}` })}) f) d
   join unnest(${tokens}) with ordinality k(token, place) on ${eqByKey('k.place', 'd.place')}
   where ${eqByKey('t.bucket', 'd.bucket')} and ${eqByKey('t.id', 'd.id')} returning ${INTENT_ROW}`
const LEASE_ALL = statement(LEASE, (lease) => leasing(lease, 'true'))
const LEASE_OWN = statement({ ...LEASE, ...OF_ONE }, (p) => leasing(p, ofOne(p)))

/** Leases the first of them, each under a token of its own, one of `tokens` each. */
export async function claimPending(
  db: Db,
  claim: { readonly userId: string | null; readonly seconds: number; readonly tokens: string[] },
): Promise<IntentRow[]> {
  const { userId, seconds, tokens } = claim
  const lease = { limit: tokens.length, seconds, tokens }
  const rows =
    userId === null
      ? await claimTx(db, (tx) => LEASE_ALL.run<IntentRow>(tx, lease))
      : await commitTx(db, (tx) =>
          LEASE_OWN.run<IntentRow>(tx, { ...lease, bucket: bucketOf(userId), userId }),
        )
  // An update answers in whatever order it wrote.
  return rows.sort((a, b) => dueTime(a) - dueTime(b))
}

function dueTime(row: IntentRow): number {
  return row.next_check?.getTime() ?? 0
}

const CLAIM = statement(
  { bucket: 'smallint', id: 'uuid', token: 'uuid', seconds: 'int' },
  ({ bucket, id, token, seconds }) => `update ${PENDING.name} t
    set claim_token = ${token}, claimed_until = ${inMs(`${seconds} * 1000`)}
    where t.bucket = ${bucket} and t.id = ${id} returning ${INTENT_ROW}`,
)

/** Of a row that is locked. */
export async function claimIntent(
  tx: Db,
  { bucket, id }: IntentRow,
  claim: { readonly seconds: number; readonly token: string },
): Promise<IntentRow> {
  const [claimed] = await CLAIM.run<IntentRow>(tx, { bucket, id, ...claim })
  if (claimed === undefined) throw new Error(`intent ${id} was not claimed`)
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
const REPORT = statement(
  {
    bucket: 'smallint',
    intentId: 'uuid',
    next_check: 'timestamptz?',
    enabled: 'boolean',
    execution_count: 'int',
    executed: 'boolean',
    id: 'uuid',
    status: 'text',
    trigger_data: 'json?',
    gate_result: 'json?',
    message_id: 'text?',
    message_preview: 'text?',
    evaluation_ms: 'int?',
    generation_ms: 'int?',
    delivery_ms: 'int?',
    error_message: 'text?',
    claim_token: 'uuid?',
    answer: 'json?',
    dueAt: 'timestamptz?',
  },
  (r) => `with settled as (
    update wakeful.scheduled_intents t
    set next_check = ${r.next_check}, enabled = ${r.enabled}, execution_count = ${r.execution_count}, last_checked = ${NOW},
        last_executed = case when ${r.executed} then ${NOW} else t.last_executed end,
        last_execution_status = ${r.status}, last_execution_error = ${r.error_message},
        last_message_id = coalesce(${r.message_id}, t.last_message_id),
        claim_token = null, claimed_until = null, updated_at = ${NOW}
    where t.bucket = ${r.bucket} and t.id = ${r.intentId}
    returning t.bucket, t.id, t.user_id, t.agent_id, t.trigger_type),
  recorded as (
  insert into wakeful.intent_executions (bucket, id, intent_id, user_id, agent_id, executed_at, trigger_type, status, trigger_data, gate_result,
    message_id, message_preview, evaluation_ms, generation_ms, delivery_ms, error_message, claim_token, answer, scheduled_for)
  select bucket, ${r.id}, id, user_id, agent_id, ${NOW}, trigger_type, ${r.status}, ${r.trigger_data}, ${r.gate_result}, ${r.message_id},
    ${r.message_preview}, ${r.evaluation_ms}, ${r.generation_ms}, ${r.delivery_ms}, ${r.error_message}, ${r.claim_token}, ${r.answer},
    -- The slot of a schedule is the time it was due at; a report that came sooner is about none.
    case when trigger_type in ('cron', 'interval', 'once') and ${r.dueAt} <= ${NOW} then ${r.dueAt} end
  from settled)
  select 1`,
)

/** Of a row that is locked. `answer` is kept with a report under a token, for when it comes again. */
export async function writeReport(
  tx: Db,
  row: IntentRow,
  report: IntentReport,
  settled: Settled,
  answer: string,
): Promise<void> {
  await REPORT.run(tx, {
    ...settled,
    ...report,
    bucket: row.bucket,
    intentId: row.id,
    answer: report.claim_token === null ? null : answer,
    dueAt: row.next_check,
  })
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

/** Of a fire of our own: from the commit of its message to its arrival, which comes after the record is written. */
const DELIVERY_MS = `(select round(extract(epoch from f.delivered_at - f.created_at) * 1000)::int from wakeful.effects f
  where f.bucket = x.bucket and f.session_key = x.session_key and f.id::text = x.message_id
    and f.position >= x.event_seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (x.event_seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX})`

const LIST = statement(
  { bucket: 'smallint', id: 'uuid', limit: 'int', offset: 'int' },
  ({
    bucket,
    id,
    limit,
    offset,
  }) => `select x.id, x.intent_id, x.user_id, x.executed_at, x.trigger_type, x.trigger_data, x.status, x.gate_result, x.message_id,
      x.message_preview, x.evaluation_ms, x.generation_ms, coalesce(x.delivery_ms, ${DELIVERY_MS}) as delivery_ms, x.error_message,
      x.scheduled_for, x.session_key, x.event_seq, x.repeats, x.last_seen_at, x.claim_token
    from wakeful.intent_executions x where x.bucket = ${bucket} and x.intent_id = ${id}
    order by x.executed_at desc, x.id desc limit ${limit} offset ${offset}`,
)

/** Newest first. */
export async function listExecutions(
  db: Db,
  { bucket, id }: Pick<IntentRow, 'bucket' | 'id'>,
  page: { readonly limit: number; readonly offset: number },
): Promise<ExecutionRow[]> {
  return LIST.run<ExecutionRow>(db, { bucket, id, ...page })
}

/**
 * Disables what expired an hour ago without a report: left enabled, such rows would stand at the head of the index
 * that `/pending` reads, for ever. The hour is for workers that took one just before its end and report later. Those
 * of our own agents are ended by the clock.
 */
export async function expireIntents(db: Db, limit: number): Promise<number> {
  const gone = `enabled = true and expires_at is not null and agent_id is null and expires_at <= ${inMs('-3600000')}
    and (claimed_until is null or claimed_until <= ${NOW})`
  const rows = await db.query(
    `with ended as (
       update wakeful.scheduled_intents set enabled = false, next_check = null, claim_token = null, claimed_until = null, updated_at = ${NOW}
       where (bucket, id) in (select bucket, id from wakeful.scheduled_intents where ${gone} order by expires_at limit $2::int)
         and ${gone} returning bucket, id, user_id, trigger_type),
     recorded as (
     insert into wakeful.intent_executions (bucket, id, intent_id, user_id, executed_at, trigger_type, status, error_message, cause, last_seen_at)
     select e.bucket, k.id, e.id, e.user_id, ${NOW}, e.trigger_type, 'condition_not_met', '${EXPIRED}', 'expired', ${NOW}
     from (select *, row_number() over () as place from ended) e join unnest($3::uuid[]) with ordinality k(id, place) using (place) returning 1)
     select 1 from recorded`,
    [db.now(), limit, Array.from({ length: limit }, newId)],
  )
  return rows.length
}
