/** Alarms as their owners see them: set, list, read, cancel, fire now. What happens to a slot is in `alarm-slots.ts`. */
import type { AlarmState, AlarmTerms } from '../../core/alarms/alarm.ts'
import type { AlarmDraft, AlarmPlan } from '../../core/alarms/draft.ts'
import { bucketOf } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { inIndexOrder, keyIs, NOW, oneInOrder } from '../db/due.ts'

export interface AlarmRow extends AlarmTerms, AlarmState {
  readonly bucket: number
  readonly id: string
  readonly owner_did: string
  readonly user_id: string
  readonly agent_id: string | null
  readonly label: string
  readonly fire_at: Date | null
  readonly conversation_id: string
  readonly wake_message: string
  readonly payload: string
  readonly idempotency_key: string
  readonly created_at: Date
  /** `created_at` with its microseconds, for cursors. */
  readonly created_text: string
  /** The database's time when it was read. */
  readonly now: Date
}

const ROW = `bucket, id, owner_did, user_id, agent_id, label, kind, fire_at, cron_expr, timezone, anchor_at, next_fire_at,
  conversation_id, wake_message, payload, status, idempotency_key, max_failures, failure_count, last_error,
  scheduled_for, missed_count, attempt, delivery_id, due_at, created_at, last_fired_at,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_text, ${NOW} as now`

/** Whose alarms may be seen: one agent's (its DID), one person's, or everybody's. */
export interface AlarmScope {
  readonly ownerDid: string | null
  readonly userId: string | null
}

/** Sorted by key, so that two batches with the same keys wait for one another instead of for each other. */
const INSERT = `insert into wakeful.alarms (bucket, id, owner_did, user_id, agent_id, label, kind, fire_at, cron_expr, timezone,
    anchor_at, next_fire_at, scheduled_for, due_at, conversation_id, wake_message, payload, idempotency_key, max_failures,
    delivery_id, traceparent, created_at, updated_at)
  select bucket, id, owner_did, user_id, agent_id, label, kind, fire_at, cron_expr, timezone,
    anchor_at, next_fire_at, next_fire_at, next_fire_at, conversation_id, wake_message, payload::json, idempotency_key, max_failures,
    delivery_id, traceparent, ${NOW}, ${NOW}
  from unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::text[],
    $11::text[], $12::timestamptz[], $13::timestamptz[], $14::text[], $15::text[], $16::text[], $17::text[], $18::int[], $19::uuid[],
    $20::text[])
    i(bucket, id, owner_did, user_id, agent_id, label, kind, fire_at, cron_expr, timezone, anchor_at, next_fire_at,
      conversation_id, wake_message, payload, idempotency_key, max_failures, delivery_id, traceparent)
  order by bucket, owner_did, idempotency_key
  on conflict (bucket, owner_did, idempotency_key) where idempotency_key <> '' do nothing
  returning id, created_at`

export interface SetAlarm {
  readonly row: AlarmRow
  /** The owner's key existed: this is the alarm it stands for. */
  readonly deduped: boolean
}

/**
 * Writes all of them in one statement, which is a transaction by itself; answers in their order.
 * `deliveryIds`: one for each.
 */
