/**
 * What is to come, soonest first, and what waits. Bounded reads: everybody's by the index on the due column, one
 * owner's by the bucket. The statements differ, so that each is planned for its own way in.
 */

import { bucketOf, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, commitTx, NOW } from '../../store/due.ts'
import { TRIGGER_KINDS, type TriggerKind } from './rules.ts'
import type { Standing } from './upcoming.ts'

/** Counting stops here: an exact larger number helps nobody. */
export const COUNTED_MAX = 1_000
const NAME_MAX = 120
/** Of each family; nobody reads more. */
const STANDING_MAX = 500

export type Due = Standing & { readonly at: Date }

/**
 * Reads everybody's in the order of the due indexes, one owner's by key. Left to itself the planner may sort the whole
 * table where its statistics are old.
 */
export function reading<T>(
  db: Db,
  userId: string | null,
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  return userId === null ? claimTx(db, work) : commitTx(db, work)
}

interface Family {
  readonly table: string
  /** When it is looked at next, by its index; and each part of those waiting for that, as the partial index that serves it says. */
  readonly due: string
  readonly live: readonly string[]
  /** The next time of its own, and what stands, also while a slot of it is in hand. */
  readonly next: string
  readonly stands: string
  readonly name: string
  /** What it has of `COLUMNS`. */
  readonly columns: Partial<Record<keyof typeof COLUMNS, string>>
}

const COLUMNS = {
  id: 'uuid',
  user_id: 'text',
  session_key: 'text',
  agent: 'text',
  cron: 'text',
  timezone: 'text',
  anchor_at: 'timestamptz',
  attempt: 'int',
  trigger_type: 'text',
  trigger_schedule: 'json',
  trigger_condition: 'json',
  expires_at: 'timestamptz',
  max_executions: 'int',
  execution_count: 'int',
} as const

const own = (...names: (keyof typeof COLUMNS)[]) =>
  Object.fromEntries(names.map((name) => [name, `t.${name}`]))

const FAMILIES: Record<TriggerKind, Family> = {
  timer: {
    table: 'wakeful.autonomy_timers',
    due: 'fire_at',
    live: [`status = 'pending'`],
    next: 'fire_at',
    stands: `status = 'pending'`,
    name: 't.timer_id',
    columns: {
      ...own('id', 'session_key'),
      user_id: `split_part(t.session_key, ':', 1)`,
      agent: `split_part(t.session_key, ':', 2)`,
    },
  },
  alarm: {
    table: 'wakeful.alarms',
    due: 'due_at',
    live: [
      'due_at is not null and t.agent_id is not null',
      'due_at is not null and t.agent_id is null',
    ],
    next: 'next_fire_at',
    stands: `status = 'active' and t.parent_id is null`,
    name: `coalesce(nullif(t.label, ''), t.wake_message)`,
    columns: {
      ...own('id', 'user_id', 'timezone', 'anchor_at', 'attempt'),
      agent: 't.agent_id',
      cron: `nullif(t.cron_expr, '')`,
    },
  },
  intent: {
    table: 'wakeful.scheduled_intents',
    due: 'next_check',
    live: [
      'enabled = true and t.next_check is not null and t.agent_id is not null and t.in_flight is null',
      'enabled = true and t.next_check is not null and t.agent_id is null',
    ],
    next: 'next_check',
    stands: 'enabled = true',
    name: 't.intent_name',
    columns: {
      ...own('id', 'user_id', 'timezone', 'anchor_at', 'trigger_type', 'trigger_schedule'),
      ...own('trigger_condition', 'expires_at', 'max_executions', 'execution_count'),
      agent: 't.agent_id',
    },
  },
  work: {
    table: 'wakeful.work',
    due: 'next_run_at',
    live: ['is_active and t.in_flight is null'],
    next: 'next_run_at',
    stands: 'is_active',
    name: 't.task',
    columns: {
      ...own('id', 'user_id', 'timezone', 'anchor_at'),
      agent: 't.agent_type',
      cron: 't.frequency_cron',
    },
  },
}

