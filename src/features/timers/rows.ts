/** Timers inside a session: set, cancel, lease, promote. The session's row is the lock for all of it. */
import { madeAt } from '../../core/ids.ts'
import type { SessionRef } from '../../core/session.ts'
import { type Db, isLockTimeout } from '../../store/db.ts'
import {
  claimTx,
  dueList,
  eqByKey,
  type First,
  ifFree,
  inMs,
  LEASE,
  lockOrder,
  NOW,
  nextDueMs,
  TIMERS,
} from '../../store/due.ts'
import { LOCAL } from '../../store/reading.ts'
import { statement } from '../../store/statement.ts'
import { personOf } from '../people/rows.ts'
import { bindInFlight, promoteLocked, type TimerEvent } from '../sessions/in-flight-rows.ts'
import {
  type ClaimedTurn,
  ensureSession,
  lockForTimers,
  type SessionLease,
  stateOf,
} from '../sessions/rows.ts'

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

/** In flight under a lease that has not ended. */
const CLAIMED = `select unnest(l.ids) from wakeful.leases l where l.ends_at > ${NOW}`

/**
 * Leases the sessions of due timers for turns whose events do not exist yet: nothing else is written. The statement takes the first
 * due timer of each session that is idle, and only where the session is as its snapshot shows it: everything that changes a session's
 * log or timers writes the session's row, so the place of the row changes with it. Sessions are written in the order of their keys.
 * From the newest end a session is left out where one of its timers is older than those listed.
 */
const claiming = (first: First, leases: boolean) =>
  statement(
    { ...LEASE, agentIds: 'text[]', notUserIds: 'text[]' },
    ({ limit, leaseMs, token, agentIds, notUserIds }) => `with due as materialized (
    ${dueList(TIMERS, 't.ctid as place, t.*', limit, { first, where: `t.id not in (${CLAIMED})` })}),
  idle as materialized (
    select distinct on (d.bucket + 0, d.session_key) s.ctid as head, d.place, d.id, d.timer_id, d.fire_at, d.payload, d.traceparent, d.lineage,
      ${stateOf('s')} as state, ${personOf('s')} as person
    from due d join wakeful.sessions s on ${eqByKey('s.bucket', 'd.bucket')} and s.session_key = d.session_key
    where s.last_seq = s.done_seq and s.claim_token is null and s.agent_id = any(${agentIds}) and s.user_id <> all(${notUserIds})
      ${
        first === 'oldest'
          ? ''
          : `and (select true from wakeful.autonomy_timers e where e.bucket = d.bucket and e.session_key = d.session_key
              and e.status || '' = 'pending' and e.fire_at < d.fire_at limit 1) is null`
      }
    order by d.bucket + 0, d.session_key, d.fire_at, d.id),
  heads as (
    update wakeful.sessions s
    set claim_token = ${token}, claimed_at = ${NOW}, leased_until = ${inMs(leaseMs)}, in_flight = i.id
    from idle i where s.ctid = i.head
    returning s.ctid as head, s.bucket, s.session_key, s.last_seq, s.last_user_seq, s.consecutive_autonomous_msgs,
      s.last_autonomous_at, s.checkpoint_id, s.pushed_to, i.place, i.id, i.timer_id, i.fire_at, i.payload, i.traceparent, i.lineage, i.state, i.person),
  kept as (
    insert into wakeful.leases (token, ends_at, ids) select ${token}, ${inMs(leaseMs)}, array_agg(id) from heads having count(*) > 0
    on conflict (token) do update set ids = leases.ids || excluded.ids)
  select n.seen, n.next_ms, ${NOW} as now, h.*
  from (select (select count(*)::int from due) as seen, ${nextClaimMs(leases)} as next_ms) n left join heads h on true`,
  )

/** A test clock does not poll: it is told when leases end. */
const nextClaimMs = (leases: boolean) =>
  leases
    ? `least(${nextDueMs(TIMERS)}, (select extract(epoch from min(l.ends_at) - ${NOW})::float8 * 1000 from wakeful.leases l where l.ends_at > ${NOW}))`
    : nextDueMs(TIMERS)

const CLAIM = { oldest: claiming('oldest', false), newest: claiming('newest', false) }
const CLAIM_BY_CLOCK = { oldest: claiming('oldest', true), newest: claiming('newest', true) }

