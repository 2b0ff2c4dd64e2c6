/** Schedules of all kinds as rows of one list, soonest first. Those that wait for no time come after them, newest first. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, commitTx, NOW } from '../../store/due.ts'
import { SCHEDULE_KINDS, type ScheduleKind } from './plan.ts'
import type { ScheduleRow, ScheduleStatus } from './schedule.ts'

const COLUMNS = {
  bucket: 'smallint',
  id: 'uuid',
  name: 'text',
  title: 'text',
  user_id: 'text',
  agent_id: 'text',
  thread_id: 'text',
  status: 'text',
  next_at: 'timestamptz',
  last_at: 'timestamptz',
  last_outcome: 'text',
  note: 'text',
  data: 'json',
  timezone: 'text',
  follows_zone: 'boolean',
  fired_local: 'text',
  anchor_at: 'timestamptz',
  cron: 'text',
  once_at: 'timestamptz',
  priority: 'text',
  catch_up: 'text',
  catch_up_within_seconds: 'int',
  executor: 'text',
  trigger_type: 'text',
  trigger_schedule: 'json',
  trigger_condition: 'json',
  expires_at: 'timestamptz',
  max_executions: 'int',
  execution_count: 'int',
  paused_at: 'timestamptz',
} as const
type Column = keyof typeof COLUMNS

interface Family {
  readonly table: string
  /** What is listed at all. */
  readonly where: string
  /** With a time of its own ahead, and what says it. */
  readonly waits: string
  readonly due: string
  readonly columns: Partial<Record<Column, string>>
}

const own = (...names: Column[]) => Object.fromEntries(names.map((name) => [name, `t.${name}`]))
const part = (n: number) => `split_part(t.session_key, ':', ${n})`

const FAMILIES: Readonly<Record<ScheduleKind, Family>> = {
  timer: {
    table: 'wakeful.autonomy_timers',
    where: `t.status in ('pending', 'paused')`,
    waits: `t.status = 'pending'`,
    due: 't.fire_at',
    columns: {
      ...own('bucket', 'id'),
      name: 't.timer_id',
      title: 't.timer_id',
      user_id: part(1),
      agent_id: part(2),
      thread_id: part(3),
      status: `case when t.status = 'pending' then 'active' else 'paused' end`,
      note: `case when json_typeof(t.payload) = 'object' then t.payload ->> 'note' end`,
      data: `case when json_typeof(t.payload) = 'object' and t.payload ->> 'note' is not null then t.payload -> 'data' else t.payload end`,
      timezone: `'UTC'`,
      once_at: 't.fire_at',
    },
  },
  alarm: {
    table: 'wakeful.alarms',
    where: `t.status <> 'cancelled' and t.parent_id is null`,
    waits: 't.due_at is not null',
    due: 't.due_at',
    columns: {
      ...own(
        'bucket',
        'id',
        'name',
        'user_id',
        'agent_id',
        'timezone',
        'follows_zone',
        'fired_local',
        'anchor_at',
      ),
      ...own('priority', 'catch_up', 'catch_up_within_seconds', 'paused_at'),
      title: `coalesce(nullif(t.label, ''), t.wake_message)`,
      thread_id: `nullif(t.conversation_id, '')`,
      status: `case when t.status = 'fired' then 'done' else t.status end`,
      last_at: `case when t.status = 'failed' or t.failure_count > 0 then t.updated_at else t.last_fired_at end`,
      last_outcome: `case when t.status = 'failed' or t.failure_count > 0 then 'failed' when t.last_fired_at is not null then 'fired' end`,
      note: 't.wake_message',
      data: 't.payload',
      cron: `nullif(t.cron_expr, '')`,
      once_at: `case when t.kind = 'once' then t.fire_at end`,
    },
  },
  intent: {
    table: 'wakeful.scheduled_intents',
    where: 'true',
    waits: 't.enabled = true and t.next_check is not null',
    due: 't.next_check',
    columns: {
      ...own(
        'bucket',
        'id',
        'name',
        'user_id',
        'agent_id',
        'thread_id',
        'timezone',
        'follows_zone',
        'fired_local',
      ),
      ...own(
        'anchor_at',
        'catch_up',
        'catch_up_within_seconds',
        'trigger_type',
        'trigger_schedule',
      ),
      ...own('trigger_condition', 'expires_at', 'max_executions', 'execution_count', 'paused_at'),
      title: 't.intent_name',
      status: `case when t.enabled then 'active'
        when t.paused_at is not null and (t.expires_at is null or t.expires_at > ${NOW}) then 'paused'
        when t.last_execution_status = 'failed' then 'failed' else 'done' end`,
      last_at: 'coalesce(t.last_checked, t.last_executed)',
      last_outcome: `case when t.last_execution_status = 'success' then 'fired' else t.last_execution_status end`,
      note: 't.action_context',
      data: 't.metadata',
      priority: 't.action_priority',
    },
  },
  work: {
    table: 'wakeful.work',
    where: 'true',
    waits: 't.is_active',
    due: 't.next_run_at',
    columns: {
      ...own(
        'bucket',
        'id',
        'name',
        'user_id',
        'agent_id',
        'timezone',
        'follows_zone',
        'fired_local',
        'anchor_at',
      ),
      ...own('catch_up', 'catch_up_within_seconds', 'paused_at'),
      title: 't.task',
      thread_id: `nullif(split_part(coalesce(t.notify_session, ''), ':', 3), '')`,
      status: `case when t.is_active then 'active' when t.paused_at is not null then 'paused'
        when o.status in ('pending', 'running') then 'active' when o.status = 'failed' then 'failed' else 'done' end`,
      last_at: 't.last_run_at',
      last_outcome: 'o.status',
      note: 't.task',
      data: 't.parameters',
      cron: 't.frequency_cron',
      once_at: 'case when t.frequency_cron is null then t.anchor_at end',
      executor: 't.agent_type',
    },
  },
}
const LAST_OUTPUT = `left join lateral (select o.status from wakeful.work_outputs o
  where o.bucket = t.bucket and o.work_id = t.id order by o.run_number desc limit 1) o on true`

