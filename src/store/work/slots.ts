/**
 * The runs of work: queued as an event with its output, begun, settled. The output's `event_id` is the fence:
 * once the work is deleted, whatever its run still wants to write finds nothing. Rows are always locked in
 * the order work, then outputs; a commit holds the run's session already.
 */
import type { WorkSchedule } from '../../core/work/work.ts'
import type { Db } from '../db/db.ts'
import { dueRows, inIndexOrder, keyIs, keyOrder, NOW, nextDueMs, WORK } from '../db/due.ts'

/** One run that becomes an event. */
export interface QueuedRun {
  readonly bucket: number
  readonly workId: string
  readonly eventId: string
  readonly outputId: string
  readonly sessionKey: string
  readonly userId: string
  readonly agentType: string
  /** The slot of the schedule it stands for, and what the schedule becomes; null for a run that was asked for. */
  readonly slot: {
    readonly at: Date
    readonly nextRunAt: Date | null
    readonly missedCount: number
  } | null
  /** The trace it was asked for in, if any; else it goes on in that of its work. */
  readonly traceparent: string | null
}

export interface DueWork extends WorkSchedule {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly agent_type: string
  /** The trace it was made in. */
  readonly traceparent: string | null
  readonly now: Date
}

const SCHEDULE = (t: string) =>
  `${t}.bucket, ${t}.id, ${t}.user_id, ${t}.agent_type, ${t}.frequency_cron, ${t}.timezone, ${t}.anchor_at, ${t}.is_active,
   ${t}.next_run_at, ${t}.scheduled_for, ${t}.traceparent`

const DUE = `with due as materialized (${dueRows(WORK, SCHEDULE('t'), '$2::int')})
  select n.next_ms, ${NOW} as now, d.* from (select ${nextDueMs(WORK)} as next_ms) n left join due d on true`

/** Each work has a session of its own, so none comes twice in one batch. Always in the same order. */
const HEADS = `insert into wakeful.sessions as s (bucket, session_key, user_id, agent_id, thread_id, last_seq, due_at, created_at, updated_at)
  select bucket, session_key, user_id, agent_id, thread_id, 1, ${NOW}, ${NOW}, ${NOW}
  from unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[]) i(bucket, session_key, user_id, agent_id, thread_id)
  order by bucket, session_key
  on conflict (bucket, session_key) do update
    set last_seq = s.last_seq + 1, due_at = coalesce(s.due_at, excluded.due_at), updated_at = excluded.updated_at
  returning session_key, last_seq`

/** Task and parameters stay in the database: they go from the work's row into the event's, verbatim. */
const TAKE = `with taken as (
    update wakeful.work w
    set run_count = w.run_count + 1, updated_at = ${NOW},
        in_flight = case when i.slot is null then w.in_flight else i.event_id end,
        scheduled_for = coalesce(i.slot, w.scheduled_for),
        next_run_at = case when i.slot is null then w.next_run_at else i.next_run_at end,
        is_active = case when i.slot is null then w.is_active else i.next_run_at is not null end
    from unnest($2::smallint[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::int[], $8::timestamptz[], $9::timestamptz[], $10::int[],
      $11::text[])
      i(bucket, id, event_id, output_id, session_key, seq, slot, next_run_at, missed_count, traceparent)
    where ${keyIs('w.bucket', 'i.bucket')} and ${keyIs('w.id', 'i.id')}
    returning w.bucket, w.id as work_id, w.user_id, w.run_count as run_number, w.task, w.parameters, w.timezone,
      coalesce(i.traceparent, w.traceparent) as traceparent,
      i.event_id, i.output_id, i.session_key, i.seq, i.slot, i.missed_count,
      coalesce(i.slot, date_trunc('milliseconds', ${NOW})) as scheduled_for),
  made as (
    insert into wakeful.work_outputs (bucket, id, work_id, user_id, run_number, event_id, slot, scheduled_for, missed_count, traceparent,
      created_at, updated_at)
    select bucket, output_id, work_id, user_id, run_number, event_id, slot, scheduled_for, missed_count, traceparent, ${NOW}, ${NOW}
    from taken)
  insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, created_at)
  select bucket, session_key, seq, event_id, 'work',
    ('{"work_id":"' || work_id || '","run_number":' || run_number || ',"task":' || to_json(task) || ',"parameters":' || parameters ||
     ',"timezone":' || to_json(timezone) ||
     ',"scheduled_for":"' || to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') ||
     '","missed_count":' || missed_count || '}')::json,
    work_id, scheduled_for, traceparent, ${NOW}
  from taken returning id`

/**
 * Queues runs, each with its output and its event. Answers the ids of the events: a work that was deleted
 * meanwhile has none, and the caller undoes the transaction, since its session's number is taken.
 */
export async function queueRuns(tx: Db, runs: readonly QueuedRun[]): Promise<Set<string>> {
  const heads = await tx.query<{ session_key: string; last_seq: number }>(HEADS, [
    tx.now(),
    runs.map((r) => r.bucket),
    runs.map((r) => r.sessionKey),
    runs.map((r) => r.userId),
    runs.map((r) => r.agentType),
    runs.map((r) => r.workId),
  ])
  const seqs = new Map(heads.map(({ session_key, last_seq }) => [session_key, last_seq]))
  const made = await tx.query<{ id: string }>(TAKE, [
    tx.now(),
    runs.map((r) => r.bucket),
    runs.map((r) => r.workId),
    runs.map((r) => r.eventId),
    runs.map((r) => r.outputId),
    runs.map((r) => r.sessionKey),
    runs.map((r) => seqs.get(r.sessionKey) ?? null),
    runs.map((r) => r.slot?.at ?? null),
    runs.map((r) => r.slot?.nextRunAt ?? null),
    runs.map((r) => r.slot?.missedCount ?? 0),
    runs.map((r) => r.traceparent),
  ])
  return new Set(made.map((row) => row.id))
}