type ClaimRow = Pick<
  ClaimedTurn,
  | 'last_user_seq'
  | 'consecutive_autonomous_msgs'
  | 'last_autonomous_at'
  | 'checkpoint_id'
  | 'pushed_to'
  | 'traceparent'
  | 'lineage'
  | 'state'
  | 'person'
  | 'now'
> & {
  readonly seen: number
  readonly next_ms: number | null
  readonly bucket: number
  /** Null where nothing was claimed. */
  readonly session_key: string | null
  readonly last_seq: number
  readonly head: string
  readonly place: string
  readonly id: string
  readonly timer_id: string
  readonly fire_at: Date
  readonly payload: string | null
}

export interface ClaimedTimers {
  /** How many were listed; those that were not claimed are in sessions that are not idle, or that somebody else has just changed. */
  readonly seen: number
  readonly turns: readonly ClaimedTurn[]
  readonly nextMs: number | null
}

export async function claimTimers(
  db: Db,
  limit: number,
  { token, leaseMs, agentIds, notUserIds = [] }: SessionLease,
  first: First = 'oldest',
): Promise<ClaimedTimers> {
  const claim = (db.now() === null ? CLAIM : CLAIM_BY_CLOCK)[first]
  const given = { limit, leaseMs, token, agentIds, notUserIds }
  const rows = await claimAlone(db, (tx) => claim.run<ClaimRow>(tx, given))
  const turns = rows.flatMap((row) =>
    row.session_key === null ? [] : turnOf(row, row.session_key),
  )
  return { seen: rows[0]?.seen ?? limit, turns, nextMs: rows[0]?.next_ms ?? null }
}

/** How long a claim waits for somebody who has locked one of its sessions. */
const LOCK_TIMEOUT_MS = 250

/**
 * Claims of one schema take turns, so that each sees the leases of those before it. A claim that would wait for a lock for long finds
 * nothing: promotion leaves the locked session out.
 */
async function claimAlone(db: Db, claim: (tx: Db) => Promise<ClaimRow[]>): Promise<ClaimRow[]> {
  if (db.kind === 'pglite') return claimTx(db, claim)
  const first = `set local lock_timeout = ${LOCK_TIMEOUT_MS}; select pg_advisory_xact_lock(hashtextextended('claims of ${db.schema}', 0))`
  try {
    return await db.tx(claim, {
      first: db.reading === undefined ? `${LOCAL['no wait']}; ${first}` : first,
    })
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return []
  }
}

/** As a claim of its event would have brought it. */
function turnOf(row: ClaimRow, session_key: string): ClaimedTurn {
  const [user_id = '', agent_id = '', thread_id = ''] = session_key.split(':')
  const { id, payload } = row
  return {
    bucket: row.bucket,
    session_key,
    user_id,
    agent_id,
    thread_id,
    checkpoint_id: row.checkpoint_id,
    attempt: 0,
    deaths: 0,
    was_due_at: row.now,
    event_id: id,
    seq: row.last_seq + 1,
    type: 'timer',
    payload: `{"timer_id":${JSON.stringify(row.timer_id)}${payload === null ? '' : `,"payload":${payload}`}}`,
    event_created_at: row.now,
    trigger_id: id,
    scheduled_for: row.fire_at,
    traceparent: row.traceparent,
    lineage: row.lineage,
    state: row.state,
    person: row.person,
    last_user_seq: row.last_user_seq,
    consecutive_autonomous_msgs: row.consecutive_autonomous_msgs,
    last_autonomous_at: row.last_autonomous_at,
    pushed_to: row.pushed_to,
    last_seq: row.last_seq,
    inFlight: { place: row.place, head: row.head },
    now: row.now,
  }
}

const LISTED = statement(
  { limit: 'int' },
  ({ limit }) => `with ended as (delete from wakeful.leases where ends_at <= ${NOW}),
  due as materialized (
    ${dueList(TIMERS, 't.bucket, t.session_key, t.timer_id, t.id', limit, { where: `t.id not in (${CLAIMED})` })}),
  free as materialized (
    select l.* from (select s.bucket, s.session_key, s.in_flight is not null as in_flight
      from (select distinct bucket, session_key from due) d
      join wakeful.sessions s on ${eqByKey('s.bucket', 'd.bucket')} and s.session_key = d.session_key
      ${lockOrder('s', 'session_key')} ${ifFree('s')}) l)
  select n.seen, n.next_ms, d.bucket, d.session_key as key, d.timer_id as "timerId", d.id, d.in_flight
  from (select (select count(*)::int from due) as seen, ${nextDueMs(TIMERS)} as next_ms) n
  left join (select d.*, f.in_flight from free f join due d on d.bucket = f.bucket and d.session_key = f.session_key) d on true`,
)

