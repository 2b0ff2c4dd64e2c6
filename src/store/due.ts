/**
 * Due rows: the one claim of the product. A due table has a column that says when a row wants
 * attention; a row is its own durable timer. Two ways to take rows:
 *
 * - `dueRows` selects and locks them inside a larger statement that also writes what becomes of them
 *   (promotion: nothing happens outside the database, so no lease is needed);
 * - `claimRows` leases them for work outside the database: a lease has an end, so a row whose worker
 *   died simply becomes due again, without a sweeper.
 *
 * The fence is `claim_token`, random for each claim and compared on every later write. A counter would
 * not do: claims commit without waiting for the disk, so a crash may forget one and count the same number again.
 */
import type { Db } from './db.ts'
import { LOCAL } from './reading.ts'
import { type Names, type RowOf, rows, statement } from './statement.ts'

/**
 * Parameter $1 of every statement that needs the time: the injected instant, or null, which becomes the database's own where the
 * statement is run. By the note it is known there.
 */
export const NOW = '/* now */ $1::timestamptz'

/** `NOW` to the millisecond, as instants are told. Said so that nothing in it depends on the session's time zone. */
export const NOW_MS = `date_trunc('milliseconds', ${NOW} at time zone 'UTC') at time zone 'UTC'`

/**
 * So many milliseconds from now. Adding to an instant depends on the session's zone (of days and months), which distributed
 * databases refuse beside columns of what is written; adding to a time of day in UTC does not.
 */
export function inMs(ms: string): string {
  return `((${NOW} at time zone 'UTC' + ${ms} * interval '1 millisecond') at time zone 'UTC')`
}

