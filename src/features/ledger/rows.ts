/**
 * The slots of all triggers in the order of time, out of the tables that hold them. Each source gives a window of light
 * rows, newest first; the caller merges them and asks for the facts of those it shows (`facts.ts`).
 */

import { bucketOf, MAIN_THREAD, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx, NOW } from '../../store/due.ts'
import { LEDGER_KINDS, type LedgerKind } from './rules.ts'

export interface LedgerScope {
  /** Null: everybody's. */
  readonly userId: string | null
  readonly session: SessionRef | null
  readonly triggerId: string | null
  /** Only the row of this id; with `from` and `to` around it, unless the trigger is named. */
  readonly id?: string
  readonly from: Date | null
  readonly to: Date | null
  /** Position of the last row of the page before. */
  readonly after: readonly [string, string] | null
}

/** Where a slot's row is: enough to order it and to ask for more. */
export interface SlotRow {
  readonly source: LedgerSource
  readonly kind: LedgerKind
  readonly bucket: number
  readonly id: string
  readonly at: Date
  /** With its microseconds, for cursors. */
  readonly at_text: string
  readonly trigger_id: string | null
  readonly scheduled_for: Date
  readonly session_key: string | null
  readonly seq: number | null
  /** False: another row stands for the slot. */
  readonly head: boolean
}

export type LedgerSource = 'event' | 'check' | 'wake' | 'timer' | 'alarm' | 'missed' | 'question'