interface ListedRow {
  readonly seen: number
  readonly next_ms: number | null
  readonly bucket: number | null
  readonly key: string
  readonly timerId: string
  readonly id: string
  readonly in_flight: boolean
}

export interface Promoted {
  readonly seen: number
  readonly events: readonly TimerEvent[]
  readonly nextMs: number | null
}

/** Makes events of due timers whose turns cannot begin at once. Sessions that another transaction holds are left for the next look. */
export async function promoteTimers(db: Db, limit: number): Promise<Promoted> {
  return claimTx(db, async (tx) => {
    const rows = await LISTED.run<ListedRow>(tx, { limit })
    const timers = rows.flatMap(({ bucket, ...row }) => (bucket === null ? [] : { ...row, bucket }))
    const bound = await bindInFlight(
      tx,
      timers.filter((timer) => timer.in_flight),
    )
    // Those that are listed were left behind by a process that died.
    const listed = new Set(timers.map(({ id }) => id))
    const left = bound.filter(({ trigger_id }) => listed.has(trigger_id))
    const events = [...left, ...(await promoteLocked(tx, timers))]
    return { seen: rows[0]?.seen ?? 0, events, nextMs: rows[0]?.next_ms ?? null }
  })
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
    lineage: 'text?',
  },
  (t) => `insert into wakeful.autonomy_timers
      (bucket, session_key, id, timer_id, fire_at, payload, status, traceparent, lineage, created_at, updated_at)
    values (${t.bucket}, ${t.key}, ${t.id}, ${t.timerId}, coalesce(${t.fireAt}, ${inMs(t.delayMs)}),
      ${t.payload}, 'pending', ${t.traceparent}, ${t.lineage}, ${NOW}, ${NOW})
    on conflict (bucket, session_key, timer_id) do update
      set id = excluded.id, fire_at = excluded.fire_at, payload = excluded.payload, status = 'pending',
          traceparent = excluded.traceparent, lineage = excluded.lineage, updated_at = excluded.updated_at
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
    lineage?: string | null
  },
): Promise<TimerRow> {
  const { bucket, key } = session
  return db.tx(async (tx) => {
    await ensureSession(tx, session)
    const given = {
      bucket,
      key,
      ...timer,
      traceparent: timer.traceparent ?? null,
      lineage: timer.lineage ?? null,
    }
    const [row] = await PUT.run<TimerRow>(tx, given)
    if (row === undefined) throw new Error('the timer was not written')
    return row
  })
}

/** Cancels a pending timer; null when none is pending under that id, as when its turn has begun. */
export async function cancelTimer(
  db: Db,
  session: SessionRef,
  timerId: string,
): Promise<TimerRow | null> {
  return db.tx(async (tx) => {
    if (!(await lockForTimers(tx, session))) return null
    const [row] = await tx.query<TimerRow>(
      `update wakeful.autonomy_timers set status = 'cancelled', updated_at = ${NOW}
       where bucket = $2 and session_key = $3 and timer_id = $4 and status = 'pending'
       returning ${COLUMNS}`,
      [tx.now(), session.bucket, session.key, timerId],
    )
    return row ?? null
  })
}

const LIST = `select ${COLUMNS} from wakeful.autonomy_timers
  where bucket = $1 and session_key = $2 and status = $3 order by fire_at, timer_id limit 1000`
/** A promoted timer is its event. When it was set stands in its id. */
const LIST_PROMOTED = `select trigger_id as id, session_key, payload ->> 'timer_id' as timer_id, scheduled_for as fire_at,
    payload -> 'payload' as payload, 'promoted' as status, created_at, created_at as updated_at
  from wakeful.events
  where bucket = $1 and session_key = $2 and type = 'timer' and scheduled_for is not null order by seq desc limit 1000`

export async function listTimers(
  db: Db,
  session: SessionRef,
  status: TimerRow['status'],
): Promise<TimerRow[]> {
  const place = [session.bucket, session.key]
  if (status !== 'promoted') return db.query<TimerRow>(LIST, [...place, status])
  const rows = await db.query<TimerRow>(LIST_PROMOTED, place)
  return rows.map((row) => {
    const madeMs = madeAt(row.id)?.getTime() ?? Number.POSITIVE_INFINITY
    return { ...row, created_at: new Date(Math.min(madeMs, row.updated_at.getTime())) }
  })
}
