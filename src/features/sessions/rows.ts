/** Heads of sessions: claim those whose log is ahead, read one, list them. */
import type { EventType, SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import {
  claimRows,
  type First,
  LEASE,
  NOW,
  nextDueMs,
  oneInOrder,
  SESSIONS,
  takenOf,
} from '../../store/due.ts'
import { statement } from '../../store/statement.ts'
import { addPeople, personOf } from '../people/rows.ts'
import type { EventRow } from './event-rows.ts'
import { bindInFlight, type SessionKey } from './in-flight-rows.ts'
import type { InFlight, SessionState } from './turn-rows.ts'

/** A session leased for one turn, with the event that is next and the state to start from. */
export interface ClaimedTurn extends SessionState {
  readonly bucket: number
  readonly user_id: string
  readonly agent_id: string
  readonly thread_id: string
  readonly checkpoint_id: string | null
  readonly attempt: number
  readonly deaths: number
  readonly was_due_at: Date
  readonly event_id: string
  readonly seq: number
  readonly type: EventType
  readonly payload: string
  readonly event_created_at: Date
  readonly trigger_id: string | null
  readonly scheduled_for: Date | null
  readonly traceparent: string | null
  /** Where its event comes from; null for what begins a chain. */
  readonly lineage: string | null
  readonly state: string | null
  /** JSON text of the person's row; null where nobody has said anything about them. */
  readonly person: string | null
  /** Earlier messages that this turn answers, too. */
  readonly merged?: readonly Pick<EventRow, 'id' | 'seq' | 'type' | 'payload' | 'created_at'>[]
  /** The newest event of the session; absent where the session was idle. */
  readonly last_seq?: number
  /** Where its timer and its session were found; absent where its event exists. */
  readonly inFlight?: InFlight
  readonly now: Date
}

/** By whom, for how long and for which agents sessions are leased. */
export interface SessionLease {
  readonly leaseMs: number
  readonly token: string
  readonly agentIds: readonly string[]
  /** People whose sessions are left alone; none unless given. */
  readonly notUserIds?: readonly string[]
}

/** The newest state of the session in the row `s`. */
export function stateOf(s: string): string {
  return `(select k.checkpoint from wakeful.checkpoints k
    where k.bucket = ${s}.bucket and k.thread_id = ${s}.session_key and k.checkpoint_ns = ''
      and k.checkpoint_id = ${s}.checkpoint_id and k.type = 'state')`
}

/**
 * Leases sessions and brings each one's next event and newest state, in one round trip.
 * Event and state are looked up row by row, so that the planner cannot make a join of it: planned while the
 * checkpoints were few, it read all of them for each session.
 * Only agents this process knows: during a rolling upgrade the others' sessions wait for their own.
 * A lease that was still marked as held when it ran out belonged to a process that died: it counts as a death.
 */
const claiming = (leases: boolean, first: First = 'oldest') =>
  statement(
    { ...LEASE, agentIds: 'text[]', notUserIds: 'text[]' },
    ({ agentIds, notUserIds, ...lease }) => `with claimed as (
    ${claimRows(
      SESSIONS,
      lease,
      't.bucket, t.session_key, t.user_id, t.agent_id, t.thread_id, t.checkpoint_id, t.done_seq, t.last_seq, t.attempt, t.deaths, d.was_due_at, t.last_user_seq, t.consecutive_autonomous_msgs, t.last_autonomous_at, t.pushed_to',
      {
        set: ', deaths = t.deaths + (t.claim_token is not null)::int',
        where: `t.agent_id = any(${agentIds}) and t.user_id <> all(${notUserIds})`,
        first,
      },
    )})
  select n.next_ms, ${NOW} as now, c.*, e.id as event_id, e.seq, e.type, e.payload, e.created_at as event_created_at,
         e.trigger_id, e.scheduled_for, e.traceparent, e.lineage,
         ${stateOf('c')} as state, ${personOf('c')} as person
  from (select ${nextDueMs(SESSIONS, leases)} as next_ms) n
  left join (claimed c cross join lateral (
    select * from wakeful.events e
    where e.bucket = c.bucket and e.session_key = c.session_key and e.seq = c.done_seq + 1 limit 1) e) on true
  order by c.was_due_at`,
  )
const CLAIM = claiming(false)
const CLAIM_NEWEST = claiming(false, 'newest')
/** A test clock does not poll: it is told when leases end. */
const CLAIM_BY_CLOCK = claiming(true)

export async function claimTurns(
  db: Db,
  limit: number,
  leaseMs: number,
  token: string,
  agentIds: readonly string[],
  { first = 'oldest', notUserIds = [] }: { first?: First; notUserIds?: readonly string[] } = {},
): Promise<{ turns: ClaimedTurn[]; nextMs: number | null }> {
  const claim = first === 'newest' ? CLAIM_NEWEST : db.now() === null ? CLAIM : CLAIM_BY_CLOCK
  const values = claim.values(db, { limit, leaseMs, token, agentIds, notUserIds })
  const { taken, nextMs } = takenOf<ClaimedTurn>(await oneInOrder(db, claim.text, values))
  return { turns: taken, nextMs }
}

export interface SessionHead {
  readonly session_key: string
  readonly user_id: string
  readonly agent_id: string
  readonly thread_id: string
  readonly last_seq: number
  readonly done_seq: number
  readonly checkpoint_id: string | null
  readonly consecutive_autonomous_msgs: number
  readonly last_autonomous_at: Date | null
  readonly attempt: number
  readonly claimed_at: Date | null
  readonly leased: boolean
  readonly created_at: Date
  readonly updated_at: Date
  /** The row of its person, as JSON; null where nobody has said anything about them. */
  readonly person: string | null
  readonly now: Date
}

const HEAD = `session_key, user_id, agent_id, thread_id, last_seq, done_seq, checkpoint_id, consecutive_autonomous_msgs,
  last_autonomous_at, attempt, claimed_at, claim_token is not null as leased, created_at, updated_at, ${personOf('s')} as person, ${NOW} as now`

export async function getSession(db: Db, session: SessionRef): Promise<SessionHead | null> {
  const [row] = await db.query<SessionHead>(
    `select ${HEAD} from wakeful.sessions s where bucket = $2 and session_key = $3`,
    [db.now(), session.bucket, session.key],
  )
  return row ?? null
}

const ENSURE = statement(
  { bucket: 'smallint', key: 'text', userId: 'text', agentId: 'text', threadId: 'text' },
  (
    s,
  ) => `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
    values (${s.bucket}, ${s.key}, ${s.userId}, ${s.agentId}, ${s.threadId}, ${NOW}, ${NOW})
    on conflict (bucket, session_key) do nothing`,
)

/** The session's row exists afterwards. */
export async function makeSession(tx: Db, session: SessionRef): Promise<void> {
  await ENSURE.run(tx, session)
  await addPeople(tx, [session.userId])
}

/**
 * Locks the session's row for a change of its timers until the transaction ends, and writes a new version of it: a claim that read the timers before
 * finds another version of it. False where there is no such session.
 */
export async function lockForTimers(tx: Db, { bucket, key }: SessionKey): Promise<boolean> {
  const [row] = await tx.query<{ in_flight: boolean }>(
    `update wakeful.sessions set last_seq = last_seq where bucket = $1 and session_key = $2
     returning in_flight is not null as in_flight`,
    [bucket, key],
  )
  if (row?.in_flight) await bindInFlight(tx, [{ bucket, key }])
  return row !== undefined
}

/** The session's row exists afterwards, and is locked for a change of its timers. */
export async function ensureSession(tx: Db, session: SessionRef): Promise<void> {
  await makeSession(tx, session)
  await lockForTimers(tx, session)
}

export interface SessionsPage {
  /** How their keys begin: `user`, or `user:agent`; null for everybody's. */
  readonly within: string | null
  readonly bucket: number | null
  readonly agentId: string | null
  /** Occurs in their keys, in any case. */
  readonly q: string | null
  readonly order: 'created' | 'activity'
  readonly limit: number
  /** The instant as text (its microseconds matter) and key of the last row seen. */
  readonly after: readonly [string, string] | null
}

/**
 * Newest first, by when they were made or by their last activity: of one user, of one user's agent, or of everybody. No index is kept
 * on the last activity, which every turn changes: then what is listed is sorted.
 */
export async function listSessions(
  db: Db,
  page: SessionsPage,
): Promise<(SessionHead & { at_text: string })[]> {
  const { within, bucket, agentId, q, order, limit, after } = page
  const values: unknown[] = [db.now()]
  const put = (value: unknown) => `$${values.push(value)}`
  const at = order === 'created' ? 's.created_at' : 's.updated_at'
  const where: string[] = []
  if (within !== null) {
    const prefix = `${put(within)}::text`
    where.push(`s.bucket = ${put(bucket)}::smallint`)
    where.push(`s.session_key > ${prefix} || ':' and s.session_key < ${prefix} || ';'`)
  }
  if (agentId !== null) where.push(`s.agent_id = ${put(agentId)}`)
  if (q !== null) where.push(`position(lower(${put(q)}::text) in lower(s.session_key)) > 0`)
  if (after !== null)
    where.push(
      `(${at}, s.session_key) < (${put(after[0])}::timestamptz, ${put(after[1])}::text collate "C")`,
    )
  return db.query(
    `select ${HEAD}, ${at}::text as at_text from wakeful.sessions s where ${where.join(' and ') || 'true'}
     order by ${at} desc, s.session_key desc limit ${put(limit)}::int`,
    values,
  )
}

const WAITING_SESSIONS_MAX = 10_000

/** Events whose turn has not been yet, of the sessions that have waited longest: who has more than that knows enough. */
export async function eventsWaiting(db: Db): Promise<number> {
  const [row] = await db.query<{ events: number }>(
    `select coalesce(sum(s.last_seq - s.done_seq), 0)::int as events
     from (select last_seq, done_seq from wakeful.sessions where due_at is not null
           order by due_at limit ${WAITING_SESSIONS_MAX}) s`,
  )
  return row?.events ?? 0
}

/** No turn of these batches is in flight any more. */
export async function endLeases(db: Db, tokens: readonly string[]): Promise<void> {
  await db.query('delete from wakeful.leases where token = any($1::uuid[])', [tokens])
}
