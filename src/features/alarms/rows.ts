/** Alarms as their owners see them: set, list, read, cancel, fire now. What happens to a slot is in `alarm-slots.ts`. */

import { listOf, printedOf, typesOf } from '../../core/columns.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, eqByKey, NOW, NOW_MS, oneInOrder, type Place } from '../../store/due.ts'
import { type PageQuery, pageText, readOne, type Table, type Where } from '../../store/page.ts'
import { List, rows, rowsOf, statement } from '../../store/statement.ts'
import { ENTRY, insertAudit } from '../identity/audit-rows.ts'
import type { NewAlarm } from './draft.ts'
import { ALARM, type AlarmRow } from './fields.ts'

export type { AlarmRow } from './fields.ts'

const ROW = `${listOf(ALARM)}, ${NOW} as now`
const ALARMS: Table<AlarmRow> = {
  from: 'wakeful.alarms',
  columns: ROW,
  where: 'parent_id is null',
}
/** What a list needs of a row beside its visible columns, which PostgreSQL prints. */
const TOLD = [
  ...([
    'id',
    'label',
    'kind',
    'fire_at',
    'cron_expr',
    'timezone',
    'anchor_at',
    'next_fire_at',
  ] as const),
  ...([
    'wake_message',
    'status',
    'failure_count',
    'last_error',
    'last_fired_at',
    'agent_id',
  ] as const),
]
export type ToldAlarm = Pick<AlarmRow, (typeof TOLD)[number] | 'now'>
/** A row of a list, printed but for the brace that ends it. */
export type ListedAlarm = ToldAlarm & Place & { readonly printed: string }
const LISTED: Table<ListedAlarm> = {
  ...{ from: ALARMS.from, where: 'parent_id is null' },
  columns: `${TOLD.join(', ')}, ${NOW} as now, ${printedOf(ALARM)} as printed`,
}

/** Whose alarms may be seen: one agent's (its DID), one person's, or everybody's. */
export interface AlarmScope {
  readonly ownerDid: string | null
  readonly userId: string | null
}

/** What its columns begin with by themselves. */
const BEGINNING = {
  status: 'active',
  failure_count: 0,
  last_error: '',
  missed_count: 0,
  attempt: 0,
  last_fired_at: null,
  fired_local: null,
  paused_at: null,
} as const
/** What a new alarm is written with. */
export const ALARM_GIVEN = typesOf(ALARM, [
  ...(Object.keys(BEGINNING) as (keyof typeof BEGINNING)[]),
  ...(['scheduled_for', 'due_at', 'created_at'] as const),
])
const NAMES = Object.keys(ALARM_GIVEN)

/**
 * With their entries in the audit log, but for those whose key existed. Sorted by key, so that two batches with the same keys wait for one
 * another instead of for each other.
 */
const INSERT = statement(
  {
    i: new List<NewAlarm>([...rows(ALARM_GIVEN).columns, ...rowsOf<NewAlarm>(ENTRY).columns]),
  },
  ({ i }) => `with i as materialized (select * from ${i}),
  made as (
    insert into wakeful.alarms (${NAMES}, scheduled_for, due_at, created_at, updated_at)
    select ${NAMES}, next_fire_at, next_fire_at, ${NOW}, ${NOW} from i order by bucket, owner_did, idempotency_key
    on conflict (bucket, owner_did, idempotency_key) where idempotency_key <> '' do nothing
    returning id, created_at),
  people as (
    insert into wakeful.people (bucket, user_id, created_at)
    select distinct bucket, user_id, ${NOW} from i order by bucket, user_id on conflict do nothing),
  audited as (${insertAudit('i', `(idempotency_key = '' or id = any(array(select id from made)))`)})
  select id, created_at from made`,
)

export interface SetAlarm {
  readonly row: AlarmRow
  /** The owner's key existed: this is the alarm it stands for. */
  readonly deduped: boolean
}