/** A time of day of an intent's condition is when it is looked at, and no time of its own. */
const TIMED = `t.trigger_type in ('cron', 'interval', 'once')`

function selected(kind: ScheduleKind, part: 'waiting' | 'rest'): string {
  const { table, due, columns } = FAMILIES[kind]
  const next = part === 'rest' ? 'null::timestamptz' : due
  const shown = kind === 'intent' ? `case when ${TIMED} then ${next} end` : next
  const all = Object.entries(COLUMNS).map(([column, type]) => {
    if (column === 'next_at') return `${shown} as next_at`
    return `${columns[column as Column] ?? (type === 'boolean' ? 'false' : `null::${type}`)} as ${column}`
  })
  const from = kind === 'work' ? `${table} t ${LAST_OUTPUT}` : `${table} t`
  return `select '${kind}' as kind, ${all.join(', ')} from ${from}`
}

export interface ScheduleQuery {
  /** Null: everybody's. */
  readonly userId: string | null
  readonly agentId?: string | undefined
  readonly kind?: ScheduleKind | undefined
  readonly status?: ScheduleStatus | undefined
  readonly name?: string | undefined
  readonly id?: string | undefined
  /** Occurs in name, title or note, in any case. */
  readonly q?: string | undefined
  readonly after?: readonly [string, string] | undefined
  readonly limit: number
}

/** Those that wait for a time stand before the others: `9999` sorts behind every instant. */
const LATER = '9999-12-31T23:59:59.999999Z'
const PLACE = `coalesce(to_char(u.next_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '${LATER}')`

export type PlacedRow = ScheduleRow & { readonly place: string }

/** Up to `limit`, in the order of `place` and id. */
export function listSchedules(db: Db, query: ScheduleQuery): Promise<PlacedRow[]> {
  const { userId, after, limit } = query
  const values: unknown[] = [db.now()]
  const bind = (value: unknown) => `$${values.push(value)}`
  const max = bind(limit)
  const owner =
    userId === null ? null : { bucket: bind(bucketOf(userId)), user: `${bind(userId)}::text` }
  const filters = filtersOf(query, bind)
  const behind =
    after === undefined
      ? 'true'
      : `(${PLACE}, u.id) > (${bind(after[0])}::text, ${bind(after[1])}::uuid)`
  const kinds = SCHEDULE_KINDS.filter((kind) => query.kind === undefined || kind === query.kind)
  const parts = kinds.flatMap((kind) =>
    (['waiting', 'rest'] as const).map((part) => {
      const { where, waits, due } = FAMILIES[kind]
      const timed = kind === 'intent' ? `${waits} and ${TIMED}` : waits
      const which = part === 'waiting' ? timed : `not coalesce(${timed}, false)`
      const text = `${selected(kind, part)} where ${where} and ${which} and ${ownedBy(kind, owner)}`
      const order = part === 'waiting' ? `order by ${due}, t.id` : 'order by t.id'
      // A filter or a cursor may leave out any of the first rows, so only a plain first page is cut before.
      const cut = filters.length === 0 && after === undefined ? ` ${order} limit ${max}` : ''
      return `(${text}${cut})`
    }),
  )
  const conditions = [behind, ...filters].join(' and ')
  const text = `select u.*, ${NOW} as now, ${PLACE} as place from (${parts.join(' union all ')}) u
    where ${conditions} order by place, u.id limit ${max}`
  // As the queries of what is ahead: everybody's in the order of the due indexes, one person's by key.
  const run = (tx: Db) => tx.query<PlacedRow>(text, values)
  return userId === null ? claimTx(db, run) : commitTx(db, run)
}

function filtersOf(query: ScheduleQuery, bind: (value: unknown) => string): string[] {
  const { agentId, status, name, id, q } = query
  const filters: string[] = []
  if (agentId !== undefined) filters.push(`u.agent_id = ${bind(agentId)}`)
  if (status !== undefined) filters.push(`u.status = ${bind(status)}`)
  if (name !== undefined) filters.push(`u.name = ${bind(name)}`)
  if (id !== undefined) filters.push(`u.id = ${bind(id)}::uuid`)
  if (q !== undefined)
    filters.push(
      `position(lower(${bind(q)}::text) in lower(concat_ws(' ', u.name, u.title, u.note))) > 0`,
    )
  return filters
}

/** Rows that name their owner only in the session's key are one range of it: ';' is the character after ':'. */
function ownedBy(kind: ScheduleKind, owner: { bucket: string; user: string } | null): string {
  if (owner === null) return 'true'
  const { bucket, user } = owner
  return kind === 'timer'
    ? `t.bucket = ${bucket} and t.session_key >= ${user} || ':' and t.session_key < ${user} || ';'`
    : `t.bucket = ${bucket} and t.user_id = ${user}`
}
