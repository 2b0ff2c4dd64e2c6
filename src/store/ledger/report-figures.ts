/**
 * What happened to one person in a span of time, for the report: every event nobody typed, with its turn, its
 * verdicts and its messages; what waits; what runs of work became. All reads are by keys of that person and
 * bounded; a bound that was reached is told, never hidden.
 */
import { bucketOf, EFFECTS_PER_TURN_MAX, type EventType } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'

/** Small pages: the embedded store holds up the whole process while a statement runs. */
const SESSIONS_PER_PAGE = 100
const ROWS_PER_PAGE = 2_000
export const HAPPENINGS_MAX = 20_000
/** So far back into one session's log; its newest are read first. */
const SEQS_PER_SESSION = 5_000
const LIST_MAX = 500

export interface Span {
  readonly userId: string
  readonly from: Date
  readonly to: Date
}

/** One event that nobody typed, and what came of it. */
export interface Happening {
  readonly session_key: string
  readonly seq: number
  readonly type: EventType
  readonly trigger_id: string | null
  /** Of a timer, which has no id of its own in the log. */
  readonly timer_id: string | null
  readonly created_at: Date
  /** Null while it waits for its turn. */
  readonly status: 'committed' | 'failed' | 'retrying' | null
  readonly error: string | null
  /** JSON text: `[{allowed, rule, …}]` */
  readonly verdicts: string
  readonly delivered: number
  readonly undelivered: number
  readonly lost: number
}

const SESSIONS = `select session_key, last_seq from wakeful.sessions
  where bucket = $1 and session_key > $2 and session_key < $3 and updated_at >= $4::timestamptz
  order by session_key limit ${SESSIONS_PER_PAGE}`

const HAPPENINGS = `select e.*, t.status, t.error, coalesce(t.verdicts, '[]'::json) as verdicts,
    coalesce(f.delivered, 0) as delivered, coalesce(f.undelivered, 0) as undelivered, coalesce(f.lost, 0) as lost
  from (
    select e.* from unnest($2::text[], $3::int[]) s(session_key, last_seq)
    cross join lateral (
      select e.session_key, e.seq, e.type, e.trigger_id, case when e.type = 'timer' then e.payload ->> 'timer_id' end as timer_id, e.created_at
      from wakeful.events e
      where e.bucket = $1 and e.session_key = s.session_key and e.seq > s.last_seq - ${SEQS_PER_SESSION}
        and e.type in ('timer', 'alarm', 'intent', 'work')
        and e.created_at >= $4::timestamptz and e.created_at <= $5::timestamptz
      order by e.seq desc) e
    limit ${ROWS_PER_PAGE}) e
  left join lateral (
    select t.status, t.error, t.verdicts from wakeful.turns t
    where t.bucket = $1 and t.session_key = e.session_key and t.event_seq = e.seq
    order by t.attempt desc limit 1) t on true
  left join lateral (
    select (count(*) filter (where f.status = 'completed'))::int as delivered,
           (count(*) filter (where f.status in ('pending', 'executing')))::int as undelivered,
           (count(*) filter (where f.status = 'failed'))::int as lost
    from wakeful.effects f
    where f.bucket = $1 and f.session_key = e.session_key and f.type = 'send_message'
      and f.position >= e.seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (e.seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX}) f on true`

/** Session by session; `cut` when there was more than is read. */
export async function happenings(
  db: Db,
  span: Span,
  signal: AbortSignal,
): Promise<{ rows: Happening[]; cut: boolean }> {
  const bucket = bucketOf(span.userId)
  const rows: Happening[] = []
  let cut = false
  for (let after = `${span.userId}:`; ; ) {
    signal.throwIfAborted()
    const sessions = await db.query<{ session_key: string; last_seq: number }>(SESSIONS, [
      bucket,
      after,
      `${span.userId};`,
      span.from,
    ])
    const last = sessions.at(-1)
    if (last === undefined) break
    const found = await db.query<Happening>(HAPPENINGS, [
      bucket,
      sessions.map((session) => session.session_key),
      sessions.map((session) => session.last_seq),
      span.from,
      span.to,
    ])
    rows.push(...found)
    cut ||= found.length >= ROWS_PER_PAGE
    if (rows.length >= HAPPENINGS_MAX) return { rows: rows.slice(0, HAPPENINGS_MAX), cut: true }
    if (sessions.length < SESSIONS_PER_PAGE) break
    after = last.session_key
  }
  return { rows, cut }
}

/** How checks of intents ended; quiet ones are counted in one row. */
export interface CheckFigure {
  readonly status: 'success' | 'failed' | 'gate_blocked' | 'condition_not_met'
  readonly name: string | null
  readonly checks: number
  readonly error: string | null
}