/** Where a row stands in a list by this instant: with its microseconds, for cursors. Not for what a write returns. */
export const placeOf = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_text`
export interface Place {
  readonly created_text: string
}

export async function databaseNow(db: Db): Promise<Date> {
  return new Date(await db.time())
}

/**
 * For claims and promotions: the due index is read in its order, and the commit does not wait for the disk.
 * A lease forgotten in a crash of the database has a token that matches nothing any more; a forgotten promotion
 * is simply due again, since whatever was built on it (a turn's commit, which does wait) comes later in the
 * write-ahead log and could not have survived without it.
 */
export function claimTx<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  if (db.reading === 'in order') return db.tx(work)
  return db.tx(work, { first: LOCAL[db.kind === 'postgres' ? 'no wait' : 'in order'] })
}

/** A single statement in index order: where the connection is made for it, without the round trips of a transaction. */
export function oneInOrder<R extends object>(
  db: Db,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  const ordered = db.reading === 'in order' ? db : db.inOrder
  if (ordered !== undefined) return ordered.query<R>(text, values)
  return claimTx(db, (tx) => tx.query<R>(text, values))
}

/** For group commits: rows are found by their keys, one index look-up each. */
export function commitTx<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.tx(work, db.reading === undefined ? { first: LOCAL['by key'] } : {})
}

/**
 * A column that an index begins with, in a statement that finds rows of a table by a list of keys: `bucket`, and `id`, which has an index
 * of its own in most tables. As a plain equation it could be the
 * clause of a merge join, so that the planner also thinks of walking through the whole index; for a table that it believes to
 * be nearly empty that looks cheap, and the plan is kept while the table grows (seen: 3.5 s instead of 0.07 for 1,000 timers of 10,000).
 * The other columns of a key are plain equations: before version 17 PostgreSQL may leave such an array on a later column out of the index scan,
 * and read all rows of a person's bucket (seen with 5,000 sessions of one person: 142 messages a second instead of 3,000).
 */
export function eqByKey(column: string, value: string): string {
  return `${column} = any(array[${value}])`
}

/** The same for the column beside `bucket` of a due row `t`. */
const rowIs = ({ key }: DueTable, value: string) =>
  key === 'id' ? eqByKey('t.id', value) : `t.${key} = ${value}`

/** The order in which rows are locked, said so that no index is in it: see `eqByKey`. */
export function lockOrder(table: string, key: string): string {
  return `order by ${table}.bucket + 0, ${table}.${key}`
}

export interface DueTable {
  readonly name: string
  /** Identity beside `bucket`. */
  readonly key: string
  /** The due column. */
  readonly due: string
  /** Which rows can be due at all; the same words as the partial index. */
  readonly live: string
  /**
   * Where the end of a lease is kept. Absent: the due column itself moves there. A column of its own that is in
   * no index makes claims cheap (the row is rewritten in place), at the price of reading past leased rows.
   */
  readonly lease?: string
  /** What else a released row becomes, where there is a column for leases. */
  readonly released?: string
  /** SQL type of `key`; text if not said. */
  readonly keyType?: 'uuid'
  /** Another column of the identity, where `bucket` and `key` are not all of it. */
  readonly within?: string
}

export const SESSIONS: DueTable = {
  name: 'wakeful.sessions',
  key: 'session_key',
  due: 'due_at',
  live: 'due_at is not null',
  lease: 'leased_until',
  released: `due_at = case when t.last_seq > t.done_seq then coalesce(t.due_at, ${NOW}) end, in_flight = null`,
}
export const TIMERS: DueTable = {
  name: 'wakeful.autonomy_timers',
  key: 'timer_id',
  due: 'fire_at',
  live: `status = 'pending'`,
}
/** Alarms of agents known here: they become events. */
export const ALARMS: DueTable = {
  name: 'wakeful.alarms',
  key: 'id',
  keyType: 'uuid',
  due: 'due_at',
  live: 'due_at is not null and agent_id is not null',
}
/** Alarms that wake by an HTTP call, under a lease. */
export const WAKES: DueTable = { ...ALARMS, live: 'due_at is not null and agent_id is null' }
/** Recurring work whose run is not in hand. */
export const WORK: DueTable = {
  name: 'wakeful.work',
  key: 'id',
  keyType: 'uuid',
  due: 'next_run_at',
  live: 'is_active and in_flight is null',
}

const INTENT_ROW = {
  name: 'wakeful.scheduled_intents',
  key: 'id',
  keyType: 'uuid',
  due: 'next_check',
} as const
const LIVE_INTENT =
  'enabled = true and next_check is not null and agent_id is not null and in_flight is null'

/** Intents of agents known here; those of outside workers are asked for, not taken. A condition of the app is polled before. */
export const INTENTS: DueTable = {
  ...INTENT_ROW,
  live: `${LIVE_INTENT} and (trigger_type <> 'condition' or observed_at >= next_check)`,
}
/** Intents whose condition is the app's own, and is to be polled. */
export const CONDITIONS: DueTable = {
  ...INTENT_ROW,
  live: `${LIVE_INTENT} and trigger_type = 'condition' and (observed_at is null or observed_at < next_check)`,
  lease: 'claimed_until',
}

/** Slots whose moment had not come when their time did. */
export const DEFERRED: DueTable = {
  name: 'wakeful.deferred',
  key: 'id',
  keyType: 'uuid',
  due: 'release_at',
  live: 'release_at is not null',
}

/** Open questions whose default counts from some instant on. */
export const QUESTIONS: DueTable = {
  name: 'wakeful.questions',
  key: 'id',
  keyType: 'uuid',
  due: 'due_at',
  live: 'due_at is not null',
}

export const SOURCES: DueTable = {
  name: 'wakeful.source_polls',
  key: 'key',
  due: 'due_at',
  live: 'due_at is not null',
}

export const DELIVERIES: DueTable = {
  name: 'wakeful.subscription_deliveries',
  key: 'id',
  keyType: 'uuid',
  due: 'due_at',
  live: 'due_at is not null',
}

/** Messages to be pushed to somebody's device, under a lease. */
export const EFFECTS: DueTable = {
  name: 'wakeful.effects',
  key: 'position',
  within: 'session_key',
  due: 'due_at',
  live: 'due_at is not null',
}

/** Who is taken first: those who have waited longest, or those who became due last. */
export type First = 'oldest' | 'newest'

/** More than become due while one batch is under way: who is passed by newer ones waits with the burst. */
const EXPRESS_MAX = 100

/**
 * How many of the newest are taken before each batch while more is due than it holds: a row that becomes due amid a burst of others
 * does not wait until all of it is done, and those who have waited longest still get half of every batch.
 */
export function newestFirstShare(behind: boolean, limit: number): number {
  return behind ? Math.min(EXPRESS_MAX, limit >> 1) : 0
}

/**
 * Selects and locks up to `limit` due rows, soonest first. `lock` names another table joined by
 * `join` to be locked instead: rows whose lock is held elsewhere are skipped and the scan goes on,
 * so that two claimants side by side both find work.
 */
export function dueRows(
  table: DueTable,
  select: string,
  limit: string,
  options: { join?: string; lock?: string; where?: string; first?: First } = {},
): string {
  return `${dueList(table, select, limit, options)} ${ifFree(options.lock ?? 't')}`
}

/** The same rows, of which none is locked: for who locks something else instead, by `ifFree`. */
export function dueList(
  table: DueTable,
  select: string,
  limit: string,
  options: { join?: string; where?: string; first?: First } = {},
): string {
  const { join = '', where = 'true', first = 'oldest' } = options
  return `select ${select} from ${table.name} t ${join}
    where t.${table.live} and t.${table.due} <= ${NOW} and ${free(table)} and ${where}
    order by t.${table.due}${first === 'oldest' ? '' : ' desc'} limit ${limit}`
}

/** Locks the rows of this table that nobody holds, and leaves the others out. */
export function ifFree(table: string): string {
  return `for update of ${table} skip locked`
}

/** Not leased, or its lease has run out. */
function free(table: DueTable): string {
  return table.lease === undefined
    ? 'true'
    : `(t.${table.lease} is null or t.${table.lease} <= ${NOW})`
}

/** What a claim takes: how many at most, for how long, and the token that says whose they are. */
export const LEASE = { limit: 'int', leaseMs: 'int', token: 'uuid' } as const

/**
 * Leases due rows; `returning` may name `t.` (the row as it now is) and `d.` (its due column and token as they were).
 * For tables whose columns are `due_at`, `claim_token` and `claimed_at`.
 */
export function claimRows(
  table: DueTable,
  { limit, leaseMs, token }: Names<typeof LEASE>,
  returning: string,
  { set = '', ...which }: { set?: string; where?: string; first?: First } = {},
): string {
  const { within } = table
  const also = within === undefined ? '' : ` and t.${within} = d.${within}`
  const named = within === undefined ? '' : ` t.${within},`
  const was = `t.bucket,${named} t.${table.key}, t.${table.due} as was_due_at, t.claim_token as was_token`
  return `update ${table.name} t
    set ${table.lease ?? table.due} = ${inMs(leaseMs)},
        claim_token = ${token}, claimed_at = ${NOW}${set}
    from (${dueRows(table, was, limit, which)}) d
    where ${eqByKey('t.bucket', 'd.bucket')} and ${rowIs(table, `d.${table.key}`)}${also}
    returning ${returning}`
}

/**
 * Milliseconds from now to the soonest row that is not due yet; null without one. The end of a dead worker's lease is found
 * by polling; a test clock does not poll, so it is told with `leases`.
 */
export function nextDueMs(table: DueTable, leases = false): string {
  const next = `select n.${table.due} from ${table.name} n
    where n.${table.live} and n.${table.due} > ${NOW} order by n.${table.due} limit 1`
  const lease =
    table.lease === undefined || !leases
      ? ''
      : `, (select min(n.${table.lease}) from ${table.name} n where n.${table.live} and n.${table.lease} > ${NOW})`
  return `(select extract(epoch from least((${next})${lease}) - ${NOW})::float8 * 1000)`
}

/** The rows that `taking` takes, the time, and when the next one is due: that last also where nothing is taken. */
export function takenAndNext(table: DueTable, taking: string): string {
  return `with taken as materialized (${taking})
    select n.next_ms, ${NOW} as now, t.* from (select ${nextDueMs(table)} as next_ms) n left join taken t on true`
}

export interface Taken<R> {
  readonly taken: R[]
  /** Milliseconds to the next that is not due yet. */
  readonly nextMs: number | null
}

/** Reads the answer of a statement that takes what is due. Where nothing was, its one row says only when the next is. */
export function takenOf<R extends { readonly bucket: number }>(
  answer: readonly (R & { readonly next_ms: number | null })[],
): Taken<R> {
  const taken = answer.filter((row) => row.bucket !== null)
  return { taken, nextMs: answer[0]?.next_ms ?? null }
}

type Claimed = RowOf<ReturnType<typeof claimsOn>>

function claimsOn(table: DueTable) {
  return rows({ bucket: 'smallint', key: table.keyType ?? 'text', token: 'uuid' })
}

const isHeld = (table: DueTable) =>
  `${eqByKey('t.bucket', 'c.bucket')} and ${rowIs(table, 'c.key')} and t.claim_token = c.token`

/** Heartbeat: moves the end of the leases. Returns the keys still held; the others were lost. */
export async function extendClaims(
  db: Db,
  table: DueTable,
  claims: readonly Claimed[],
  leaseMs: number,
): Promise<Set<string>> {
  const extend = statement(
    { c: claimsOn(table), leaseMs: 'int' },
    ({ c, leaseMs }) =>
      `update ${table.name} t set ${table.lease ?? table.due} = ${inMs(leaseMs)}
       from ${c} where ${isHeld(table)} returning t.${table.key} as key`,
  )
  const held = await extend.run<{ key: string }>(db, { c: claims, leaseMs })
  return new Set(held.map((row) => row.key))
}

const released = ({ lease, released, due }: DueTable) =>
  lease === undefined ? `${due} = ${NOW}` : `${lease} = ${NOW}, ${released}`

/** Gives rows back untouched, due at once, as on a clean stop. */
export async function releaseClaims(
  db: Db,
  table: DueTable,
  claims: readonly Claimed[],
): Promise<void> {
  const release = statement(
    { c: claimsOn(table) },
    ({ c }) =>
      `update ${table.name} t set ${released(table)}, claim_token = null, claimed_at = null
       from ${c} where ${isHeld(table)}`,
  )
  await release.run(db, { c: claims })
}

/** How long the oldest due row has waited, in ms; 0 when nothing is late. For health and metrics. */
export async function dueLagMs(db: Db, table: DueTable): Promise<number> {
  const [row] = await db.query<{ lag: number | null }>(
    `select extract(epoch from ${NOW} - t.${table.due})::float8 * 1000 as lag from ${table.name} t
     where t.${table.live} and t.${table.due} <= ${NOW} and ${free(table)} order by t.${table.due} limit 1`,
    [db.now()],
  )
  return Math.max(0, row?.lag ?? 0)
}
