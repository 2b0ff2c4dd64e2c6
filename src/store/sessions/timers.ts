/** Timers inside a session: set, cancel, promote. The session's row is the lock for all of it. */
import type { SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { dueRows, keyIs, NOW, nextDueMs, oneInOrder, TIMERS } from '../db/due.ts'
import { statement } from '../db/statement.ts'
import { ensureSession } from './sessions.ts'

export interface TimerRow {
  readonly id: string
  readonly session_key: string
  readonly timer_id: string
  readonly fire_at: Date
  readonly payload: string | null
  readonly status: 'pending' | 'promoted' | 'cancelled'
  readonly created_at: Date
  readonly updated_at: Date
}

const COLUMNS = 'id, session_key, timer_id, fire_at, payload, status, created_at, updated_at'

/**
 * Promotes due timers to events, all in one statement: numbers are taken from the session
 * rows, which are locked first (another process's sessions are skipped), the timers are marked, and
 * an idle session becomes due. A timer cancelled since the snapshot fails the re-check of its status.
 * That re-check is written so that no index fits it: analysed while nothing was pending, the planner would look
 * for each timer by walking through all that are due (seen: 2.8 ms a timer instead of 0.06).
 * Event ids come from the process, one for each row at most.
 */
const PROMOTE = statement(
  { limit: 'int', eventIds: 'uuid[]' },
  ({ limit, eventIds }) => `with due as materialized (
    ${dueRows(TIMERS, 't.bucket, t.session_key, t.timer_id, t.fire_at', limit, {
      join: `join wakeful.sessions s on ${keyIs('s.bucket', 't.bucket')} and ${keyIs('s.session_key', 't.session_key')}`,
      lock: 's',
    })}),
  taken as (
    update wakeful.autonomy_timers t set status = 'promoted', updated_at = ${NOW}
    from due d
    where ${keyIs('t.bucket', 'd.bucket')} and ${keyIs('t.session_key', 'd.session_key')} and t.timer_id = d.timer_id
      and t.status || '' = 'pending' and t.fire_at + interval '0' <= ${NOW}
    returning t.bucket, t.session_key, t.timer_id, t.fire_at, t.payload, t.id, t.traceparent),
  -- Gathered into arrays for each session, so that numbering needs no join of one CTE with another:
  -- the planner knows nothing of their sizes and would compare every row with every other.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total, due_at = coalesce(s.due_at, ${NOW}), updated_at = ${NOW}
    from (select bucket, session_key, count(*)::int as total, array_agg(ord order by fire_at, id) as ords,
                 array_agg(id order by fire_at, id) as ids, array_agg(timer_id order by fire_at, id) as timer_ids,
                 array_agg(fire_at order by fire_at, id) as fire_ats, array_agg(payload::text order by fire_at, id) as payloads,
                 array_agg(traceparent order by fire_at, id) as traces
          from (select *, row_number() over () as ord from taken) numbered group by bucket, session_key) h
    where ${keyIs('s.bucket', 'h.bucket')} and ${keyIs('s.session_key', 'h.session_key')}
    returning s.bucket, s.session_key, s.last_seq - h.total as base, h.ords, h.ids, h.timer_ids, h.fire_ats, h.payloads, h.traces),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, created_at)
    select h.bucket, h.session_key, h.base + m.n, (${eventIds})[m.ord], 'timer',
           ('{"timer_id":' || to_json(m.timer_id)::text ||
             case when m.payload is null then '' else ',"payload":' || m.payload end || '}')::json,
           m.id, m.fire_at, m.trace, ${NOW}
    from heads h cross join lateral unnest(h.ords, h.ids, h.timer_ids, h.fire_ats, h.payloads, h.traces)
      with ordinality m(ord, id, timer_id, fire_at, payload, trace, n)
    returning session_key, trigger_id, created_at, scheduled_for, traceparent)
  select (select count(*)::int from due) as seen, (select count(*)::int from added) as promoted,
         (select coalesce(array_agg(extract(epoch from created_at - scheduled_for)::float8 * 1000), '{}') from added) as lateness_ms,
         (select json_agg(json_build_array(traceparent, session_key, trigger_id, extract(epoch from scheduled_for) * 1000))
          from added where traceparent is not null) as traces,
         ${nextDueMs(TIMERS)} as next_ms`,
)

export interface Promoted {
  readonly seen: number
  readonly promoted: number
  /** Of each, in no order. */
  readonly lateness_ms: readonly number[]
  /** Of those set within a trace: a JSON list of it, the session, the timer's id, and when it was to fire (ms). */
  readonly traces: string | null
  readonly next_ms: number | null
}

/** As many as there are ids for their events. */
export async function promoteTimers(db: Db, eventIds: readonly string[]): Promise<Promoted> {
  const values = PROMOTE.values(db, { limit: eventIds.length, eventIds })
  const [row] = await oneInOrder<Promoted>(db, PROMOTE.text, values)
  if (row === undefined) throw new Error('promotion answered nothing')
  return row
}

const PUT = statement(
  {
    bucket: 'smallint',
    key: 'text',
    id: 'uuid',
    timerId: 'text',
    fireAt: 'timestamptz?',
    delayMs: 'float8?',
    payload: 'json?',
    traceparent: 'text?',
  },
  (t) => `insert into wakeful.autonomy_timers
      (bucket, session_key, id, timer_id, fire_at, payload, status, traceparent, created_at, updated_at)
    values (${t.bucket}, ${t.key}, ${t.id}, ${t.timerId}, coalesce(${t.fireAt}, ${NOW} + ${t.delayMs} * interval '1 millisecond'),
      ${t.payload}, 'pending', ${t.traceparent}, ${NOW}, ${NOW})
    on conflict (bucket, session_key, timer_id) do update
      set fire_at = excluded.fire_at, payload = excluded.payload, status = 'pending', traceparent = excluded.traceparent,
          updated_at = excluded.updated_at
    returning ${COLUMNS}`,
)

/** Sets or replaces a timer from outside a turn; pending again whatever it was. Makes the session if it is new. */
export async function putTimer(
  db: Db,
  session: SessionRef,
  timer: {
    id: string
    timerId: string
    fireAt: Date | null
    delayMs: number | null
    payload: string | null
    traceparent?: string | null
  },
): Promise<TimerRow> {
  const { bucket, key } = session
  return db.tx(async (tx) => {
    await ensureSession(tx, session)
    const given = { bucket, key, ...timer, traceparent: timer.traceparent ?? null }
    const [row] = await PUT.run<TimerRow>(tx, given)
    if (row === undefined) throw new Error('the timer was not written')
    return row
  })
}

/** Cancels a pending timer; null when none is pending under that id. */
export async function cancelTimer(
  db: Db,
  session: SessionRef,
  timerId: string,
): Promise<TimerRow | null> {
  const [row] = await db.query<TimerRow>(
    `update wakeful.autonomy_timers set status = 'cancelled', updated_at = ${NOW}
     where bucket = $2 and session_key = $3 and timer_id = $4 and status = 'pending'
     returning ${COLUMNS}`,
    [db.now(), session.bucket, session.key, timerId],
  )
  return row ?? null
}

export async function listTimers(
  db: Db,
  session: SessionRef,
  status: string | null,
): Promise<TimerRow[]> {
  return db.query<TimerRow>(
    `select ${COLUMNS} from wakeful.autonomy_timers
     where bucket = $1 and session_key = $2 and ($3::text is null or status = $3)
     order by fire_at, timer_id limit 1000`,
    [session.bucket, session.key, status],
  )
}