export interface PromotedWork {
  readonly due: readonly DueWork[]
  readonly nextMs: number | null
}

/** Turns up to `limit` due works into runs, in one short transaction; another clock's are skipped. */
export async function promoteWork(
  db: Db,
  limit: number,
  plan: (due: readonly DueWork[]) => readonly QueuedRun[],
): Promise<PromotedWork> {
  return inIndexOrder(db, async (tx) => {
    const rows = await tx.query<DueWork & { next_ms: number | null }>(DUE, [tx.now(), limit])
    const nextMs = rows[0]?.next_ms ?? null
    const due = rows.filter((row) => row.id !== null)
    if (due.length > 0) await queueRuns(tx, plan(due))
    return { due, nextMs }
  })
}

interface RunRef {
  readonly bucket: number
  readonly eventId: string
}

/** Of these events, those whose output is gone or has ended. */
export async function withdrawnRuns(db: Db, runs: readonly RunRef[]): Promise<Set<string>> {
  const rows = await db.query<{ event_id: string }>(
    // A scalar, not `not exists`: that would become a join, and read the whole table where statistics are old.
    `select i.event_id from unnest($1::smallint[], $2::uuid[]) i(bucket, event_id)
     where coalesce((select o.status from wakeful.work_outputs o where o.bucket = i.bucket and o.event_id = i.event_id), 'gone')
       not in ('pending', 'running')`,
    [runs.map((r) => r.bucket), runs.map((r) => r.eventId)],
  )
  return new Set(rows.map((row) => row.event_id))
}

export interface BegunRun extends RunRef {
  readonly triggerId: string
  readonly attempt: number
}

/** An attempt that begins again starts from nothing; when the run first began is kept. */
export async function beginRuns(db: Db, runs: readonly BegunRun[]): Promise<void> {
  const sorted = runs.toSorted(
    (a, b) => a.bucket - b.bucket || (a.triggerId < b.triggerId ? -1 : 1),
  )
  const buckets = sorted.map((r) => r.bucket)
  await inIndexOrder(db, async (tx) => {
    await tx.query(
      `update wakeful.work w set last_run_at = ${NOW}
       from unnest($2::smallint[], $3::uuid[]) i(bucket, id) where ${keyIs('w.bucket', 'i.bucket')} and ${keyIs('w.id', 'i.id')}`,
      [tx.now(), buckets, sorted.map((r) => r.triggerId)],
    )
    await tx.query(
      `update wakeful.work_outputs o
       set status = 'running', started_at = coalesce(o.started_at, ${NOW}), attempt = i.attempt, progress = null, progress_note = null,
           updated_at = ${NOW}
       from unnest($2::smallint[], $3::uuid[], $4::int[]) i(bucket, event_id, attempt)
       where ${keyIs('o.bucket', 'i.bucket')} and ${keyIs('o.event_id', 'i.event_id')} and o.status || '' in ('pending', 'running')`,
      [tx.now(), buckets, sorted.map((r) => r.eventId), sorted.map((r) => r.attempt)],
    )
  })
}

export interface Progress extends RunRef {
  readonly attempt: number
  readonly share: number
  readonly note: string | null
}

/** Only the attempt that runs may say how far it is: a late word of an earlier one finds nothing. */
export async function writeProgress(db: Db, reports: readonly Progress[]): Promise<void> {
  await db.query(
    `update wakeful.work_outputs o set progress = i.share, progress_note = i.note, updated_at = ${NOW}
     from unnest($2::smallint[], $3::uuid[], $4::int[], $5::float8[], $6::text[]) i(bucket, event_id, attempt, share, note)
     where ${keyIs('o.bucket', 'i.bucket')} and ${keyIs('o.event_id', 'i.event_id')} and o.attempt = i.attempt and o.status = 'running'`,
    [
      db.now(),
      reports.map((r) => r.bucket),
      reports.map((r) => r.eventId),
      reports.map((r) => r.attempt),
      reports.map((r) => r.share),
      reports.map((r) => r.note),
    ],
  )
}

/** Locks the works whose slot in hand these events are; a run that was asked for holds none. */
export async function lockInFlight(
  tx: Db,
  runs: readonly (RunRef & { readonly triggerId: string })[],
): Promise<Map<string, DueWork>> {
  const rows = await tx.query<DueWork & { held: string }>(
    `select ${SCHEDULE('w')}, ${NOW} as now, w.in_flight as held
     from unnest($2::smallint[], $3::uuid[], $4::uuid[]) i(bucket, id, event_id)
     join wakeful.work w on ${keyIs('w.bucket', 'i.bucket')} and ${keyIs('w.id', 'i.id')} and w.in_flight = i.event_id
     ${keyOrder('w', 'id')} for update of w`,
    [tx.now(), runs.map((r) => r.bucket), runs.map((r) => r.triggerId), runs.map((r) => r.eventId)],
  )
  return new Map(rows.map((row) => [row.held, row]))
}