const EVENTS_BACK = 100
/** A session with fewer events is read as a whole and sorted; that of a longer one would be felt. */
const SHORT_SESSION = 10_000
const TEXT = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at_text`

/** An event of the trigger's among those right before or after this row which stands for the same slot. */
const SAME_SLOT = (id: string, slot: string, near: string, order: string, back: number) =>
  `exists (select 1 from (
     select p.scheduled_for from wakeful.events p where p.scheduled_for is not null and p.trigger_id = ${id} ${near}
     order by p.created_at ${order}, p.id ${order} limit ${back}) p where p.scheduled_for = ${slot})`

interface Source {
  readonly name: LedgerSource
  readonly kinds: readonly LedgerKind[]
  readonly table: string
  readonly at: string
  readonly id: string
  /** Always true of a row of this source. */
  readonly where: string
  /** Said where all rows are meant, as the index over them says it. */
  readonly everybody: string
  readonly columns: string
  readonly head: string
  readonly user: (bucket: string, user: string) => string
  /** `long`: with more events than one would read for a page. */
  readonly session: (s: Placed, long: boolean) => string
  readonly trigger: (id: string) => string
}

/** Makes a part of the session a parameter: only those that are used become one, or PostgreSQL could not give it a type. */
type Placed = (part: 'bucket' | 'key' | 'userId' | 'agentId' | 'threadId') => string

/** Intents whose slots are instants of a schedule: a slot may take several events. A condition's fire is a slot of its own. */
export const SCHEDULED = `('cron', 'interval', 'once')`

/** All attempts at a slot are one slot: the first event stands for it. Events of one intent's slot follow each other. */
const EVENT_HEAD = `case t.type
  when 'alarm' then t.payload ->> 'attempt' = '1' or not ${SAME_SLOT('t.trigger_id', 't.scheduled_for', 'and (p.created_at, p.id) < (t.created_at, t.id)', 'desc', EVENTS_BACK)}
  when 'intent' then t.payload ->> 'trigger_type' not in ${SCHEDULED}
    or not ${SAME_SLOT('t.trigger_id', 't.scheduled_for', 'and (p.created_at, p.id) < (t.created_at, t.id)', 'desc', 1)}
  else true end`

/** A look at a slot that has an event is part of that one's story; of several looks at one slot the last stands for it. */
const CHECK_HEAD = `t.scheduled_for is null or t.intent_id is null or not (
  ${SAME_SLOT('t.intent_id', 't.scheduled_for', 'and p.created_at <= t.executed_at', 'desc', 1)}
  or ${SAME_SLOT('t.intent_id', 't.scheduled_for', 'and p.created_at >= t.executed_at', 'asc', 1)}
  or coalesce((select n.scheduled_for = t.scheduled_for from wakeful.intent_executions n
     where n.bucket = t.bucket and n.intent_id = t.intent_id and (n.executed_at, n.id) > (t.executed_at, t.id)
     order by n.executed_at, n.id limit 1), false))`

const SOURCES: readonly Source[] = [
  {
    name: 'event',
    kinds: LEDGER_KINDS,
    table: 'wakeful.events',
    at: 'created_at',
    id: 'id',
    where: 't.scheduled_for is not null',
    everybody: 't.seq >= 1',
    // The one result that is a slot: the default of a question.
    columns: `case when t.type = 'tool_result' then 'question' else t.type end as kind, t.trigger_id, t.scheduled_for, t.session_key, t.seq`,
    head: EVENT_HEAD,
    user: (bucket, user) => `t.bucket = ${bucket} and split_part(t.session_key, ':', 1) = ${user}`,
    // A long session is most of what its user has: it is walked along the user's slots. Its key stands in an expression,
    // or the planner might still read all of it by the primary key.
    session: (s, long) =>
      long
        ? `t.bucket = ${s('bucket')} and split_part(t.session_key, ':', 1) = ${s('userId')} and t.session_key || '' = ${s('key')}`
        : `t.bucket = ${s('bucket')} and t.session_key = ${s('key')}`,
    trigger: (id) => `t.trigger_id = ${id}::uuid`,
  },
  {
    name: 'check',
    kinds: ['intent'],
    table: 'wakeful.intent_executions',
    at: 'executed_at',
    id: 'id',
    where: 't.event_seq is null',
    everybody: 't.repeats >= 1',
    columns: `'intent' as kind, t.intent_id as trigger_id, coalesce(t.scheduled_for, t.executed_at) as scheduled_for, null as session_key, null::int as seq`,
    head: CHECK_HEAD,
    user: (bucket, user) => `t.bucket = ${bucket} and t.user_id = ${user}`,
    session: (s) =>
      `t.user_id = ${s('userId')} and (t.bucket, t.intent_id) in (
         select i.bucket, i.id from wakeful.scheduled_intents i
         where i.user_id = ${s('userId')} and i.agent_id = ${s('agentId')} and coalesce(nullif(i.thread_id, ''), '${MAIN_THREAD}') = ${s('threadId')})`,
    trigger: (id) =>
      `(t.bucket, t.intent_id) in (select i.bucket, i.id from wakeful.scheduled_intents i where i.id = ${id}::uuid)`,
  },
  {
    name: 'wake',
    kinds: ['alarm'],
    table: 'wakeful.alarm_wakes',
    at: 'created_at',
    id: 'delivery_id',
    where: 'true',
    everybody: 't.attempts >= 1',
    columns: `'alarm' as kind, t.alarm_id as trigger_id, t.scheduled_for, null as session_key, null::int as seq`,
    head: 'true',
    user: (bucket, user) => `t.bucket = ${bucket} and t.user_id = ${user}`,
    session: () => 'false',
    trigger: (id) => `t.alarm_id = ${id}::uuid`,
  },
  {
    name: 'timer',
    kinds: ['timer'],
    table: 'wakeful.autonomy_timers',
    at: 'updated_at',
    id: 'id',
    where: `t.status = 'cancelled'`,
    everybody: `t.created_at > '-infinity'`,
    columns: `'timer' as kind, t.id as trigger_id, t.fire_at as scheduled_for, t.session_key, null::int as seq`,
    head: 'true',
    // The sessions of one user are one range of the primary key: ';' is the character after ':'.
    user: (bucket, user) =>
      `t.bucket = ${bucket} and t.session_key >= ${user} || ':' and t.session_key < ${user} || ';'`,
    session: (s) => `t.bucket = ${s('bucket')} and t.session_key = ${s('key')}`,
    trigger: (id) => `t.id = ${id}::uuid`,
  },
  {
    name: 'alarm',
    kinds: ['alarm'],
    table: 'wakeful.alarms',
    at: 'updated_at',
    id: 'id',
    where: `t.status = 'cancelled'`,
    everybody: 't.max_failures >= 1',
    columns: `'alarm' as kind, coalesce(t.parent_id, t.id) as trigger_id, t.scheduled_for,
      case when t.agent_id is not null and t.conversation_id <> '' then t.user_id || ':' || t.agent_id || ':' || t.conversation_id end as session_key,
      null::int as seq`,
    // An attempt that was begun has left its own record, which says that it was cancelled.
    head: `not ${SAME_SLOT('coalesce(t.parent_id, t.id)', 't.scheduled_for', '', 'desc', EVENTS_BACK)}
      and not exists (select 1 from wakeful.alarm_wakes w where w.bucket = t.bucket and w.delivery_id = t.delivery_id)`,
    user: (bucket, user) => `t.bucket = ${bucket} and t.user_id = ${user}`,
    session: (s) =>
      `t.bucket = ${s('bucket')} and t.user_id = ${s('userId')} and t.agent_id = ${s('agentId')} and t.conversation_id = ${s('threadId')}`,
    trigger: (id) => `(t.id = ${id}::uuid or t.parent_id = ${id}::uuid)`,
  },
  {
    name: 'missed',
    kinds: ['alarm', 'intent', 'work'],
    table: 'wakeful.missed',
    at: 'missed_at',
    id: 'id',
    where: 'true',
    everybody: 't.slots >= 1',
    columns: 't.kind, t.trigger_id, t.scheduled_for, null as session_key, null::int as seq',
    head: 'true',
    user: (bucket, user) => `t.bucket = ${bucket} and t.user_id = ${user}`,
    session: () => 'false',
    trigger: (id) => `t.trigger_id = ${id}::uuid`,
  },
  {
    name: 'question',
    kinds: ['question'],
    table: 'wakeful.questions',
    at: 'updated_at',
    id: 'id',
    where: `t.status in ('answered', 'cancelled')`,
    everybody: 't.event_seq >= 1',
    columns: `'question' as kind, t.id as trigger_id, coalesce(t.until_at, t.created_at) as scheduled_for, t.session_key, null::int as seq`,
    head: 'true',
    user: (bucket, user) => `t.bucket = ${bucket} and t.user_id = ${user}`,
    session: (s) =>
      `t.bucket = ${s('bucket')} and t.user_id = ${s('userId')} and t.session_key = ${s('key')}`,
    trigger: (id) => `t.id = ${id}::uuid`,
  },
]

/** One window of one source. */
export interface SlotWindow {
  readonly rows: readonly SlotRow[]
  /** There may be more behind the last row. */
  readonly more: boolean
}

export async function ledgerWindows(
  db: Db,
  scope: LedgerScope,
  kind: LedgerKind | null,
  size: number,
): Promise<SlotWindow[]> {
  const wanted = SOURCES.filter(({ kinds }) => kind === null || kinds.includes(kind))
  // Each is a walk along an index: what a sort or a whole table would cost depends on the statistics of the day.
  return commitTx(db, async (tx) => {
    const windows: SlotWindow[] = []
    const long = await isLong(tx, scope.session)
    if (long) await tx.exec('set local enable_sort = off')
    for (const source of wanted) windows.push(await windowOf(tx, source, scope, long, size))
    return windows
  })
}

async function isLong(db: Db, session: SessionRef | null): Promise<boolean> {
  if (session === null) return false
  const [row] = await db.query<{ last_seq: number }>(
    'select last_seq from wakeful.sessions where bucket = $1::smallint and session_key = $2::text',
    [session.bucket, session.key],
  )
  return (row?.last_seq ?? 0) > SHORT_SESSION
}

async function windowOf(
  db: Db,
  source: Source,
  scope: LedgerScope,
  long: boolean,
  size: number,
): Promise<SlotWindow> {
  const values: unknown[] = [size]
  const at = `t.${source.at}`
  const id = `t.${source.id}`
  const put = (value: unknown) => `$${values.push(value)}`
  const where = [source.where, ...scopeOf(source, scope, long, put)]
  if (scope.id !== undefined) where.push(`${id} = ${put(scope.id)}::uuid`)
  if (scope.from !== null) where.push(`${at} >= ${put(scope.from)}::timestamptz`)
  if (scope.to !== null) where.push(`${at} < ${put(scope.to)}::timestamptz`)
  if (scope.after !== null) {
    const [afterAt, afterId] = scope.after
    where.push(`(${at}, ${id}) < (${put(afterAt)}::timestamptz, ${put(afterId)}::uuid)`)
  }
  const rows = await db.query<SlotRow>(
    `select ${columnsOf(source)} from (select * from ${source.table} t where ${where.join(' and ')} order by ${at} desc, ${id} desc limit $1::int) t
     order by ${at} desc, ${id} desc`,
    values,
  )
  return { rows, more: rows.length === size }
}

function columnsOf({ name, at, id, columns, head }: Source): string {
  return `'${name}' as source, t.bucket, t.${id} as id, t.${at} as at, ${TEXT(`t.${at}`)}, ${columns}, (${head}) as head`
}

/** What a list shows of a row `t` of this source, for those who find the rows by other means. */
export function slotColumns(name: LedgerSource): string {
  const source = SOURCES.find((each) => each.name === name)
  if (source === undefined) throw new Error(`there is no source ${name}`)
  return columnsOf(source)
}

function scopeOf(
  source: Source,
  { userId, session, triggerId }: LedgerScope,
  long: boolean,
  put: (value: unknown) => string,
): string[] {
  const where: string[] = []
  if (triggerId !== null) where.push(source.trigger(put(triggerId)))
  if (session !== null) {
    const placed: Placed = (part) =>
      `${put(session[part])}::${part === 'bucket' ? 'smallint' : 'text'}`
    where.push(source.session(placed, long))
  } else if (userId !== null) {
    const bucket = `${put(bucketOf(userId))}::smallint`
    where.push(source.user(bucket, `${put(userId)}::text`))
  }
  if (where.length === 0) where.push(source.everybody)
  return where
}

export async function ledgerNow(db: Db): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(`select ${NOW} as now`, [db.now()])
  if (row === undefined) throw new Error('the database did not tell the time')
  return row.now
}