export async function insertAlarms(
  db: Db,
  plans: readonly AlarmPlan[],
  deliveryIds: readonly string[],
): Promise<SetAlarm[]> {
  const drafts = plans.map((plan) => plan.draft)
  const buckets = drafts.map((d) => bucketOf(d.userId))
  const keys = drafts.map((d) => d.idempotencyKey ?? '')
  const made = await db.query<{ id: string; created_at: Date }>(INSERT, [
    db.now(),
    buckets,
    drafts.map((d) => d.id),
    drafts.map((d) => d.ownerDid),
    drafts.map((d) => d.userId),
    drafts.map((d) => d.agentId),
    drafts.map((d) => d.label ?? ''),
    plans.map((p) => p.kind),
    plans.map((p) => p.fireAt),
    plans.map((p) => p.cronExpr),
    drafts.map((d) => d.timezone),
    plans.map((p) => p.anchorAt),
    plans.map((p) => p.nextFireAt),
    drafts.map((d) => d.conversationId ?? ''),
    drafts.map((d) => d.wakeMessage),
    drafts.map((d) => d.payload ?? '{}'),
    keys,
    plans.map((p) => p.maxFailures),
    deliveryIds,
    drafts.map((d) => d.traceparent ?? null),
  ])
  const fresh = new Map(made.map((row) => [row.id, row.created_at]))
  const rest = drafts.filter((draft) => !fresh.has(draft.id))
  const known = rest.length === 0 ? new Map<string, AlarmRow>() : await alarmsByKey(db, rest)
  return plans.map((plan, index) => {
    const { draft } = plan
    const createdAt = fresh.get(draft.id)
    if (createdAt !== undefined)
      return { row: freshRow(plan, createdAt, deliveryIds[index] ?? ''), deduped: false }
    const first = known.get(`${draft.ownerDid} ${draft.idempotencyKey}`)
    if (first === undefined) throw new Error(`alarm ${draft.id} was not written`)
    return { row: first, deduped: true }
  })
}

/** The row as the statement above wrote it: to read it back would cost more than to write it. */
function freshRow(plan: AlarmPlan, createdAt: Date, deliveryId: string): AlarmRow {
  const { draft, nextFireAt } = plan
  return {
    bucket: bucketOf(draft.userId),
    id: draft.id,
    owner_did: draft.ownerDid,
    user_id: draft.userId,
    agent_id: draft.agentId,
    label: draft.label ?? '',
    kind: plan.kind,
    fire_at: plan.fireAt,
    cron_expr: plan.cronExpr,
    timezone: draft.timezone,
    anchor_at: plan.anchorAt,
    next_fire_at: nextFireAt,
    scheduled_for: nextFireAt,
    due_at: nextFireAt,
    conversation_id: draft.conversationId ?? '',
    wake_message: draft.wakeMessage,
    payload: draft.payload ?? '{}',
    status: 'active',
    idempotency_key: draft.idempotencyKey ?? '',
    max_failures: plan.maxFailures,
    failure_count: 0,
    last_error: '',
    missed_count: 0,
    attempt: 0,
    delivery_id: deliveryId,
    created_at: createdAt,
    created_text: createdAt.toISOString(),
    last_fired_at: null,
    now: createdAt,
  }
}

/** By `owner_did key`. A statement of its own, so that it sees what a concurrent owner of the key has committed meanwhile. */
export async function alarmsByKey(
  db: Db,
  drafts: readonly AlarmDraft[],
): Promise<Map<string, AlarmRow>> {
  // Lateral, so that it is one look-up for each key whatever the statistics say.
  const rows = await db.query<AlarmRow>(
    `select a.* from unnest($2::smallint[], $3::text[], $4::text[]) k(bucket, owner_did, key)
     cross join lateral (
       select ${ROW} from wakeful.alarms o
       where o.idempotency_key <> '' and o.bucket = k.bucket and o.owner_did = k.owner_did and o.idempotency_key = k.key
       limit 1) a`,
    [
      db.now(),
      drafts.map((d) => bucketOf(d.userId)),
      drafts.map((d) => d.ownerDid),
      drafts.map((d) => d.idempotencyKey ?? ''),
    ],
  )
  return new Map(rows.map((row) => [`${row.owner_did} ${row.idempotency_key}`, row]))
}

/** The condition and its values from $`first` on; texts are few, so that each is planned for what it asks. */
function within(scope: AlarmScope, first: number): { where: string; values: unknown[] } {
  if (scope.userId === null && scope.ownerDid === null) return { where: 'true', values: [] }
  const bucket = scope.userId === null ? null : bucketOf(scope.userId)
  if (bucket === null) throw new Error('an owner without a user has no bucket')
  const [column, value] =
    scope.ownerDid === null ? ['user_id', scope.userId] : ['owner_did', scope.ownerDid]
  return { where: `bucket = $${first} and ${column} = $${first + 1}`, values: [bucket, value] }
}

