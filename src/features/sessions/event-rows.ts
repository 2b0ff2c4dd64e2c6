/** The log: append under the session row's lock, read in order. */

import type { EventType, SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx, eqByKey, lockOrder, NOW } from '../../store/due.ts'
import { type Columns, type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import type { AuditEntry, AuditHead } from '../identity/audit.ts'
import { writeAudit } from '../identity/audit-rows.ts'
import { addPeople } from '../people/rows.ts'
import { answering } from '../questions/rows.ts'
import { bindInFlight } from './in-flight-rows.ts'

export interface NewEvent {
  readonly session: SessionRef
  readonly id: string
  readonly type: EventType
  /** JSON text, kept verbatim. */
  readonly payload: string
  readonly clientId: string | null
  readonly traceparent?: string | null
  /** Given where it came from outside; else it begins a chain by itself. */
  readonly lineage?: string | null
  /** Who sent it, where an operation did: written with the event. */
  readonly audit?: AuditHead | null
  /** The question that it is about; `must`: where that has ended it is refused. */
  readonly about?: { readonly id: string; readonly must?: boolean }
}

export interface EventRow {
  readonly id: string
  readonly session_key: string
  readonly seq: number
  readonly type: EventType
  readonly payload: string
  readonly created_at: Date
}

/** What became of one appended event; `fresh` is false when the client's id was known already. */
export interface Appended extends EventRow {
  readonly fresh: boolean
}

const SESSION: Columns<NewEvent> = {
  bucket: ['smallint', (e) => e.session.bucket],
  session_key: ['text', (e) => e.session.key],
  user_id: ['text', (e) => e.session.userId],
  agent_id: ['text', (e) => e.session.agentId],
  thread_id: ['text', (e) => e.session.threadId],
}

const EVENTS = rowsOf<NewEvent>({
  ...SESSION,
  id: ['uuid', (e) => e.id],
  type: ['text', (e) => e.type],
  payload: ['text', (e) => e.payload],
  client_id: ['text?', (e) => e.clientId],
  traceparent: ['text?', (e) => e.traceparent ?? null],
  lineage: ['text?', (e) => e.lineage ?? null],
}).numbered('ord')

/**
 * First statement: make sure each session exists and hold its lock, always in the same order. The
 * second then sees everything that earlier holders of the lock committed: gapless numbers, known
 * client ids, and the timers that a user's message cancels.
 */
const LOCK = statement(
  { i: rowsOf(SESSION) },
  ({ i }) => `with made as (
    insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
    select distinct on (i.bucket, i.session_key) i.bucket, i.session_key, i.user_id, i.agent_id, i.thread_id, ${NOW}, ${NOW} from ${i}
    order by i.bucket, i.session_key
    on conflict (bucket, session_key) do nothing)
  select s.bucket, s.session_key, s.last_seq - s.done_seq as waiting, s.in_flight is not null as in_flight, s.last_seq = 0 as fresh, s.user_id, exists (select 1 from wakeful.questions q
    where q.bucket = s.bucket and q.session_key = s.session_key and q.status = 'open') as asked from (select distinct bucket, session_key from ${i}) i
  join wakeful.sessions s on ${eqByKey('s.bucket', 'i.bucket')} and s.session_key = i.session_key
  ${lockOrder('s', 'session_key')} for update of s`,
)

const APPEND = statement(
  { i: EVENTS },
  ({ i }) => `with input as materialized (select * from ${i}),
  known as materialized (
    select e.* from (select distinct bucket, session_key, client_id from input where client_id is not null) i
    cross join lateral (select * from wakeful.events e
      where e.bucket = i.bucket and e.session_key = i.session_key and e.client_id = i.client_id limit 1) e),
  fresh as (
    select f.* from (
      select i.*, row_number() over (partition by i.bucket, i.session_key, i.client_id order by i.ord) as copy
      from input i) f
    where (f.client_id is null or f.copy = 1)
      and not exists (select 1 from known k where k.bucket = f.bucket and k.session_key = f.session_key
                      and k.client_id = f.client_id)),
  -- Gathered into arrays for each session, so that numbering needs no join of one CTE with another:
  -- the planner knows nothing of their sizes and would compare every row with every other.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + h.total,
        last_user_seq = case when h.last_user_n is null then s.last_user_seq else s.last_seq + h.last_user_n end,
        last_user_at = case when h.last_user_n is null then s.last_user_at else ${NOW} end,
        due_at = coalesce(s.due_at, ${NOW}), updated_at = ${NOW}
    from (select bucket, session_key, count(*)::int as total, max(n) filter (where type = 'user_message')::int as last_user_n,
                 array_agg(id order by n) as ids, array_agg(type order by n) as types, array_agg(payload order by n) as payloads,
                 array_agg(client_id order by n) as clients, array_agg(traceparent order by n) as traces,
                 array_agg(lineage order by n) as lineages
          from (select *, row_number() over (partition by bucket, session_key order by ord) as n from fresh) numbered
          group by bucket, session_key) h
    where ${eqByKey('s.bucket', 'h.bucket')} and s.session_key = h.session_key
    returning s.bucket, s.session_key, s.last_seq - h.total as base, h.last_user_n is not null as spoke,
      h.ids, h.types, h.payloads, h.clients, h.traces, h.lineages),
  cancelled as (
    update wakeful.autonomy_timers t set status = 'cancelled', updated_at = ${NOW}
    from heads h
    where h.spoke and ${eqByKey('t.bucket', 'h.bucket')} and t.session_key = h.session_key
      -- Written so that the index of all pending timers does not fit: only this session's are wanted.
      and t.status || '' in ('pending', 'paused')),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, client_id, traceparent, lineage, created_at)
    select h.bucket, h.session_key, h.base + e.n, e.id, e.type, e.payload::json, e.client_id, e.trace, e.lineage, ${NOW}
    from heads h cross join lateral unnest(h.ids, h.types, h.payloads, h.clients, h.traces, h.lineages)
      with ordinality e(id, type, payload, client_id, trace, lineage, n)
    returning id, session_key, seq, type, payload, client_id, created_at)
  select true as fresh, id, session_key, seq, type, payload, client_id, created_at from added
  union all
  select false, id, session_key, seq, type, payload, client_id, created_at from known`,
)

type AppendedRow = Appended & { client_id: string | null }

const KNOWN = statement(
  { i: EVENTS },
  ({
    i,
  }) => `select false as fresh, e.id, e.session_key, e.seq, e.type, e.payload, e.client_id, e.created_at from ${i}
    cross join lateral (select * from wakeful.events e
      where e.bucket = i.bucket and e.session_key = i.session_key and e.client_id = i.client_id limit 1) e`,
)

/**
 * Appends all events in one transaction, in the given order within each session; answers in that order. A session with
 * `backlogMax` events waiting for their turns takes no more: null, unless the client's id was known.
 */
export async function appendEvents(
  db: Db,
  events: readonly NewEvent[],
  backlogMax = Number.POSITIVE_INFINITY,
): Promise<(Appended | null)[]> {
  const answered = await commitTx(db, async (tx) => {
    const heads = await lockedHeads(tx, events)
    await bindInFlight(
      tx,
      heads.flatMap(({ bucket, session_key: key, in_flight }) =>
        in_flight ? { bucket, key } : [],
      ),
    )
    const { fitting: taken, beyond } = roomFor(events, heads, backlogMax)
    const fitting = await withAnswers(tx, taken, heads)
    const added = fitting.length === 0 ? [] : await APPEND.run<AppendedRow>(tx, { i: fitting })
    await writeAudit(tx, auditOf(fitting, added))
    const known = beyond.length === 0 ? [] : await KNOWN.run<AppendedRow>(tx, { i: beyond })
    return [...known, ...added]
  })
  const byId = new Map(answered.map((row) => [row.id, row]))
  const byClient = new Map(
    answered.flatMap((row) =>
      row.client_id === null ? [] : [[`${row.session_key} ${row.client_id}`, row]],
    ),
  )
  return events.map((event) => {
    const { id, session, clientId } = event
    const known = clientId === null ? undefined : byClient.get(`${session.key} ${clientId}`)
    const row = byId.get(id) ?? known
    return row === undefined ? null : { ...row, fresh: row.fresh && row.id === event.id }
  })
}

/**
 * Who waited for another to make a session has a snapshot from before it was there, and has not locked it: asked again, it is seen.
 * Sessions are never removed, so twice is enough.
 */
async function lockedHeads(tx: Db, events: readonly NewEvent[]): Promise<readonly Head[]> {
  const first = await LOCK.run<Head>(tx, { i: events })
  const sessions = new Set(events.map(({ session }) => session.key))
  const heads = first.length === sessions.size ? first : await LOCK.run<Head>(tx, { i: events })
  await addPeople(
    tx,
    heads.flatMap(({ fresh, user_id }) => (fresh ? [user_id] : [])),
  )
  return heads
}

interface Head {
  readonly bucket: number
  readonly session_key: string
  /** A timer of the session runs already and has no event yet. */
  readonly in_flight: boolean
  /** Nothing was said in it yet. */
  readonly fresh: boolean
  readonly user_id: string
  /** Events without a turn yet. */
  readonly waiting: number
  /** A question of its agent is open. */
  readonly asked: boolean
}

/** Those that answer a question, with it. A redelivered message, by its client id, has answered before. */
async function withAnswers(
  tx: Db,
  events: readonly NewEvent[],
  heads: readonly Head[],
): Promise<readonly NewEvent[]> {
  const asked = new Set(heads.flatMap((head) => (head.asked ? head.session_key : [])))
  if (asked.size === 0 && !events.some(({ about }) => about?.must)) return events
  const known = await KNOWN.run<AppendedRow>(tx, { i: events })
  const again = new Set(known.map((row) => `${row.session_key} ${row.client_id}`))
  const fresh = events.filter(({ session, clientId }) => {
    const key = `${session.key} ${clientId}`
    if (clientId === null) return true
    const first = !again.has(key)
    again.add(key)
    return first
  })
  const may = new Set(fresh.filter(({ session }) => asked.has(session.key)))
  return answering(tx, events, (event) => may.has(event))
}

/** Which of the events their sessions still have room for. */
function roomFor(events: readonly NewEvent[], heads: readonly Head[], backlogMax: number) {
  const waiting = new Map(heads.map((head) => [head.session_key, head.waiting]))
  const fitting: NewEvent[] = []
  const beyond: NewEvent[] = []
  for (const event of events) {
    const before = waiting.get(event.session.key) ?? 0
    waiting.set(event.session.key, before + 1)
    const side = before < backlogMax ? fitting : beyond
    side.push(event)
  }
  return { fitting, beyond }
}

/** What was new, and sent by somebody. */
function auditOf(events: readonly NewEvent[], added: readonly AppendedRow[]): AuditEntry[] {
  if (!events.some((event) => event.audit)) return []
  const fresh = new Set(added.flatMap((row) => (row.fresh ? row.id : [])))
  return events.flatMap(({ id, audit, session }) =>
    audit && fresh.has(id) ? { ...audit, objectId: id, owner: session.userId } : [],
  )
}

/** Whether a message with the client's id is in the log. */
export async function isHeard(
  db: Db,
  { bucket, session_key }: { readonly bucket: number; readonly session_key: string },
  clientId: string,
): Promise<boolean> {
  const found = await db.query(
    'select 1 from wakeful.events where bucket = $1 and session_key = $2 and client_id = $3 limit 1',
    [bucket, session_key, clientId],
  )
  return found.length > 0
}

const EVENT = 'id, session_key, seq, type, payload, created_at'
const OF_SESSION = { bucket: 'smallint', key: 'text', seq: 'int', limit: 'int' } as const

const AFTER = statement(
  OF_SESSION,
  ({ bucket, key, seq, limit }) => `select ${EVENT} from wakeful.events
    where bucket = ${bucket} and session_key = ${key} and seq > ${seq} order by seq limit ${limit}`,
)

/** Events of one session in order, after a seq. */
export async function listEvents(
  db: Db,
  { bucket, key }: SessionRef,
  afterSeq: number,
  limit: number,
): Promise<EventRow[]> {
  return AFTER.run<EventRow>(db, { bucket, key, seq: afterSeq, limit })
}

const UP_TO = statement(
  OF_SESSION,
  ({ bucket, key, seq, limit }) => `select ${EVENT} from wakeful.events
    where bucket = ${bucket} and session_key = ${key} and seq <= ${seq} order by seq desc limit ${limit}`,
)

/** The newest events up to and including a seq, oldest first: what a turn may look back on. */
export async function recentEvents(
  db: Db,
  { bucket, key }: SessionRef,
  upToSeq: number,
  limit: number,
): Promise<EventRow[]> {
  const newest = await UP_TO.run<EventRow>(db, { bucket, key, seq: upToSeq, limit })
  return newest.reverse()
}

const WANTED = rows({ bucket: 'smallint', key: 'text', after: 'int' })

const NEW = statement(
  { w: WANTED, limit: 'int' },
  ({ w, limit }) => `select e.* from ${w}
    cross join lateral (
      select bucket, ${EVENT} from wakeful.events e
      where e.bucket = w.bucket and e.session_key = w.key and e.seq > w.after
      order by e.seq limit ${limit}) e
    order by e.bucket, e.session_key, e.seq`,
)

/** New events of several sessions, each after its own seq, for those who watch the logs. */
export async function eventsOf(
  db: Db,
  wanted: readonly RowOf<typeof WANTED>[],
  limit: number,
): Promise<(EventRow & { bucket: number })[]> {
  return NEW.run(db, { w: wanted, limit })
}