function selected(kind: TriggerKind, at: string, name: string): string {
  const { columns } = FAMILIES[kind]
  const rest = Object.entries(COLUMNS).map(
    ([column, type]) =>
      `${columns[column as keyof typeof COLUMNS] ?? `null::${type}`} as ${column}`,
  )
  return `'${kind}' as kind, ${name} as name, t.${at} as at, ${rest.join(', ')}`
}

/** Rows that name their owner only in the session's key are one range of it: ';' is the character after ':'. */
const ownedBy = (kind: TriggerKind, bucket: string, user: string) =>
  kind === 'timer'
    ? `t.bucket = ${bucket} and t.session_key >= ${user} || ':' and t.session_key < ${user} || ';'`
    : `t.bucket = ${bucket} and t.user_id = ${user}`

export interface Window {
  /** Null: everybody's. */
  readonly userId: string | null
  /** Null: what is overdue, too. */
  readonly from: Date | null
  readonly to: Date
  readonly limit: number
}

/** Parameters: from, to, limit; then the owner's, where there is one. */
function dueRows(kind: TriggerKind, select: string, owned: boolean): string {
  const { table, due, live } = FAMILIES[kind]
  return live
    .map(
      (each) => `(select ${select} from ${table} t
        where t.${each} and t.${due} <= $2 and ($1::timestamptz is null or t.${due} >= $1)
          and ${owned ? ownedBy(kind, '$4', '$5') : 'true'} order by t.${due} limit $3)`,
    )
    .join(' union all ')
}

/** What is due in the window, and how many there are of it, up to `COUNTED_MAX`. */
export async function upcoming(
  db: Db,
  kind: TriggerKind,
  { userId, from, to, limit }: Window,
): Promise<{ rows: readonly Due[]; total: number }> {
  const owner = userId === null ? [] : [bucketOf(userId), userId]
  const { due, name } = FAMILIES[kind]
  const columns = selected(kind, due, `left(${name}, ${NAME_MAX})`)
  const rows = await db.query<Due>(
    `select * from (${dueRows(kind, columns, userId !== null)}) u order by at limit $3`,
    [from, to, limit, ...owner],
  )
  if (rows.length < limit) return { rows, total: rows.length }
  const [counted] = await db.query<{ total: number }>(
    `select count(*)::int as total from (${dueRows(kind, '1', userId !== null)}) u`,
    [from, to, COUNTED_MAX, ...owner],
  )
  return { rows, total: Math.min(COUNTED_MAX, counted?.total ?? rows.length) }
}

const OF_AGENT = `t.bucket = $1::smallint and t.user_id = $2::text and ($5::text is null or t.agent_id = $5)`
const STANDING_OF: Record<TriggerKind, string> = {
  // One in flight has begun.
  timer: `t.bucket = $1::smallint and t.session_key >= $3::text and t.session_key <= $4::text and coalesce(t.id <> (
    select s.in_flight from wakeful.sessions s where s.bucket = t.bucket and s.session_key = t.session_key), true)`,
  alarm: OF_AGENT,
  intent: OF_AGENT,
  work: 't.bucket = $1::smallint and t.user_id = $2::text',
}
// The order is said so that no index is in it: else the planner might walk through everybody's for the few of one person.
const STANDING = TRIGGER_KINDS.map((kind) => {
  const { table, next, stands, name } = FAMILIES[kind]
  return `(select ${selected(kind, next, name)} from ${table} t
    where ${STANDING_OF[kind]} and t.${stands} order by greatest(t.${next}, t.${next}) limit ${STANDING_MAX})`
}).join(' union all ')

/** What a person has ahead; with a session only its own timers and what wakes its agent, and all work. */
export async function standing(
  db: Db,
  userId: string,
  session: SessionRef | null = null,
): Promise<Standing[]> {
  const timers = session === null ? [`${userId}:`, `${userId};`] : [session.key, session.key]
  const values = [bucketOf(userId), userId, ...timers, session?.agentId ?? null]
  return db.query<Standing>(STANDING, values)
}

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
