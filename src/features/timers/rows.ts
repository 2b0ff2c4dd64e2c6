/** Timers inside a session: set, cancel, promote. The session's row is the lock for all of it. */
import { madeAt } from '../../core/ids.ts'
import type { SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import {
  dueList,
  eqByKey,
  type First,
  ifFree,
  inMs,
  NOW,
  nextDueMs,
  oneInOrder,
  TIMERS,
} from '../../store/due.ts'
import { statement } from '../../store/statement.ts'
import { personOf } from '../people/rows.ts'
import {
  type ClaimedTurn,
  ensureSession,
  keepLeases,
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

/**
 * Promotes due timers to events, all in one statement: the first that are due are listed, their sessions locked (those that another
 * process holds are left alone, with all their timers: these fire in the order of their instants), the timers taken out (their events are
 * what is left of them: to mark them would be a new row and a new entry in their key's index), numbers taken from the session rows, and an
 * idle session becomes due. A timer cancelled since the snapshot fails the re-check of its status, which is written so that no index fits it.
 * Timers are found again by where they lie (on Citus, which refuses that, by their key); not their sessions, of which the newest version may
 * be one that this statement's snapshot does not show.
 * `reach`: how many are listed, more than `limit` where another process is known to hold some; rows beyond the limit are released.
 * From the newest end a session is taken only where none of its timers is older than those listed: one look-up by key for each.
 * Event ids come from the process, one for each row at most.
 *
 * With a token, an idle session of an agent known here is leased on the way, as a claim would: its event and state come back with
 * it, and its row is written once instead of twice. One whose log is ahead already is only promoted. `together`: where its process dies
 * it is found by the row of the whole batch (`leases.ts`) and not by `due_at`, which no index then hears of.
 */
const promoting = (first: First, { place, sessions, locked, theirs, found }: Way) =>
  statement(
    {
      limit: 'int',
      reach: 'int',
      eventIds: 'uuid[]',
      leaseMs: 'int?',
      token: 'uuid?',
      agentIds: 'text[]',
      notUserIds: 'text[]',
      together: 'boolean',
    },
    ({ limit, reach, eventIds, leaseMs, token, agentIds, notUserIds, together }) => {
      const leases = `${token} is not null and s.done_seq = s.last_seq and s.agent_id = any(${agentIds}) and s.user_id <> all(${notUserIds})`
      const leased = (value: string, column: string) =>
        `${column} = case when ${leases} then ${value} else s.${column} end`
      const firstOnes =
        first === 'oldest'
          ? 'true'
          : `(select true from wakeful.autonomy_timers e
              where e.bucket = d.bucket and e.session_key = d.session_key and e.status || '' = 'pending'
                and e.fire_at < d.first_at limit 1) is null`
      return `with due as materialized (
    ${dueList(TIMERS, `${place} as place, t.bucket, t.session_key, t.fire_at`, reach, { first })}),
  free as materialized (
    ${locked(`select ${sessions}
    from (select bucket, session_key, array_agg(place) as places, count(*) as total, min(fire_at) as first_at
          from due group by bucket, session_key) d
    join wakeful.sessions s on ${eqByKey('s.bucket', 'd.bucket')} and s.session_key = d.session_key
    where ${firstOnes} ${ifFree('s')}`)}),
  taken as (
    delete from wakeful.autonomy_timers t
    using (${theirs(limit)}) d
    where ${found} and t.status || '' = 'pending' and greatest(t.fire_at, ${NOW}) = ${NOW}
    returning t, d.head),
  -- Gathered into one array for each session, so that numbering needs no join of one CTE with another: the planner knows
  -- nothing of their sizes and would compare every row with every other. Sorted once, before: an order within the
  -- aggregate is a sort for each session.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total, updated_at = ${NOW},
        due_at = case when ${together} and ${leases} then s.due_at else coalesce(s.due_at, ${NOW}) end,
        ${leased(inMs(leaseMs), 'leased_until')},
        ${leased(token, 'claim_token')},
        ${leased(NOW, 'claimed_at')}
    from (select k.head, count(*)::int as total, array_agg(k.t) as timers,
                 (sum(count(*)) over (rows unbounded preceding) - count(*))::int as before
          from (select head, t from taken order by head, (t).fire_at, (t).id) k
          group by k.head) h
    where ${eqByKey('s.bucket', '(h.timers[1]).bucket')} and s.session_key = (h.timers[1]).session_key
    returning s.bucket, s.session_key, s.user_id, s.checkpoint_id, s.attempt, s.deaths,
      s.last_user_seq, s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to, s.last_seq - h.total as base, h.timers, h.before,
      -- Idle before, too: the same token may have leased it a moment ago, for the event that stands before these.
      coalesce(s.claim_token = ${token}, false) and s.last_seq - h.total = s.done_seq as leased),
  numbered as (
    select h.*, unnest(h.timers) as timer, generate_subscripts(h.timers, 1) as n from heads h),
  fires as materialized (
    select h.bucket, h.session_key, h.user_id, h.checkpoint_id, h.attempt, h.deaths, h.last_user_seq,
      h.consecutive_autonomous_msgs, h.last_autonomous_at, h.pushed_to, h.leased and h.n = 1 as leased, h.base + h.n as seq, h.before + h.n as place,
      '{"timer_id":' || to_json((h.timer).timer_id)::text ||
        case when (h.timer).payload is null then '' else ',"payload":' || (h.timer).payload::text end || '}' as payload,
      (h.timer).id as trigger_id, (h.timer).fire_at as scheduled_for, (h.timer).traceparent, (h.timer).lineage
    from numbered h),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, (${eventIds})[place], 'timer', payload::json, trigger_id, scheduled_for, traceparent, lineage, ${NOW} from fires),
  kept as (${keepLeases({ token, leaseMs, from: `heads where leased and ${together}` })})
  -- What is true of the whole batch stands in its first row alone, and what the process knows by itself in none.
  select case when f.place > 1 then null else n.seen end as seen, case when f.place > 1 then null else n.next_ms end as next_ms,
    case when f.place > 1 then null else ${NOW} end as now, f.place, f.bucket, f.session_key, f.leased, f.trigger_id, f.scheduled_for,
    f.traceparent, f.lineage, f.seq, f.attempt, f.deaths, f.last_user_seq, f.consecutive_autonomous_msgs, f.last_autonomous_at, f.checkpoint_id,
    f.pushed_to, case when f.leased then f.payload end as payload,
    case when f.leased then ${stateOf('f')} end as state, case when f.leased then ${personOf('f')} end as person
  from (select (select count(*)::int from due) as seen, ${nextDueMs(TIMERS)} as next_ms) n left join fires f on true`
    },
  )

/** How what was listed is found again. */
interface Way {
  /** What a timer is known by. */
  readonly place: string
  readonly sessions: string
  readonly locked: (select: string) => string
  /** The timers of sessions that are ours now. */
  readonly theirs: (limit: string) => string
  readonly found: string
}

const BY_PLACE: Way = {
  place: 't.ctid',
  sessions: 's.ctid as head, d.places, d.total',
  locked: (select) => select,
  theirs: (limit) => `select f.head, unnest(f.places[1:${limit} - f.before]) as place
          from (select head, places, (sum(total) over (rows unbounded preceding) - total)::int as before from free) f
          where f.before < ${limit}`,
  found: 't.ctid = d.place',
}
/** Citus hands rows from one part of a statement to the next: neither places nor arrays arrive. No more are listed than are wanted. */
const BY_KEY: Way = {
  place: 't.timer_id',
  sessions: 's.session_key as head',
  // A part that locks by itself is read in another format than it was written in.
  locked: (select) => `select l.head from (${select}) l`,
  theirs: (limit) =>
    `select e.bucket, e.session_key, e.place, f.head from free f join due e on e.session_key = f.head limit ${limit}`,
  found: `${eqByKey('t.bucket', 'd.bucket')} and t.session_key = d.session_key and t.timer_id = d.place`,
}
const promotingBy = (way: Way) => ({
  oldest: promoting('oldest', way),
  newest: promoting('newest', way),
})
const PROMOTE = { whole: promotingBy(BY_PLACE), spread: promotingBy(BY_KEY) }

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

/** One row of the answer. */
type PromotedTimer = Omit<Fire, 'lateness_ms'> &
  Pick<
    ClaimedTurn,
    | 'seq'
    | 'attempt'
    | 'deaths'
    | 'last_user_seq'
    | 'consecutive_autonomous_msgs'
    | 'last_autonomous_at'
    | 'checkpoint_id'
    | 'pushed_to'
    | 'payload'
    | 'lineage'
    | 'state'
    | 'person'
  > & {
    /** From 1; null where nothing was due. */
    readonly place: number | null
    readonly leased: boolean
    /** These of the first row alone. */
    readonly seen: number | null
    readonly next_ms: number | null
    readonly now: Date | null
  }

/** How many times as far is looked where others hold what is due. */
const BESIDE = 3
const NO_LEASE = { leaseMs: null, token: null, agentIds: [], notUserIds: [], together: false }

/** As many as there are ids for their events. `beside`: others hold some of what is due, so it is looked further. */
export async function promoteTimers(
  db: Db,
  eventIds: readonly string[],
  lease: (SessionLease & { readonly together?: boolean }) | null = null,
  { first = 'oldest', beside = false }: { readonly first?: First; readonly beside?: boolean } = {},
): Promise<Promoted> {
  const { leaseMs, token, agentIds, notUserIds = [], together = false } = lease ?? NO_LEASE
  const promote = PROMOTE[db.spread ? 'spread' : 'whole'][first]
  const limit = eventIds.length
  const reach = beside && !db.spread ? BESIDE * limit : limit
  const given = { limit, reach, eventIds, leaseMs, token, agentIds, notUserIds, together }
  const answer = await oneInOrder<PromotedTimer>(db, promote.text, promote.values(db, given))
  const batch = answer.find((row) => row.seen !== null)
  const now = batch?.now
  if (batch === undefined || now === null || now === undefined)
    throw new Error('a promotion was not answered')
  const fires: Fire[] = []
  const turns: ClaimedTurn[] = []
  for (const row of answer) {
    if (row.place === null) continue
    fires.push(fireOf(row, now))
    if (row.leased) turns.push(turnOf(row, eventIds[row.place - 1] ?? '', now))
  }
  return { seen: batch.seen ?? 0, promoted: fires.length, fires, turns, next_ms: batch.next_ms }
}

function fireOf(row: PromotedTimer, now: Date): Fire {
  const { bucket, session_key, trigger_id, scheduled_for, traceparent } = row
  const lateness_ms = now.getTime() - scheduled_for.getTime()
  return { bucket, session_key, trigger_id, scheduled_for, lateness_ms, traceparent }
}

/** As a claim would have brought it. */
function turnOf(row: PromotedTimer, eventId: string, now: Date): ClaimedTurn {
  const { session_key } = row
  const [user_id = '', agent_id = '', thread_id = ''] = session_key.split(':')
  return {
    bucket: row.bucket,
    session_key,
    user_id,
    agent_id,
    thread_id,
    checkpoint_id: row.checkpoint_id,
    attempt: row.attempt,
    deaths: row.deaths,
    was_due_at: now,
    event_id: eventId,
    seq: row.seq,
    type: 'timer',
    payload: row.payload,
    event_created_at: now,
    trigger_id: row.trigger_id,
    scheduled_for: row.scheduled_for,
    traceparent: row.traceparent,
    lineage: row.lineage,
    state: row.state,
    person: row.person,
    last_user_seq: row.last_user_seq,
    consecutive_autonomous_msgs: row.consecutive_autonomous_msgs,
    last_autonomous_at: row.last_autonomous_at,
    pushed_to: row.pushed_to,
    now,
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
    lineage: 'text?',
  },
  (t) => `insert into wakeful.autonomy_timers
      (bucket, session_key, id, timer_id, fire_at, payload, status, traceparent, lineage, created_at, updated_at)
    values (${t.bucket}, ${t.key}, ${t.id}, ${t.timerId}, coalesce(${t.fireAt}, ${inMs(t.delayMs)}),
      ${t.payload}, 'pending', ${t.traceparent}, ${t.lineage}, ${NOW}, ${NOW})
    on conflict (bucket, session_key, timer_id) do update
      set fire_at = excluded.fire_at, payload = excluded.payload, status = 'pending', traceparent = excluded.traceparent,
          lineage = excluded.lineage, updated_at = excluded.updated_at
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