export interface AlarmsPage {
  readonly scope: AlarmScope
  readonly status: string | null
  readonly limit: number
  readonly after: readonly [string, string] | null
}

/** What a list asks for, newest first; $1 is the time, $2 the limit. */
function listing(db: Db, page: AlarmsPage): { text: string; values: unknown[] } {
  const values: unknown[] = [db.now(), page.limit]
  const { where, values: owner } = within(page.scope, values.length + 1)
  values.push(...owner)
  let text = `select ${ROW} from wakeful.alarms where parent_id is null and ${where}`
  if (page.status !== null) text += ` and status = $${values.push(page.status)}`
  if (page.after !== null) {
    const [createdAt, id] = page.after
    text += ` and (created_at, id) < ($${values.push(createdAt)}::timestamptz, $${values.push(id)}::uuid)`
  }
  return { text: `${text} order by created_at desc, id desc`, values }
}

/** Newest first. */
export async function listAlarms(db: Db, page: AlarmsPage): Promise<AlarmRow[]> {
  const { text, values } = listing(db, page)
  // Without statistics, as after many were set at once, the planner would sort them all for one page.
  return oneInOrder<AlarmRow>(db, `${text} limit $2::int`, values)
}

/** How many alarms one search looks at: words that occur nowhere cost no more than these rows. */
const SEARCHED_MAX = 5_000

/** Those whose label or words contain the text, in any case, newest first; and where to go on if there was more to look at. */
export async function searchAlarms(
  db: Db,
  page: AlarmsPage,
  containing: string,
): Promise<{ rows: AlarmRow[]; end: readonly [string, string] | null }> {
  const { text, values } = listing(db, page)
  const wanted = `lower($${values.push(containing)}::text)`
  const rows = await inIndexOrder(db, (tx) =>
    tx.query<AlarmRow & { found: boolean; nth: number }>(
      `select * from (
       select a.*, (row_number() over (order by a.created_at desc, a.id desc))::int as nth,
         position(${wanted} in lower(a.label)) > 0 or position(${wanted} in lower(a.wake_message)) > 0 as found
       from (${text} limit ${SEARCHED_MAX}) a) b
     where found or nth = ${SEARCHED_MAX} order by nth limit $2::int`,
      values,
    ),
  )
  const last = rows.at(-1)
  const end = last?.nth === SEARCHED_MAX ? ([last.created_text, last.id] as const) : null
  return { rows: rows.filter((row) => row.found), end }
}

export async function getAlarm(db: Db, scope: AlarmScope, id: string): Promise<AlarmRow | null> {
  const { where, values } = within(scope, 3)
  const [row] = await db.query<AlarmRow>(
    `select ${ROW} from wakeful.alarms where id = $2::uuid and parent_id is null and ${where}`,
    [db.now(), id, ...values],
  )
  return row ?? null
}

const CANCEL = `update wakeful.alarms
  set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
  where id = $2::uuid and parent_id is null and status = 'active'`

/**
 * A compare-and-set on `active`. Whoever is firing it finds its claim gone and settles nothing. Null
 * when there is no such alarm; one that has ended comes back unchanged. Extra wakes end with it: by a
 * second statement, since one may have been added while we waited for the alarm's lock.
 */
export async function cancelAlarm(db: Db, scope: AlarmScope, id: string): Promise<AlarmRow | null> {
  const { where, values } = within(scope, 3)
  return db.tx(async (tx) => {
    const [row] = await tx.query<AlarmRow>(`${CANCEL} and ${where} returning ${ROW}`, [
      tx.now(),
      id,
      ...values,
    ])
    if (row === undefined) return getAlarm(tx, scope, id)
    if (row.kind === 'cron') await cancelExtras(tx, [row])
    return row
  })
}

