/**
 * What is to come, soonest first, and what waits. Bounded reads: everybody's by the index on the due column, one
 * owner's by the bucket. The statements differ, so that each is planned for its own way in.
 */
import { bucketOf } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { byKey, inIndexOrder, NOW } from '../db/due.ts'

/** Counting stops here: whoever has more waiting knows enough. */
export const COUNTED_MAX = 1_000

/**
 * Reads everybody's in the order of the due indexes, one owner's by key. Left to itself the planner may sort the whole
 * table where its statistics are old.
 */
export function reading<T>(
  db: Db,
  userId: string | null,
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  return userId === null ? inIndexOrder(db, work) : byKey(db, work)
}

interface Lane<R> {
  readonly rows: readonly R[]
  /** Triggers whose next slot lies in the window, up to `COUNTED_MAX`. */
  readonly total: number
}

export interface Window {
  /** Null: everybody's. */
  readonly userId: string | null
  /** Null: what is overdue, too. */
  readonly from: Date | null
  readonly to: Date
  readonly limit: number
}

export interface UpcomingTimer {
  readonly id: string
  readonly name: string
  readonly at: Date
  readonly session_key: string
}

export interface UpcomingAlarm {
  readonly id: string
  readonly at: Date
  readonly user_id: string
  readonly name: string
  readonly agent_id: string | null
  readonly cron_expr: string
  readonly timezone: string
  readonly anchor_at: Date
  readonly attempt: number
}

export interface UpcomingIntent {
  readonly id: string
  readonly at: Date
  readonly user_id: string
  readonly name: string
  readonly agent_id: string | null
  readonly trigger_type: string
  readonly trigger_schedule: string | null
  readonly trigger_condition: string | null
  readonly timezone: string
  readonly anchor_at: Date
  readonly expires_at: Date | null
  readonly max_executions: number | null
  readonly execution_count: number
  readonly next_check: Date | null
  readonly scheduled_for: Date | null
}

export interface UpcomingWork {
  readonly id: string
  readonly at: Date
  readonly user_id: string
  readonly name: string
  readonly agent_type: string
  readonly frequency_cron: string | null
  readonly timezone: string
  readonly anchor_at: Date
}

interface Source {
  readonly table: string
  readonly due: string
  /** Each as the partial index that serves it says; several are read one after the other. */
  readonly live: readonly string[]
  readonly columns: string
  /** Of rows that name their owner only in the session's key. */
  readonly bySession?: boolean
}

const TIMERS: Source = {
  table: 'wakeful.autonomy_timers',
  due: 'fire_at',
  live: [`status = 'pending'`],
  columns: 't.id, t.timer_id as name, t.fire_at as at, t.session_key',
  bySession: true,
}
const ALARMS: Source = {
  table: 'wakeful.alarms',
  due: 'due_at',
  live: [
    'due_at is not null and t.agent_id is not null',
    'due_at is not null and t.agent_id is null',
  ],
  columns: `t.id, t.due_at as at, t.user_id, t.agent_id, t.cron_expr, t.timezone, t.anchor_at, t.attempt,
    left(coalesce(nullif(t.label, ''), t.wake_message), 120) as name`,
}
const INTENTS: Source = {
  table: 'wakeful.scheduled_intents',
  due: 'next_check',
  live: [
    'enabled = true and t.next_check is not null and t.agent_id is not null and t.in_flight is null',
    'enabled = true and t.next_check is not null and t.agent_id is null',
  ],
  columns: `t.id, t.next_check as at, t.user_id, t.intent_name as name, t.agent_id, t.trigger_type, t.trigger_schedule,
    t.trigger_condition, t.timezone, t.anchor_at, t.expires_at, t.max_executions, t.execution_count, t.next_check, t.scheduled_for`,
}
const WORK: Source = {
  table: 'wakeful.work',
  due: 'next_run_at',
  live: ['is_active and t.in_flight is null'],
  columns: `t.id, t.next_run_at as at, t.user_id, left(t.task, 120) as name, t.agent_type, t.frequency_cron, t.timezone, t.anchor_at`,
}

/** Parameters: from, to, limit; then the owner's, where there is one. */
function sides(source: Source, select: string, owned: boolean, limit: string): string {
  const own = source.bySession
    ? `t.bucket = $4 and t.session_key >= $5 || ':' and t.session_key < $5 || ';'`
    : 't.bucket = $4 and t.user_id = $5'
  return source.live
    .map(
      (live) => `(select ${select} from ${source.table} t
        where t.${live} and t.${source.due} <= $2 and ($1::timestamptz is null or t.${source.due} >= $1)
          and ${owned ? own : 'true'} order by t.${source.due} limit ${limit})`,
    )
    .join(' union all ')
}

async function readLane<R extends { readonly at: Date }>(
  db: Db,
  source: Source,
  { userId, from, to, limit }: Window,
): Promise<Lane<R>> {
  const owner = userId === null ? [] : [bucketOf(userId), userId]
  const owned = userId !== null
  const rows = await db.query<R>(
    `select * from (${sides(source, source.columns, owned, '$3')}) u order by at limit $3`,
    [from, to, limit, ...owner],
  )
  if (rows.length < limit) return { rows, total: rows.length }
  const [counted] = await db.query<{ total: number }>(
    `select count(*)::int as total from (${sides(source, '1', owned, '$3')}) u`,
    [from, to, COUNTED_MAX, ...owner],
  )
  return { rows, total: Math.min(COUNTED_MAX, counted?.total ?? rows.length) }
}

export const upcomingTimers = (db: Db, window: Window) =>
  readLane<UpcomingTimer>(db, TIMERS, window)
export const upcomingAlarms = (db: Db, window: Window) =>
  readLane<UpcomingAlarm>(db, ALARMS, window)
export const upcomingIntents = (db: Db, window: Window) =>
  readLane<UpcomingIntent>(db, INTENTS, window)
export const upcomingWork = (db: Db, window: Window) => readLane<UpcomingWork>(db, WORK, window)

export interface Waiting {
  readonly now: Date
  /** Messages that no reader has taken yet, up to `COUNTED_MAX`. */
  readonly undelivered: number
  readonly oldest_undelivered_at: Date | null
  /** Sessions with events that no turn has run over yet, up to `COUNTED_MAX`. */
  readonly sessions_waiting: number
  readonly oldest_session_at: Date | null
}

/** What waits for a reader or a turn, and what the time is. */
export async function readWaiting(db: Db, userId: string | null): Promise<Waiting> {
  const owned = userId !== null
  const own = owned
    ? `and t.bucket = $2 and t.session_key >= $3 || ':' and t.session_key < $3 || ';'`
    : ''
  const [row] = await db.query<Waiting>(
    `select ${NOW} as now, e.total as undelivered, e.oldest as oldest_undelivered_at,
            s.total as sessions_waiting, s.oldest as oldest_session_at
     from (select count(*)::int as total, min(created_at) as oldest from (
             select t.created_at from wakeful.effects t where t.status in ('pending', 'executing') ${own}
             order by t.bucket, t.session_key, t.position limit ${COUNTED_MAX}) u) e,
          (select count(*)::int as total, min(due_at) as oldest from (
             select t.due_at from wakeful.sessions t where t.due_at is not null and t.due_at <= ${NOW}
               and (t.leased_until is null or t.leased_until <= ${NOW}) ${own}
             order by t.due_at limit ${COUNTED_MAX}) w) s`,
    owned ? [db.now(), bucketOf(userId), userId] : [db.now()],
  )
  if (row === undefined) throw new Error('the overview answered nothing')
  return row
}