/** Writes all of them in one statement, which is a transaction by itself; answers by their ids. */
export async function insertAlarms(
  db: Db,
  alarms: readonly NewAlarm[],
): Promise<Map<string, SetAlarm>> {
  const made = await INSERT.run<{ id: string; created_at: Date }>(db, { i: alarms })
  const fresh = new Map(made.map((row) => [row.id, row.created_at]))
  const rest = alarms.filter(({ id }) => !fresh.has(id))
  const known = rest.length === 0 ? new Map<string, AlarmRow>() : await alarmsByKey(db, rest)
  const set = new Map<string, SetAlarm>()
  for (const alarm of alarms) {
    const at = fresh.get(alarm.id)
    // As the statement above wrote it: to read it back would cost more than to write it.
    const row = at === undefined ? known.get(keyOf(alarm)) : { ...alarm, created_at: at, now: at }
    if (row === undefined) throw new Error(`alarm ${alarm.id} was not written`)
    set.set(alarm.id, { row, deduped: at === undefined })
  }
  return set
}

type Keyed = Pick<NewAlarm, 'bucket' | 'owner_did' | 'idempotency_key'>

export function keyOf({ owner_did, idempotency_key }: Omit<Keyed, 'bucket'>): string {
  return `${owner_did} ${idempotency_key}`
}

// Lateral, so that it is one look-up for each key whatever the statistics say.
const BY_KEY = statement(
  { k: rows({ bucket: 'smallint', owner_did: 'text', idempotency_key: 'text' }) },
  ({ k }) => `select a.* from ${k}
   cross join lateral (
     select ${ROW} from wakeful.alarms o
     where o.idempotency_key <> '' and o.bucket = k.bucket and o.owner_did = k.owner_did and o.idempotency_key = k.idempotency_key
     limit 1) a`,
)

/** By `keyOf`. A statement of its own, so that it sees what a concurrent owner of the key has committed meanwhile. */
export async function alarmsByKey(db: Db, keys: readonly Keyed[]): Promise<Map<string, AlarmRow>> {
  const rows = await BY_KEY.run<AlarmRow>(db, { k: keys })
  return new Map(rows.map((row) => [keyOf(row), row]))
}

export function scopeWhere({ ownerDid, userId }: AlarmScope): Where {
  if (userId === null) return {}
  const bucket = bucketOf(userId)
  return ownerDid === null ? { bucket, user_id: userId } : { bucket, owner_did: ownerDid }
}

/** The condition and its values from $`first` on; texts are few, so that each is planned for what it asks. */
export function within(scope: AlarmScope, first: number): { where: string; values: unknown[] } {
  const wanted = Object.entries(scopeWhere(scope))
  const where = wanted.map(([name], index) => `${name} = $${first + index}`)
  return { where: where.join(' and ') || 'true', values: wanted.map(([, value]) => value) }
}

/** Newest first. */
export function listAlarms(db: Db, page: PageQuery): Promise<ListedAlarm[]> {
  const { text, values } = pageText(db, LISTED, page)
  // Without statistics, as after many were set at once, the planner would sort them all for one page.
  return oneInOrder<ListedAlarm>(db, `${text} limit $${values.length}::int`, values)
}

/** How many alarms one search looks at: words that occur nowhere cost no more than these rows. */
const SEARCHED_MAX = 5_000

/** Those whose label or words contain the text, in any case, newest first; and where to go on if there was more to look at. */
export async function searchAlarms(
  db: Db,
  page: PageQuery,
  containing: string,
): Promise<{ rows: ListedAlarm[]; end: readonly [string, string] | null }> {
  const { text, values } = pageText(db, LISTED, page)
  const limit = values.length
  const wanted = `lower($${values.push(containing)}::text)`
  const rows = await claimTx(db, (tx) =>
    tx.query<ListedAlarm & { found: boolean; nth: number }>(
      `select * from (
       select a.*, (row_number() over (order by a.created_text desc, a.id desc))::int as nth,
         position(${wanted} in lower(a.label)) > 0 or position(${wanted} in lower(a.wake_message)) > 0 as found
       from (${text} limit ${SEARCHED_MAX}) a) b
     where found or nth = ${SEARCHED_MAX} order by nth limit $${limit}::int`,
      values,
    ),
  )
  const last = rows.at(-1)
  const end = last?.nth === SEARCHED_MAX ? ([last.created_text, last.id] as const) : null
  return { rows: rows.filter((row) => row.found), end }
}

export const getAlarm = (db: Db, scope: AlarmScope, id: string) =>
  readOne(db, ALARMS, { where: scopeWhere(scope), id })

const CANCEL = `update wakeful.alarms
  set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
  where id = $2::uuid and parent_id is null and status in ('active', 'paused')`

