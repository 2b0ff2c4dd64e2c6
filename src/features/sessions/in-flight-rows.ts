/**
 * Timers that become events. A timer whose turn runs before its event exists is in flight: its session names it. Code that changes the
 * log or the timers of a session locks it and calls `bindInFlight` first, so that events keep the order in which their turns began.
 */
import type { Db } from '../../store/db.ts'
import { eqByKey, lockOrder, NOW } from '../../store/due.ts'
import { type List, rows, statement } from '../../store/statement.ts'

export interface SessionKey {
  readonly bucket: number
  readonly key: string
}

/** A timer that became an event. */
export interface TimerEvent {
  readonly bucket: number
  readonly session_key: string
  readonly seq: number
  readonly trigger_id: string
  readonly scheduled_for: Date
  readonly created_at: Date
  readonly traceparent: string | null
}

/** What the event of a timer says. */
export const timerPayload = (t: string) => `('{"timer_id":' || to_json(${t}.timer_id)::text ||
  case when ${t}.payload is null then '' else ',"payload":' || ${t}.payload::text end || '}')::json`

const LOCKED = rows({ bucket: 'smallint', key: 'text', timerId: 'text', id: 'uuid' })
const NAMED = rows({ bucket: 'smallint', key: 'text' })

/**
 * Makes events of timers, in the order of their instants, without an outcome. The sessions are locked. The event has the id of
 * the timer. `inFlight`: the event was made when the turn began.
 */
function timerEvents<S>(list: List<S>, inFlight: boolean) {
  return statement(
    { i: list },
    ({ i }) => `with taken as (
    delete from wakeful.autonomy_timers t
    using ${i} ${inFlight ? `join wakeful.sessions f on ${eqByKey('f.bucket', 'i.bucket')} and f.session_key = i.key` : ''}
    where ${eqByKey('t.bucket', 'i.bucket')} and t.session_key = i.key and t.status || '' = 'pending'
      and ${inFlight ? 't.id = f.in_flight' : `t.timer_id = i.timer_id and t.id = i.id and greatest(t.fire_at, ${NOW}) = ${NOW}`}
    returning t),
  -- Gathered into one array for each session, so that numbering needs no join of one CTE with another: the planner knows
  -- nothing of their sizes and would compare every row with every other.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + cardinality(h.timers), due_at = coalesce(s.due_at, ${NOW}), updated_at = ${NOW}
      ${inFlight ? ', in_flight = null' : ''}
    from (select array_agg(k.t) as timers from (select t from taken order by (t).bucket, (t).session_key, (t).fire_at, (t).id) k
          group by (k.t).bucket, (k.t).session_key) h
    where ${eqByKey('s.bucket', '(h.timers[1]).bucket')} and s.session_key = (h.timers[1]).session_key
    returning s.last_seq - cardinality(h.timers) as base, h.timers, ${inFlight ? 's.claimed_at' : NOW} as at),
  numbered as (select h.base, h.at, unnest(h.timers) as t, generate_subscripts(h.timers, 1) as n from heads h),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select (t).bucket, (t).session_key, base + n, (t).id, 'timer', ${timerPayload('(t)')}, (t).id, (t).fire_at,
      (t).traceparent, (t).lineage, at from numbered
    returning bucket, session_key, seq, trigger_id, scheduled_for, created_at, traceparent)
  select * from added order by bucket, session_key, seq`,
  )
}

const PROMOTE = timerEvents(LOCKED, false)
const BIND = timerEvents(NAMED, true)

/** Promotes these due timers, as far as they are pending and due. Their sessions are locked and have nothing in flight. */
export async function promoteLocked(
  tx: Db,
  timers: readonly {
    readonly bucket: number
    readonly key: string
    readonly timerId: string
    readonly id: string
  }[],
): Promise<TimerEvent[]> {
  return timers.length === 0 ? [] : PROMOTE.run<TimerEvent>(tx, { i: timers })
}

/** Makes the events of what is in flight in these sessions, which are locked. Does nothing for the others. */
export async function bindInFlight(tx: Db, sessions: readonly SessionKey[]): Promise<TimerEvent[]> {
  return sessions.length === 0 ? [] : BIND.run<TimerEvent>(tx, { i: sessions })
}

const LOCK = statement(
  { i: NAMED },
  ({ i }) => `select s.bucket, s.session_key as key from ${i}
    join wakeful.sessions s on ${eqByKey('s.bucket', 'i.bucket')} and s.session_key = i.key
    where s.in_flight is not null ${lockOrder('s', 'session_key')} for update of s`,
)

/** The same for sessions that nobody has locked yet. */
export async function lockAndBind(tx: Db, sessions: readonly SessionKey[]): Promise<TimerEvent[]> {
  return bindInFlight(tx, await LOCK.run<SessionKey>(tx, { i: sessions }))
}
