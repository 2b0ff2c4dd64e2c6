/**
 * The outbox. Channels that hold connections ask for what their sessions have not acknowledged yet,
 * from a position on; any process that holds a socket may ask. An acknowledgement completes.
 */

import type { SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import type { Reason } from './gate.ts'

export interface Undelivered {
  readonly bucket: number
  readonly session_key: string
  readonly position: number
  readonly id: string
  readonly payload: string
  readonly event_seq: number
  readonly reason: Reason
  readonly origin: string | null
  readonly checkpoint_id?: string
  readonly traceparent?: string | null
  readonly created_at: Date
  /** Somebody has acknowledged it; for sockets that were there when it was said. */
  readonly completed: boolean
}

const WANTED = rows({ bucket: 'smallint', key: 'text', after: 'bigint', doneAfter: 'bigint' })
/** Everything after a position, 0 for all; of what was acknowledged already, only after `doneAfter`. */
export type Wanted = RowOf<typeof WANTED>

const MESSAGE =
  'bucket, session_key, position, id, payload, event_seq, reason, origin, checkpoint_id, traceparent, created_at'

const UNDELIVERED = statement(
  { w: WANTED, channel: 'text', limit: 'int' },
  ({ w, channel, limit }) => `select e.* from ${w}
    cross join lateral (
      (select ${MESSAGE}, false as completed from wakeful.effects e
       where e.bucket = w.bucket and e.session_key = w.key and e.position > w.after
         and e.status in ('pending', 'executing', 'failed') and e.channel = ${channel} and e.type = 'send_message'
       order by e.position limit ${limit})
      union all
      (select ${MESSAGE}, true from wakeful.effects e
       where e.bucket = w.bucket and e.session_key = w.key and e.position > w.done_after
         and e.status = 'completed' and e.channel = ${channel} and e.type = 'send_message'
       order by e.position limit ${limit})
      order by position limit ${limit}) e
    order by e.bucket, e.session_key, e.position`,
)

/**
 * What the named sessions still have to hear, each in order, at most `limit` for each. All sockets of a
 * session get each message, and another one, perhaps in another process, may have acknowledged it before
 * we looked: such rows come along for those who were connected when they were written.
 */
export async function undelivered(
  db: Db,
  channel: string,
  wanted: readonly Wanted[],
  limit: number,
): Promise<Undelivered[]> {
  return UNDELIVERED.run<Undelivered>(db, { w: wanted, channel, limit })
}

const REACHED = rows({
  bucket: 'smallint',
  key: 'text',
  position: 'bigint',
  id: 'uuid?',
  seq: 'int',
})
/** What was heard of a session: up to which seq, and its newest message. */
export type Reached = RowOf<typeof REACHED>

const WENT_BACK = statement(
  { r: REACHED },
  ({ r }) => `select r.key from ${r}
    where coalesce((select s.last_seq from wakeful.sessions s where s.bucket = r.bucket and s.session_key = r.key), 0) < r.seq
      or exists (select 1 from wakeful.effects e
        where e.bucket = r.bucket and e.session_key = r.key and e.position = r.position and e.id <> r.id)`,
)

/** The sessions of which more was heard than the database has, or something else: it was restored, or a failover lost commits. */
export async function wentBack(db: Db, reached: readonly Reached[]): Promise<string[]> {
  return (await WENT_BACK.run<{ key: string }>(db, { r: reached })).map(({ key }) => key)
}

export interface Receipt {
  readonly bucket: number
  readonly key: string
  readonly position: number
  readonly outcome: 'attempted' | 'completed'
  /** How often it was sent since the last receipt; by default once for an attempt. */
  readonly attempts?: number
}

/**
 * Written so that the index of what is undelivered does not fit: planned while it was nearly empty, the statement walked all of it for
 * each batch and kept that plan (seen: 20,000 acknowledgements in 15 s instead of 2).
 */
const OPEN = `e.status || '' in ('pending', 'executing', 'failed')`

const RECORD = statement(
  {
    r: rowsOf<Receipt>({
      bucket: ['smallint', (r) => r.bucket],
      key: ['text', (r) => r.key],
      position: ['bigint', (r) => r.position],
      done: ['boolean', (r) => r.outcome === 'completed'],
      attempts: ['int', ({ attempts, outcome }) => attempts ?? (outcome === 'attempted' ? 1 : 0)],
    }),
  },
  ({ r }) => `with r as materialized (
      select bucket, key, position, bool_or(done) as done, sum(attempts)::int as attempts
      from ${r} group by bucket, key, position order by bucket, key, position)
    update wakeful.effects e
    set status = case when r.done then 'completed' when e.status = 'failed' then 'failed' else 'executing' end,
        delivered_by = case when r.done then e.channel end, delivered_at = case when r.done then ${NOW} end,
        last_error = case when r.done then null else e.last_error end,
        attempt_count = e.attempt_count + r.attempts,
        last_attempt_at = case when r.attempts > 0 then ${NOW} else e.last_attempt_at end,
        updated_at = ${NOW}
    from r
    where ${eqByKey('e.bucket', 'r.bucket')} and e.session_key = r.key
      and e.position = r.position and ${OPEN}
    returning e.session_key, e.position`,
)

/** Records attempts and completions in one statement. Completed stays completed. Answers which rows changed. */
export async function recordReceipts(db: Db, receipts: readonly Receipt[]): Promise<Set<string>> {
  const changed = await RECORD.run<{ session_key: string; position: number }>(db, { r: receipts })
  return new Set(changed.map((row) => `${row.session_key} ${row.position}`))
}

/** The position of a message of this session, for an acknowledgement of something sent on an earlier connection. */
export async function positionOf(db: Db, session: SessionRef, id: string): Promise<number | null> {
  const [row] = await db.query<{ position: number }>(
    `select position from wakeful.effects
     where bucket = $1 and session_key = $2 and id = $3::uuid and type = 'send_message'
     order by position desc limit 1`,
    [session.bucket, session.key, id],
  )
  return row?.position ?? null
}

/** Which of these ids are messages of this session. */
export async function messagesAmong(
  db: Db,
  session: SessionRef,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await db.query<{ id: string }>(
    `select id from wakeful.effects
     where bucket = $1 and session_key = $2 and id = any($3::uuid[]) and type = 'send_message'`,
    [session.bucket, session.key, ids],
  )
  return new Set(found.map(({ id }) => id))
}

/** A message that was sent in vain. */
export type Unheard = Omit<Undelivered, 'payload' | 'completed'> & {
  readonly channel: string
  readonly attempt_count: number
  /** Since it was sent last. */
  readonly waited_ms: number
}

const WAIT_AGAIN = statement(
  { s: rows({ bucket: 'smallint', key: 'text' }), error: 'text' },
  ({
    s,
    error,
  }) => `update wakeful.effects e set status = 'pending', last_error = ${error}, updated_at = ${NOW} from ${s}
    where ${eqByKey('e.bucket', 's.bucket')} and e.session_key = s.key and e.status = 'executing' and e.due_at is null
    returning ${MESSAGE.replaceAll(/(\w+)/g, 'e.$1')}, e.channel, e.attempt_count,
      greatest(0, coalesce(extract(epoch from ${NOW} - e.last_attempt_at) * 1000, 0))::float8 as waited_ms`,
)

/** Nobody is there any more to acknowledge what these sessions were sent: it waits again. Answers what does. */
export async function backToPending(
  db: Db,
  sessions: readonly { bucket: number; key: string }[],
  error: string,
): Promise<Unheard[]> {
  return WAIT_AGAIN.run<Unheard>(db, { s: sessions, error })
}

export interface EffectView {
  readonly id: string
  readonly position: number
  readonly type: string
  readonly payload: string
  readonly status: string
  readonly reason: Reason
  /** By which it arrived. */
  readonly channel: string | null
  readonly attempt_count: number
  readonly last_attempt_at: Date | null
  readonly last_error: string | null
  readonly dedupe_key: string
  readonly checkpoint_id: string
  readonly created_at: Date
  readonly updated_at: Date
}

const OUTBOX_COUNTED_MAX = 10_000

export interface OutboxDepth {
  readonly status: string
  readonly depth: number
  readonly oldest_ms: number
}

/**
 * How many messages wait, and since when. Looks at no more than so many rows, in the order of their sessions: who
 * has more waiting than that knows enough.
 */
export async function outboxDepth(db: Db): Promise<OutboxDepth[]> {
  return db.query<OutboxDepth>(
    `select s.status, count(e.created_at)::int as depth,
            greatest(0, coalesce(extract(epoch from ${NOW} - min(e.created_at)) * 1000, 0))::float8 as oldest_ms
     from (values ('pending'), ('executing')) s(status)
     left join lateral (
       select o.created_at from wakeful.effects o
       where o.status in ('pending', 'executing') and o.status = s.status
       order by o.bucket, o.session_key, o.position limit ${OUTBOX_COUNTED_MAX}) e on true
     group by s.status`,
    [db.now()],
  )
}