/** Cancels an agent's own alarms, each for its own user: the wishes of turns. */
export async function cancelOwnAlarms(
  tx: Db,
  alarms: readonly { id: string; userId: string; agentId: string }[],
): Promise<void> {
  const rows = await tx.query<{ bucket: number; id: string }>(
    `update wakeful.alarms a
     set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
     from unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[]) c(bucket, id, user_id, agent_id)
     where ${keyIs('a.bucket', 'c.bucket')} and ${keyIs('a.id', 'c.id')} and a.user_id = c.user_id and a.agent_id = c.agent_id
       and a.parent_id is null and a.status = 'active'
     returning a.bucket, a.id`,
    [
      tx.now(),
      alarms.map((a) => bucketOf(a.userId)),
      alarms.map((a) => a.id),
      alarms.map((a) => a.userId),
      alarms.map((a) => a.agentId),
    ],
  )
  if (rows.length > 0) await cancelExtras(tx, rows)
}

/** They stay as rows: that they were asked for and cancelled is part of the record. */
async function cancelExtras(
  tx: Db,
  parents: readonly { bucket: number; id: string }[],
): Promise<void> {
  await tx.query(
    `update wakeful.alarms a
     set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
     from unnest($2::smallint[], $3::uuid[]) p(bucket, id)
     where ${keyIs('a.bucket', 'p.bucket')} and ${keyIs('a.parent_id', 'p.id')} and a.status = 'active'`,
    [tx.now(), parents.map((p) => p.bucket), parents.map((p) => p.id)],
  )
}

/**
 * Makes a `once` due now, as the slot of this instant; one that is being fired already stays as it is.
 * Its failures still count, so attempts go on from there.
 */
const FIRE_ONCE = `update wakeful.alarms
  set due_at = ${NOW}, next_fire_at = ${NOW}, scheduled_for = date_trunc('milliseconds', ${NOW}), delivery_id = $4::uuid,
      attempt = failure_count, traceparent = coalesce($5::text, traceparent), updated_at = ${NOW}
  where bucket = $2 and id = $3::uuid and in_flight is null and claim_token is null`

/** An extra wake beside a recurring alarm: its own slot, its own attempts, and no slot of the schedule used. */
const FIRE_EXTRA = `insert into wakeful.alarms (bucket, id, parent_id, owner_did, user_id, agent_id, label, kind, fire_at, timezone,
    anchor_at, next_fire_at, scheduled_for, due_at, conversation_id, wake_message, payload, max_failures, delivery_id, traceparent, created_at, updated_at)
  select bucket, $6::uuid, id, owner_did, user_id, agent_id, label, 'once', date_trunc('milliseconds', ${NOW}), timezone,
    anchor_at, ${NOW}, date_trunc('milliseconds', ${NOW}), ${NOW}, conversation_id, wake_message, payload, max_failures, $4::uuid, coalesce($5::text, traceparent), ${NOW}, ${NOW}
  from wakeful.alarms where bucket = $2 and id = $3::uuid`

/** Null when there is no such alarm. The caller refuses where its status is not `active`: nothing was done then. */
export async function fireAlarmNow(
  db: Db,
  scope: AlarmScope,
  id: string,
  wake: { readonly delivery: string; readonly extra: string; readonly traceparent: string | null },
): Promise<AlarmRow | null> {
  const { where, values } = within(scope, 3)
  return db.tx(async (tx) => {
    const [row] = await tx.query<AlarmRow>(
      `select ${ROW} from wakeful.alarms where id = $2::uuid and parent_id is null and ${where} for update`,
      [tx.now(), id, ...values],
    )
    if (row === undefined || row.status !== 'active') return row ?? null
    const slot = [tx.now(), row.bucket, row.id, wake.delivery, wake.traceparent]
    if (row.kind === 'cron') await tx.query(FIRE_EXTRA, [...slot, wake.extra])
    else await tx.query(FIRE_ONCE, slot)
    return getAlarm(tx, scope, id)
  })
}
