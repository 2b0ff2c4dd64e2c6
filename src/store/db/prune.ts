/** Deletes what retention allows, in small batches, and keeps the embedded store compact. */
import type { Db } from './db.ts'
import { NOW } from './due.ts'
import { rows, statement } from './statement.ts'

const HOT = [
  'sessions',
  'events',
  'turns',
  'effects',
  'autonomy_timers',
  'alarms',
  'alarm_wakes',
  'scheduled_intents',
  'intent_executions',
  'signals',
  'intent_used',
  'checkpoints',
  'idempotency_keys',
  'audit_log',
]

const PRUNE_POINTS = statement(
  { keep: 'int', limit: 'int' },
  ({ keep, limit }) => `with old as (
      select c.bucket, c.thread_id, c.checkpoint_ns, c.checkpoint_id from (
        select bucket, thread_id, checkpoint_ns, checkpoint_id,
               row_number() over (partition by bucket, thread_id, checkpoint_ns order by created_at desc, checkpoint_id desc) as place
        from wakeful.checkpoints
        where (bucket, thread_id) in (
          select bucket, session_key from wakeful.sessions where last_seq > ${keep} and updated_at > ${NOW} - interval '10 minutes')) c
      -- The checkpoint a session stands on is never old, whatever its place.
      where c.place > ${keep} and not exists (
        select 1 from wakeful.sessions s
        where s.bucket = c.bucket and s.session_key = c.thread_id and s.checkpoint_id = c.checkpoint_id)
      limit ${limit}),
    gone as (
      delete from wakeful.checkpoints c using old o
      where c.bucket = o.bucket and c.thread_id = o.thread_id and c.checkpoint_ns = o.checkpoint_ns and c.checkpoint_id = o.checkpoint_id
      returning c.bucket, c.thread_id),
    writes as (
      delete from wakeful.checkpoint_writes w using old o
      where w.bucket = o.bucket and w.thread_id = o.thread_id and w.checkpoint_ns = o.checkpoint_ns and w.checkpoint_id = o.checkpoint_id)
    select bucket, thread_id from gone`,
)

const PRUNE_BLOBS = statement(
  { t: rows({ bucket: 'smallint', thread_id: 'text' }) },
  ({ t }) => `delete from wakeful.checkpoint_blobs b
    using (select distinct bucket, thread_id from ${t}) s
    where b.bucket = s.bucket and b.thread_id = s.thread_id and not exists (
      select 1 from wakeful.checkpoints c
      where c.bucket = b.bucket and c.thread_id = b.thread_id and c.checkpoint_ns = b.checkpoint_ns
        and c.checkpoint -> 'channel_versions' ->> b.channel = b.version)`,
)

/**
 * Checkpoints beyond the newest `keep` of sessions that were active lately, with their pending writes;
 * then the blobs that no remaining checkpoint of those sessions names.
 */
export async function pruneCheckpoints(db: Db, keep: number, limit: number): Promise<number> {
  const gone = await PRUNE_POINTS.run<{ bucket: number; thread_id: string }>(db, { keep, limit })
  if (gone.length > 0) await PRUNE_BLOBS.run(db, { t: gone })
  return gone.length
}

/** Finished turns, delivered effects, processed events, settled timers and executions of intents older than `keepMs`. */
export async function pruneOlder(db: Db, keepMs: number, limit: number): Promise<number> {
  const before = `${NOW} - $2::float8 * interval '1 millisecond'`
  const targets = [
    ['wakeful.effects', `t.status in ('completed', 'failed') and t.updated_at < ${before}`],
    ['wakeful.turns', `t.finished_at < ${before}`],
    [
      'wakeful.events',
      `t.created_at < ${before} and t.seq <= (select s.done_seq from wakeful.sessions s where s.bucket = t.bucket and s.session_key = t.session_key)`,
    ],
    ['wakeful.autonomy_timers', `t.status <> 'pending' and t.updated_at < ${before}`],
    ['wakeful.alarm_wakes', `t.finished_at < ${before}`],
    [
      'wakeful.alarms',
      `t.parent_id is not null and t.status = 'cancelled' and t.updated_at < ${before}`,
    ],
    ['wakeful.intent_executions', `coalesce(t.last_seen_at, t.executed_at) < ${before}`],
    ['wakeful.audit_log', `t.at < ${before}`],
  ] as const
  let deleted = 0
  for (const [table, where] of targets) {
    const rows = await db.query(
      `delete from ${table} where ctid = any(array(select t.ctid from ${table} t where ${where} limit $3::int)) returning 1`,
      [db.now(), keepMs, limit],
    )
    deleted += rows.length
  }
  return deleted
}

export async function vacuum(db: Db): Promise<void> {
  for (const table of HOT) await db.exec(`vacuum wakeful.${table}`)
}
