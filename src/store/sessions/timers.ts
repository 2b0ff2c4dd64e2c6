/** Timers inside a session: set, cancel, promote. The session's row is the lock for all of it. */
import type { SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import {
  dueRows,
  type First,
  inMs,
  keyIs,
  NOW,
  nextDueMs,
  oneInOrder,
  TIMERS,
  takenOf,
} from '../db/due.ts'
import { statement } from '../db/statement.ts'
import { personOf } from '../people/people.ts'
import { type ClaimedTurn, ensureSession, type SessionLease, stateOf } from './sessions.ts'

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
 * A session that was held elsewhere at its first due timer and free again at a later one is left alone as a whole, since its
 * timers fire in the order of their instants; the next look finds all of them. One look-up by key for each session.
 * Event ids come from the process, one for each row at most.
 *
 * With a token, an idle session of an agent known here is leased on the way, as a claim would: its event and state come back with
 * it, and its row is written once instead of twice. One whose log is ahead already is only promoted.
 */
const promoting = (first: First) =>
  statement(
    { limit: 'int', eventIds: 'uuid[]', leaseMs: 'int?', token: 'uuid?', agentIds: 'text[]' },
    ({ limit, eventIds, leaseMs, token, agentIds }) => {
      const leases = `${token} is not null and s.done_seq = s.last_seq and s.agent_id = any(${agentIds})`
      const leased = (value: string, column: string) =>
        `${column} = case when ${leases} then ${value} else s.${column} end`
      const forTurn = (...columns: string[]) =>
        columns.map((column) => `case when f.leased then f.${column} end as ${column}`).join(', ')
      return `with due as materialized (
    ${dueRows(TIMERS, 't.bucket, t.session_key, t.timer_id, t.fire_at', limit, {
      join: `join wakeful.sessions s on ${keyIs('s.bucket', 't.bucket')} and ${keyIs('s.session_key', 't.session_key')}`,
      lock: 's',
      first,
    })}),
  ours as materialized (
    select d.bucket, d.session_key, unnest(d.timer_ids) as timer_id
    from (select bucket, session_key, min(fire_at) as first_at, array_agg(timer_id) as timer_ids
          from due group by bucket, session_key) d
    where (select true from wakeful.autonomy_timers e
           where e.bucket = d.bucket and e.session_key = d.session_key and e.status || '' = 'pending'
             and e.fire_at < d.first_at limit 1) is null),
  taken as (
    update wakeful.autonomy_timers t set status = 'promoted', updated_at = ${NOW}
    from ours d
    where ${keyIs('t.bucket', 'd.bucket')} and ${keyIs('t.session_key', 'd.session_key')} and t.timer_id = d.timer_id
      and t.status || '' = 'pending' and greatest(t.fire_at, ${NOW}) = ${NOW}
    returning t),
  -- Gathered into one array for each session, so that numbering needs no join of one CTE with another: the planner knows
  -- nothing of their sizes and would compare every row with every other. Sorted once, before: an order within the
  -- aggregate is a sort for each session.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total, due_at = coalesce(s.due_at, ${NOW}), updated_at = ${NOW},
        ${leased(inMs(leaseMs), 'leased_until')},
        ${leased(token, 'claim_token')},
        ${leased(NOW, 'claimed_at')}
    from (select k.bucket, k.session_key, count(*)::int as total, array_agg(k.t) as timers,
                 (sum(count(*)) over (rows unbounded preceding) - count(*))::int as before
          from (select t, (t).bucket, (t).session_key from taken
                order by (t).bucket, (t).session_key, (t).fire_at, (t).id) k
          group by k.bucket, k.session_key) h
    where ${keyIs('s.bucket', 'h.bucket')} and ${keyIs('s.session_key', 'h.session_key')}
    returning s.bucket, s.session_key, s.user_id, s.agent_id, s.thread_id, s.checkpoint_id, s.attempt, s.deaths, s.due_at,
      s.last_user_seq, s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to, s.last_seq - h.total as base, h.timers, h.before,
      -- Idle before, too: the same token may have leased it a moment ago, for the event that stands before these.
      coalesce(s.claim_token = ${token}, false) and s.last_seq - h.total = s.done_seq as leased),
  numbered as (
    select h.*, unnest(h.timers) as timer, generate_subscripts(h.timers, 1) as n from heads h),
  fires as materialized (
    select h.bucket, h.session_key, h.user_id, h.agent_id, h.thread_id, h.checkpoint_id, h.attempt, h.deaths,
      h.last_user_seq, h.consecutive_autonomous_msgs, h.last_autonomous_at, h.pushed_to, h.due_at as was_due_at, h.leased and h.n = 1 as leased, h.base + h.n as seq, (${eventIds})[h.before + h.n] as event_id,
      '{"timer_id":' || to_json((h.timer).timer_id)::text ||
        case when (h.timer).payload is null then '' else ',"payload":' || (h.timer).payload::text end || '}' as payload,
      (h.timer).id as trigger_id, (h.timer).fire_at as scheduled_for, (h.timer).traceparent
    from numbered h),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, created_at)
    select bucket, session_key, seq, event_id, 'timer', payload::json, trigger_id, scheduled_for, traceparent, ${NOW} from fires)
  select n.seen, n.next_ms, f.bucket, f.session_key, f.leased, f.trigger_id, f.scheduled_for, f.traceparent,
    extract(epoch from ${NOW} - f.scheduled_for)::float8 * 1000 as lateness_ms, 'timer' as type, f.seq, f.attempt, f.deaths,
    f.last_user_seq, f.consecutive_autonomous_msgs, f.last_autonomous_at,
    ${forTurn('user_id', 'agent_id', 'thread_id', 'checkpoint_id', 'was_due_at', 'event_id', 'payload', 'pushed_to')},
    case when f.leased then ${NOW} end as now, case when f.leased then ${NOW} end as event_created_at,
    case when f.leased then ${stateOf('f')} end as state, case when f.leased then ${personOf('f')} end as person
  from (select (select count(*)::int from due) as seen, ${nextDueMs(TIMERS)} as next_ms) n left join fires f on true`
    },
  )

const PROMOTE: Record<First, ReturnType<typeof promoting>> = {
  oldest: promoting('oldest'),
  newest: promoting('newest'),
}

/** A timer that has become an event. */
export interface Fire {
  readonly bucket: number
  readonly session_key: string
  readonly trigger_id: string
  readonly scheduled_for: Date
  readonly lateness_ms: number
  readonly traceparent: string | null
}

export interface Promoted {
  readonly seen: number
  readonly promoted: number
  readonly fires: readonly Fire[]
  /** The turns over those whose sessions were leased on the way. */
  readonly turns: readonly ClaimedTurn[]
  readonly next_ms: number | null
}

type PromotedTimer = Fire &
  ClaimedTurn & {
    readonly seen: number
    readonly next_ms: number | null
    readonly trigger_id: string
    readonly scheduled_for: Date
    /** All of `ClaimedTurn` is there only then. */
    readonly leased: boolean
  }

const NO_LEASE = { leaseMs: null, token: null, agentIds: [] }

/** As many as there are ids for their events. */
export async function promoteTimers(
  db: Db,
  eventIds: readonly string[],
  lease: SessionLease | null = null,
  first: First = 'oldest',
): Promise<Promoted> {
  const { leaseMs, token, agentIds } = lease ?? NO_LEASE
  const promote = PROMOTE[first]
  const values = promote.values(db, { limit: eventIds.length, eventIds, leaseMs, token, agentIds })
  const answer = await oneInOrder<PromotedTimer>(db, promote.text, values)
  const { taken: fires, nextMs } = takenOf<PromotedTimer>(answer)
  return {
    seen: answer[0]?.seen ?? 0,
    promoted: fires.length,
    fires,
    turns: lease === null ? [] : fires.filter((fire) => fire.leased),
    next_ms: nextMs,
  }
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
    values (${t.bucket}, ${t.key}, ${t.id}, ${t.timerId}, coalesce(${t.fireAt}, ${inMs(t.delayMs)}),
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