export async function intentChecks(db: Db, span: Span): Promise<CheckFigure[]> {
  return db.query<CheckFigure>(
    `select x.status, i.intent_name as name, sum(x.repeats)::int as checks, max(left(x.error_message, 300)) as error
     from (select * from wakeful.intent_executions
           where user_id = $1 and executed_at >= $2::timestamptz and executed_at <= $3::timestamptz
           order by executed_at desc limit ${HAPPENINGS_MAX}) x
     left join wakeful.scheduled_intents i on i.bucket = x.bucket and i.id = x.intent_id
     group by x.status, i.intent_name order by checks desc, name limit ${LIST_MAX}`,
    [span.userId, span.from, span.to],
  )
}

export interface OutputFigure {
  readonly work_id: string
  readonly task: string
  readonly run_number: number
  readonly title: string | null
  readonly status: 'pending' | 'running' | 'completed' | 'failed'
  readonly error_message: string | null
  readonly created_at: Date
}

/** Runs of the newest works, newest run first. */
export async function workRuns(db: Db, span: Span): Promise<OutputFigure[]> {
  return db.query<OutputFigure>(
    `select o.work_id, left(w.task, 200) as task, o.run_number, left(o.title, 200) as title, o.status,
       left(o.error_message, 300) as error_message, o.created_at
     from (select bucket, id, task from wakeful.work where bucket = $1 and user_id = $2
           order by created_at desc, id desc limit ${LIST_MAX}) w
     cross join lateral (
       select * from wakeful.work_outputs o where o.bucket = w.bucket and o.work_id = w.id
       order by o.run_number desc limit ${LIST_MAX}) o
     where o.created_at >= $3::timestamptz and o.created_at <= $4::timestamptz
     order by o.created_at desc, o.run_number desc limit ${HAPPENINGS_MAX}`,
    [bucketOf(span.userId), span.userId, span.from, span.to],
  )
}

export interface TriggerName {
  readonly id: string
  readonly name: string
}

/** What the triggers are called that still exist. */
export async function triggerNames(
  db: Db,
  userId: string,
  ids: readonly string[],
): Promise<TriggerName[]> {
  if (ids.length === 0) return []
  return db.query<TriggerName>(
    `select id, left(case when label <> '' then label else wake_message end, 200) as name from wakeful.alarms
       where bucket = $1 and id = any($3::uuid[]) and user_id = $2
     union all
     select id, left(intent_name, 200) from wakeful.scheduled_intents
       where bucket = $1 and id = any($3::uuid[]) and user_id = $2
     union all
     select id, left(task, 200) from wakeful.work
       where bucket = $1 and id = any($3::uuid[]) and user_id = $2`,
    [bucketOf(userId), userId, ids.slice(0, LIST_MAX)],
  )
}

export interface Upcoming {
  readonly kind: 'alarm' | 'timer' | 'intent' | 'work'
  readonly name: string
  readonly due_at: Date
}

/** What comes next, soonest first, of all four triggers. */
export async function upcoming(db: Db, userId: string, limit: number): Promise<Upcoming[]> {
  return db.query<Upcoming>(
    `(select 'alarm' as kind, left(case when label <> '' then label else wake_message end, 200) as name, next_fire_at as due_at
      from wakeful.alarms where bucket = $1 and user_id = $2 and status = 'active' and parent_id is null
      order by next_fire_at limit $3)
     union all
     (select 'timer', timer_id, fire_at from wakeful.autonomy_timers
      where bucket = $1 and session_key > $2 || ':' and session_key < $2 || ';' and status = 'pending'
      order by fire_at limit $3)
     union all
     (select 'intent', left(intent_name, 200), next_check from wakeful.scheduled_intents
      where user_id = $2 and enabled = true and next_check is not null and trigger_type in ('cron', 'interval', 'once')
      order by next_check limit $3)
     union all
     (select 'work', left(task, 200), next_run_at from wakeful.work
      where bucket = $1 and user_id = $2 and is_active order by next_run_at limit $3)
     order by due_at, kind, name limit $3`,
    [bucketOf(userId), userId, limit],
  )
}

export interface TroubledAlarm {
  readonly name: string
  readonly status: 'active' | 'fired' | 'cancelled' | 'failed'
  readonly failure_count: number
  readonly last_error: string
}

/** Alarms that failed or are being tried again; those delivered by a call have no turns to tell of it. */
export async function troubledAlarms(db: Db, span: Span): Promise<TroubledAlarm[]> {
  return db.query<TroubledAlarm>(
    `select left(case when label <> '' then label else wake_message end, 200) as name, status, failure_count,
       left(last_error, 300) as last_error
     from wakeful.alarms
     where bucket = $1 and user_id = $2 and last_error <> '' and updated_at >= $3::timestamptz and updated_at <= $4::timestamptz
     order by updated_at desc limit 50`,
    [bucketOf(span.userId), span.userId, span.from, span.to],
  )
}

/** The database's time: where the report ends. */
export async function reportTime(db: Db): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(`select ${NOW} as now`, [db.now()])
  if (row === undefined) throw new Error('the database did not tell the time')
  return row.now
}
