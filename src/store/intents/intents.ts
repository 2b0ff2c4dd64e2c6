/** Intents as their owners see them: made, listed, read, changed, deleted. What checks come to is in `intent-reports.ts`. */
import type { StoredTerms } from '../../core/intents/intent.ts'
import { bucketOf } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { keyIs, NOW } from '../db/due.ts'

/** What an owner says of an intent, under the names of its columns; JSON as text. */
export interface IntentWish {
  readonly intent_name: string
  readonly description: string | null
  readonly trigger_type: string
  readonly trigger_schedule: string | null
  readonly trigger_condition: string | null
  readonly action_type: string
  readonly action_context: string
  readonly action_priority: string
  readonly enabled: boolean
  readonly expires_at: Date | null
  readonly max_executions: number | null
  readonly metadata: string
  readonly timezone: string
  readonly agent_id: string | null
  readonly thread_id: string | null
}

/** With what follows from it: when it is looked at next. */
export interface IntentPlan extends IntentWish {
  readonly anchor_at: Date
  readonly next_check: Date | null
}

export interface IntentRow extends IntentPlan, StoredTerms {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly last_checked: Date | null
  readonly last_executed: Date | null
  readonly last_execution_status: string | null
  readonly last_execution_error: string | null
  readonly last_message_id: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly created_by: string | null
  readonly claim_token: string | null
  readonly claimed_until: Date | null
  readonly checks: number
  readonly calls_avoided: number
  /** The database's time when it was read. */
  readonly now: Date
}

export const INTENT = `t.bucket, t.id, t.user_id, t.intent_name, t.description, t.trigger_type, t.trigger_schedule, t.trigger_condition,
  t.action_type, t.action_context, t.action_priority, t.next_check, t.last_checked, t.last_executed, t.execution_count,
  t.last_execution_status, t.last_execution_error, t.last_message_id, t.enabled, t.expires_at, t.max_executions, t.created_at,
  t.updated_at, t.created_by, t.metadata, t.timezone, t.agent_id, t.thread_id, t.anchor_at, t.scheduled_for, t.claim_token,
  t.claimed_until, t.checks::float8 as checks, t.calls_avoided::float8 as calls_avoided, ${NOW} as now`

/** One of these columns for each member of a plan, in this order, from parameter `first` on. */
const PLAN = [
  ['intent_name', 'text'],
  ['description', 'text'],
  ['trigger_type', 'text'],
  ['trigger_schedule', 'json'],
  ['trigger_condition', 'json'],
  ['action_type', 'text'],
  ['action_context', 'text'],
  ['action_priority', 'text'],
  ['enabled', 'boolean'],
  ['expires_at', 'timestamptz'],
  ['max_executions', 'int'],
  ['metadata', 'json'],
  ['timezone', 'text'],
  ['agent_id', 'text'],
  ['thread_id', 'text'],
  ['anchor_at', 'timestamptz'],
  ['next_check', 'timestamptz'],
] as const satisfies readonly (readonly [keyof IntentPlan, string])[]

function planValues(plan: IntentPlan): unknown[] {
  return PLAN.map(([name]) => plan[name])
}

function planParameters(first: number): string[] {
  return PLAN.map(([, type], index) => `$${first + index}::${type}`)
}

/**
 * Holds the person's row until the end of the transaction: what counts their intents and what adds to them
 * happens one after the other.
 */
export async function lockPerson(tx: Db, userId: string): Promise<void> {
  const who = [bucketOf(userId), userId]
  await tx.query(
    `insert into wakeful.people (bucket, user_id, created_at) values ($2, $3, ${NOW}) on conflict do nothing`,
    [tx.now(), ...who],
  )
  await tx.query('select 1 from wakeful.people where bucket = $1 and user_id = $2 for update', who)
}

/** Enabled ones; what has expired is not waited for any more. A statement after the lock, so that it sees who came before. */
export async function countEnabled(tx: Db, userId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `select count(*)::int as count from wakeful.scheduled_intents
     where bucket = $2 and user_id = $3 and enabled = true and (expires_at is null or expires_at > ${NOW})`,
    [tx.now(), bucketOf(userId), userId],
  )
  return row?.count ?? 0
}

const INSERT = `insert into wakeful.scheduled_intents as t (bucket, id, user_id, created_by, traceparent, created_at, updated_at,
    ${PLAN.map(([name]) => name).join(', ')})
  values ($2, $3::uuid, $4, $5, $6, ${NOW}, ${NOW}, ${planParameters(7).join(', ')})
  returning ${INTENT}`

export async function insertIntent(
  tx: Db,
  who: {
    readonly id: string
    readonly userId: string
    readonly createdBy: string
    readonly traceparent: string | null
  },
  plan: IntentPlan,
): Promise<IntentRow> {
  const owner = [bucketOf(who.userId), who.id, who.userId, who.createdBy, who.traceparent]
  const [row] = await tx.query<IntentRow>(INSERT, [tx.now(), ...owner, ...planValues(plan)])
  if (row === undefined) throw new Error(`intent ${who.id} was not written`)
  return row
}