/**
 * A compare-and-set on what has not ended. A process that is firing it finds its claim gone and settles nothing. Null
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

const CANCEL_OWN = statement(
  { c: rows({ bucket: 'smallint', id: 'uuid', user_id: 'text', agent_id: 'text' }) },
  ({ c }) => `update wakeful.alarms a
   set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
   from ${c}
   where ${eqByKey('a.bucket', 'c.bucket')} and ${eqByKey('a.id', 'c.id')} and a.user_id = c.user_id and a.agent_id = c.agent_id
     and a.parent_id is null and a.status in ('active', 'paused')
   returning a.bucket, a.id`,
)

/** Cancels an agent's own alarms, each for its own user: the wishes of turns. */
export async function cancelOwnAlarms(
  tx: Db,
  alarms: readonly { id: string; userId: string; agentId: string }[],
): Promise<void> {
  const c = alarms.map(({ id, userId, agentId }) => ({
    ...{ bucket: bucketOf(userId), id, user_id: userId, agent_id: agentId },
  }))
  const rows = await CANCEL_OWN.run<{ bucket: number; id: string }>(tx, { c })
  if (rows.length > 0) await cancelExtras(tx, rows)
}

/** They stay as rows: that they were asked for and cancelled is part of the record. */
const CANCEL_EXTRAS = statement(
  { p: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ p }) => `update wakeful.alarms a
   set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
   from ${p}
   where ${eqByKey('a.bucket', 'p.bucket')} and a.parent_id = p.id and a.status = 'active'`,
)

async function cancelExtras(
  tx: Db,
  parents: readonly { bucket: number; id: string }[],
): Promise<void> {
  await CANCEL_EXTRAS.run(tx, { p: parents })
}

/**
 * Makes a `once` due now, as the slot of this instant; one that is being fired already stays as it is.
 * Its failures still count, so attempts go on from there.
 */
const FIRE_ONCE = `update wakeful.alarms
  set due_at = ${NOW}, next_fire_at = ${NOW}, scheduled_for = ${NOW_MS}, delivery_id = $4::uuid,
      attempt = failure_count, traceparent = coalesce($5::text, traceparent), updated_at = ${NOW}
  where bucket = $2 and id = $3::uuid and in_flight is null and claim_token is null`

/** What an extra wake has of its own. */
const OWN = new Set([
  ...['id', 'kind', 'fire_at', 'cron_expr', 'next_fire_at', 'idempotency_key', 'delivery_id'],
  'traceparent',
])
const SHARED = NAMES.filter((name) => !OWN.has(name))

/** An extra wake beside a recurring alarm: its own slot, its own attempts, and no slot of the schedule used. */
const FIRE_EXTRA = `insert into wakeful.alarms (${SHARED}, id, parent_id, kind, fire_at, next_fire_at, scheduled_for, due_at,
    delivery_id, traceparent, created_at, updated_at)
  select ${SHARED}, $6::uuid, id, 'once', ${NOW_MS}, ${NOW}, ${NOW_MS}, ${NOW},
    $4::uuid, coalesce($5::text, traceparent), ${NOW}, ${NOW}
  from wakeful.alarms where bucket = $2 and id = $3::uuid`

export async function fireExtra(
  tx: Db,
  { bucket, id }: { readonly bucket: number; readonly id: string },
  traceparent: string | null,
): Promise<void> {
  await tx.query(FIRE_EXTRA, [tx.now(), bucket, id, newId(), traceparent, newId()])
}

/** Null when there is no such alarm. The caller refuses where its status is not `active`: nothing was done then. */
export async function fireAlarmNow(
  db: Db,
  scope: AlarmScope,
  id: string,
  wake: { readonly delivery: string; readonly extra: string; readonly traceparent: string | null },
): Promise<AlarmRow | null> {
  return db.tx(async (tx) => {
    const row = await readOne(tx, ALARMS, { where: scopeWhere(scope), id, lock: true })
    if (row === null || row.status !== 'active') return row
    const slot = [tx.now(), row.bucket, row.id, wake.delivery, wake.traceparent]
    if (row.kind === 'cron') await tx.query(FIRE_EXTRA, [...slot, wake.extra])
    else await tx.query(FIRE_ONCE, slot)
    return getAlarm(tx, scope, id)
  })
}
