/** Intents as their owners see them: made, listed, read, changed, deleted. What checks come to is in `intent-reports.ts`. */
import { listOf, type RowOf, typesOf } from '../../core/columns.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import { INTENTS_MAX } from './checks.ts'
import { watchesOf } from './condition.ts'
import type { IntentDraft, IntentPlan } from './draft.ts'
import { INTENT, INTENT_PLAN } from './fields.ts'
import { termsOf } from './rules.ts'

export interface IntentRow extends RowOf<typeof INTENT> {
  /** The database's time when it was read. */
  readonly now: Date
}

export const INTENT_ROW = `${listOf(INTENT, 't')}, ${NOW} as now`

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

/** Under the lock of its person: how many more may be enabled, also under concurrent creates. */
export async function roomForIntents(tx: Db, userId: string): Promise<number> {
  await lockPerson(tx, userId)
  return Math.max(0, INTENTS_MAX - (await countEnabled(tx, userId)))
}

const PLAN = typesOf(INTENT_PLAN)
const NAMES = Object.keys(PLAN)

const INSERT = statement(
  {
    i: rows({
      ...{
        bucket: 'smallint',
        id: 'uuid',
        user_id: 'text',
        created_by: 'text',
        traceparent: 'text?',
        lineage: 'text?',
        name: 'text',
      },
      ...PLAN,
    }),
  },
  ({
    i,
  }) => `insert into wakeful.scheduled_intents as t (bucket, id, user_id, created_by, traceparent, lineage, name, created_at,
    updated_at, ${NAMES})
  select bucket, id, user_id, created_by, traceparent, lineage, name, ${NOW}, ${NOW}, ${NAMES} from ${i} returning ${INTENT_ROW}`,
)

/** With what signals find it by. */
export async function insertIntent(
  tx: Db,
  draft: IntentDraft,
  plan: IntentPlan,
): Promise<IntentRow> {
  const { id, userId, createdBy, traceparent = null, lineage = null, name = '' } = draft
  const whose = { bucket: bucketOf(userId), id, user_id: userId, created_by: createdBy }
  const who = { ...whose, traceparent, lineage, name }
  const [row] = await INSERT.run<IntentRow>(tx, { i: [{ ...plan, ...who }] })
  if (row === undefined) throw new Error(`intent ${id} was not written`)
  await writeWatches(tx, row)
  return row
}

/** What a changed trigger makes meaningless: edges, facts in hand, and the row that quiet checks count on. */
const FRESH = `, was_met = false, seen_at = null, again = null, fact = null, scheduled_for = null, missed_count = 0,
      quiet_execution = null, quiet_reason = null, observed = null, observed_at = null`
/** The lease of a worker outside ends with what it was a lease on. */
const UNCLAIMED = ', claim_token = null, claimed_until = null'

/** It may be executed as often as one that is new. */
const AGAIN = ', execution_count = 0'

const SET = NAMES.map((name) => `${name} = i.${name}`)

function updating(more: string) {
  return statement(
    { i: rows({ bucket: 'smallint', id: 'uuid', ...PLAN }) },
    ({ i }) => `update wakeful.scheduled_intents t set ${SET}, updated_at = ${NOW},
      paused_at = case when i.enabled then null when t.enabled then ${NOW} else t.paused_at end${more} from ${i}
    where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')} returning ${INTENT_ROW}`,
  )
}

/** Of a row that is locked; with what signals find it by. */
export async function updateIntent(
  tx: Db,
  { bucket, id }: IntentRow,
  plan: IntentPlan,
  options: { readonly fresh: boolean; readonly again?: boolean },
): Promise<IntentRow> {
  const unclaimed = !plan.enabled || plan.agent_id !== null
  const more = [options.fresh && FRESH, unclaimed && UNCLAIMED, options.again && AGAIN]
  const update = updating(more.filter(Boolean).join(''))
  const [row] = await update.run<IntentRow>(tx, { i: [{ ...plan, bucket, id }] })
  if (row === undefined) throw new Error(`intent ${id} was not written`)
  await dropWatches(tx, row)
  await writeWatches(tx, row)
  return row
}

/** Signals find only what our own agents wait for. */
function watched(row: IntentRow): ReturnType<typeof watchesOf> {
  return row.enabled && row.agent_id !== null ? watchesOf(termsOf(row)) : []
}

async function dropWatches(tx: Db, row: IntentRow): Promise<void> {
  const kept = watched(row)
  await tx.query(
    `delete from wakeful.intent_watches where bucket = $1 and intent_id = $2::uuid
       and (kind, key) not in (select * from unnest($3::text[], $4::text[]))`,
    [row.bucket, row.id, kept.map(({ kind }) => kind), kept.map(({ key }) => key)],
  )
}

const WATCH = statement(
  {
    w: rows({ bucket: 'smallint', intent_id: 'uuid', kind: 'text', key: 'text', user_id: 'text' }),
  },
  ({ w }) => `insert into wakeful.intent_watches (bucket, intent_id, kind, key, user_id)
  select bucket, intent_id, kind, key, user_id from ${w} on conflict do nothing`,
)

async function writeWatches(tx: Db, row: IntentRow): Promise<void> {
  const { bucket, id: intent_id, user_id } = row
  const w = watched(row).map(({ kind, key }) => ({ bucket, intent_id, kind, key, user_id }))
  if (w.length > 0) await WATCH.run(tx, { w })
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
  /** Null: everybody's. */
  readonly userId: string | null
  readonly agentId?: string | null
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
  let text = `select ${INTENT_ROW} from wakeful.scheduled_intents t where ${where}`
  if (page.agentId != null) text += ` and t.agent_id = $${values.push(page.agentId)}`
  if (page.triggerType !== null) text += ` and t.trigger_type = $${values.push(page.triggerType)}`
  if (page.enabled !== null) text += ` and t.enabled = $${values.push(page.enabled)}::boolean`
  if (page.ticker !== null)
    text += ` and upper(t.trigger_condition ->> 'ticker') = upper($${values.push(page.ticker)}::text)`
  return db.query<IntentRow>(
    `${text} order by t.created_at desc, t.id desc limit $2::int offset $3::int`,
    values,
  )
}

/** Null for an unknown id or another owner's. `lock` holds it until the end of the transaction. */
export async function getIntent(
  db: Db,
  userId: string | null,
  id: string,
  lock = false,
): Promise<IntentRow | null> {
  const { where, values } = ofUser(userId, 3)
  const [row] = await db.query<IntentRow>(
    `select ${INTENT_ROW} from wakeful.scheduled_intents t where t.id = $2::uuid and ${where}${lock ? ' for update' : ''}`,
    [db.now(), id, ...values],
  )
  return row ?? null
}

const DELETE_OWN = statement(
  { d: rows({ bucket: 'smallint', id: 'uuid', user_id: 'text', agent_id: 'text' }) },
  ({ d }) => `delete from wakeful.scheduled_intents t using ${d}
  where ${eqByKey('t.bucket', 'd.bucket')} and ${eqByKey('t.id', 'd.id')} and t.user_id = d.user_id and t.agent_id = d.agent_id`,
)

/** Deletes those of them that are this person's and this agent's; the executions stay. */
export async function deleteOwnIntents(
  tx: Db,
  intents: readonly { id: string; userId: string; agentId: string }[],
): Promise<void> {
  const d = intents.map(({ id, userId, agentId }) => ({
    ...{ bucket: bucketOf(userId), id, user_id: userId, agent_id: agentId },
  }))
  await DELETE_OWN.run(tx, { d })
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
