/** Deletes what retention allows, in small batches, and keeps the embedded store compact. */
import type { Db } from './db.ts'
import { inMs } from './due.ts'
import { rows, statement } from './statement.ts'

const HOT = [
  'sessions',
  'events',
  'leases',
  'attempts',
  'effects',
  'deliveries',
  'autonomy_timers',
  'alarms',
  'alarm_wakes',
  'scheduled_intents',
  'intent_executions',
  'people',
  'deferred',
  'questions',
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
          select bucket, session_key from wakeful.sessions where last_seq > ${keep} and updated_at > ${inMs('-600000')})) c
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

/** Told of rows as JSON, by table and day, before they are deleted. */
export interface Archive {
  append(table: string, day: string, lines: readonly string[]): Promise<void>
}

export interface Kept {
  /** Null keeps everything but settled timers. */
  readonly keepMs: number | null
  readonly timersKeptMs: number
  readonly archive: Archive | null
}

interface Target {
  readonly table: string
  /** When it was done with: its age, and the day it is archived under. */
  readonly at: string
  readonly done: string
}

const TARGETS: readonly Target[] = [
  { table: 'effects', at: 't.updated_at', done: `t.status in ('completed', 'failed')` },
  {
    table: 'deliveries',
    at: 't.created_at',
    done: `not exists (select 1 from wakeful.effects e where e.bucket = t.bucket and e.session_key = t.session_key
      and e.position = t.position and e.status in ('pending', 'executing'))`,
  },
  { table: 'attempts', at: 't.finished_at', done: 'true' },
  {
    table: 'events',
    at: 't.created_at',
    done: 't.seq <= (select s.done_seq from wakeful.sessions s where s.bucket = t.bucket and s.session_key = t.session_key)',
  },
  { table: 'alarm_wakes', at: 't.finished_at', done: 'true' },
  {
    table: 'alarms',
    at: 't.updated_at',
    done: `t.parent_id is not null and t.status = 'cancelled'`,
  },
  { table: 'intent_executions', at: 'coalesce(t.last_seen_at, t.executed_at)', done: 'true' },
  { table: 'audit_log', at: 't.at', done: 'true' },
  { table: 'deferred', at: 't.updated_at', done: `t.status <> 'waiting'` },
  { table: 'missed', at: 't.missed_at', done: 'true' },
  { table: 'slot_marks', at: 't.updated_at', done: 'true' },
  { table: 'questions', at: 't.updated_at', done: `t.status <> 'open'` },
]
/** No limit looks at days of so long ago. */
const BUDGETS: Target = { table: 'budgets', at: 't.updated_at', done: 'true' }
const TIMERS: Target = {
  table: 'autonomy_timers',
  at: 't.updated_at',
  done: `t.status <> 'pending'`,
}

/** Finished turns, delivered effects, processed events, executions of intents and settled timers that are too old. */
export async function pruneOlder(db: Db, kept: Kept, limit: number): Promise<number> {
  const { keepMs, timersKeptMs, archive } = kept
  const aged = [
    ...(keepMs === null ? [] : TARGETS.map((target) => ({ target, ms: keepMs }))),
    { target: TIMERS, ms: keepMs ?? timersKeptMs },
    { target: BUDGETS, ms: keepMs ?? timersKeptMs },
  ]
  const prune = async (one: Db): Promise<number> => {
    let deleted = 0
    for (const { target, ms } of aged)
      deleted +=
        archive === null
          ? await removeOld(one, target, ms, limit)
          : await archiveOld(one, target, ms, limit, archive)
    return deleted
  }
  if (archive === null || db.kind === 'pglite') return prune(db)
  // One process at a time: two would write the same rows twice, and at an S3 address over one another.
  return db.tx(async (tx) => {
    const [lock] = await tx.query<{ free: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, $2)) as free',
      [tx.schema, ARCHIVE_LOCK],
    )
    return lock?.free === true ? prune(tx) : 0
  })
}

/** Any number that nobody else in this database locks. */
const ARCHIVE_LOCK = 4_871_202_601

const isOld = ({ at, done }: Target) => `${done} and ${at} < ${inMs('-$2::float8')}`

async function removeOld(db: Db, target: Target, ms: number, limit: number): Promise<number> {
  const table = `wakeful.${target.table}`
  const rows = await db.query(
    `delete from ${table} where ctid = any(array(select t.ctid from ${table} t where ${isOld(target)} limit $3::int)) returning 1`,
    [db.now(), ms, limit],
  )
  return rows.length
}

interface OldRow {
  readonly place: string
  readonly day: string
  readonly line: string
}

/** Archived first, then deleted: a process that dies in between archives the rows twice. */
async function archiveOld(
  db: Db,
  target: Target,
  ms: number,
  limit: number,
  archive: Archive,
): Promise<number> {
  const table = `wakeful.${target.table}`
  const values = [db.now(), ms, limit]
  const rows = await db.query<OldRow>(
    `select t.ctid::text as place, to_char(${target.at} at time zone 'UTC', 'YYYY-MM-DD') as day, row_to_json(t)::text as line
     from ${table} t where ${isOld(target)} limit $3::int`,
    values,
  )
  const days = new Map<string, string[]>()
  for (const { day, line } of rows) days.set(day, [...(days.get(day) ?? []), line])
  for (const [day, lines] of days) await archive.append(target.table, day, lines)
  if (rows.length === 0) return 0
  // A place may hold another row by now: that one is not old.
  const gone = await db.query(
    `delete from ${table} t where t.ctid = any($3::text[]::tid[]) and ${isOld(target)} returning 1`,
    [db.now(), ms, rows.map(({ place }) => place)],
  )
  return gone.length
}

export async function vacuum(db: Db): Promise<void> {
  for (const table of HOT) await db.exec(`vacuum wakeful.${table}`)
}