/** What a changed trigger makes meaningless: edges, facts in hand, and the row that quiet checks count on. */
const FRESH = `, was_met = false, seen_at = null, again = null, fact = null, scheduled_for = null, missed_count = 0,
      quiet_execution = null, quiet_reason = null`
/** The lease of a worker outside ends with what it was a lease on. */
const UNCLAIMED = ', claim_token = null, claimed_until = null'

export async function updateIntent(
  tx: Db,
  row: IntentRow,
  plan: IntentPlan,
  options: { readonly fresh: boolean },
): Promise<IntentRow> {
  const set = PLAN.map(([name], index) => `${name} = ${planParameters(4)[index]}`).join(', ')
  const unclaimed = !plan.enabled || plan.agent_id !== null
  const [changed] = await tx.query<IntentRow>(
    `update wakeful.scheduled_intents t set ${set}, updated_at = ${NOW}${options.fresh ? FRESH : ''}${unclaimed ? UNCLAIMED : ''}
     where t.bucket = $2 and t.id = $3::uuid returning ${INTENT}`,
    [tx.now(), row.bucket, row.id, ...planValues(plan)],
  )
  if (changed === undefined) throw new Error(`intent ${row.id} was not written`)
  return changed
}

/** Sets what signals find this intent by. */
export async function writeWatches(
  tx: Db,
  intent: Pick<IntentRow, 'bucket' | 'id' | 'user_id'>,
  watches: readonly { readonly kind: string; readonly key: string }[],
): Promise<void> {
  const wanted = [watches.map((watch) => watch.kind), watches.map((watch) => watch.key)]
  await tx.query(
    `delete from wakeful.intent_watches where bucket = $1 and intent_id = $2::uuid
       and (kind, key) not in (select * from unnest($3::text[], $4::text[]))`,
    [intent.bucket, intent.id, ...wanted],
  )
  if (watches.length === 0) return
  await tx.query(
    `insert into wakeful.intent_watches (bucket, intent_id, kind, key, user_id)
     select $1, $2::uuid, kind, key, $5 from unnest($3::text[], $4::text[]) w(kind, key) on conflict do nothing`,
    [intent.bucket, intent.id, ...wanted, intent.user_id],
  )
}

/** The condition and its values from $`first` on. Null: everybody's. */
function ofUser(
  userId: string | null,
  first: number,
): { readonly where: string; readonly values: unknown[] } {
  if (userId === null) return { where: 'true', values: [] }
  return {
    where: `t.bucket = $${first} and t.user_id = $${first + 1}`,
    values: [bucketOf(userId), userId],
  }
}

export interface IntentsPage {
  readonly userId: string
  readonly triggerType: string | null
  readonly enabled: boolean | null
  readonly ticker: string | null
  readonly limit: number
  readonly offset: number
}

/** Newest first. */
export async function listIntents(db: Db, page: IntentsPage): Promise<IntentRow[]> {
  const { where, values: owner } = ofUser(page.userId, 4)
  const values: unknown[] = [db.now(), page.limit, page.offset, ...owner]
  let text = `select ${INTENT} from wakeful.scheduled_intents t where ${where}`
  if (page.triggerType !== null) text += ` and t.trigger_type = $${values.push(page.triggerType)}`
  if (page.enabled !== null) text += ` and t.enabled = $${values.push(page.enabled)}::boolean`
  if (page.ticker !== null)
    text += ` and upper(t.trigger_condition ->> 'ticker') = upper($${values.push(page.ticker)}::text)`
  return db.query<IntentRow>(
    `${text} order by t.created_at desc, t.id desc limit $2::int offset $3::int`,
    values,
  )
}

/** Null when there is none, or it is somebody else's. `lock` holds it until the end of the transaction. */
export async function getIntent(
  db: Db,
  userId: string | null,
  id: string,
  lock = false,
): Promise<IntentRow | null> {
  const { where, values } = ofUser(userId, 3)
  const [row] = await db.query<IntentRow>(
    `select ${INTENT} from wakeful.scheduled_intents t where t.id = $2::uuid and ${where}${lock ? ' for update' : ''}`,
    [db.now(), id, ...values],
  )
  return row ?? null
}

/** Deletes those of them that are this person's and this agent's; the executions stay. */
export async function deleteOwnIntents(
  tx: Db,
  intents: readonly { id: string; userId: string; agentId: string }[],
): Promise<void> {
  await tx.query(
    `delete from wakeful.scheduled_intents t
     using unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[]) d(bucket, id, user_id, agent_id)
     where ${keyIs('t.bucket', 'd.bucket')} and ${keyIs('t.id', 'd.id')} and t.user_id = d.user_id and t.agent_id = d.agent_id`,
    [
      intents.map((each) => bucketOf(each.userId)),
      intents.map((each) => each.id),
      intents.map((each) => each.userId),
      intents.map((each) => each.agentId),
    ],
  )
}

/** Its executions stay. False when there is no such intent. */
export async function deleteIntent(db: Db, userId: string | null, id: string): Promise<boolean> {
  const { where, values } = ofUser(userId, 2)
  const rows = await db.query(
    `delete from wakeful.scheduled_intents t where t.id = $1::uuid and ${where} returning 1`,
    [id, ...values],
  )
  return rows.length > 0
}
