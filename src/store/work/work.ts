/** Work as its owners see it: create, list, read, change, delete, and its outputs. Its runs are in `work-slots.ts`. */
import { bucketOf } from '../../core/sessions/session.ts'
import type { OutputStatus, ScheduleState, WorkSchedule } from '../../core/work/work.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'

export interface WorkRow extends WorkSchedule {
  readonly bucket: number
  readonly id: string
  readonly task: string
  readonly agent_type: string
  readonly parameters: string
  readonly project_id: string | null
  readonly user_id: string
  readonly frequency: string
  readonly last_run_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  /** `created_at` with its microseconds, for cursors. */
  readonly created_text: string
  /** The database's time when it was read. */
  readonly now: Date
}

const ROW = `bucket, id, task, agent_type, parameters, project_id, user_id, frequency, frequency_cron, timezone, anchor_at, is_active,
  next_run_at, last_run_at, scheduled_for, created_at, updated_at,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_text, ${NOW} as now`

export interface NewWork extends ScheduleState {
  readonly id: string
  readonly userId: string
  readonly task: string
  readonly agentType: string
  readonly parameters: string
  readonly projectId: string | null
  /** The trace it was made in. */
  readonly traceparent: string | null
}

export async function insertWork(tx: Db, work: NewWork): Promise<void> {
  await tx.query(
    `insert into wakeful.work (bucket, id, task, agent_type, parameters, project_id, user_id, frequency, frequency_cron, timezone,
       anchor_at, is_active, next_run_at, traceparent, created_at, updated_at)
     values ($2, $3, $4, $5, $6::json, $7, $8, $9, $10, $11, $12, $13, $14, $15, ${NOW}, ${NOW})`,
    [
      tx.now(),
      bucketOf(work.userId),
      work.id,
      work.task,
      work.agentType,
      work.parameters,
      work.projectId,
      work.userId,
      work.frequency,
      work.frequency_cron,
      work.timezone,
      work.anchor_at,
      work.is_active,
      work.next_run_at,
      work.traceparent,
    ],
  )
}

/** The owner's condition and its values from $`first` on; null: everybody's. */
function within(userId: string | null, first: number): { where: string; values: unknown[] } {
  if (userId === null) return { where: 'true', values: [] }
  const where = `bucket = $${first} and user_id = $${first + 1}`
  return { where, values: [bucketOf(userId), userId] }
}

export interface WorkPage {
  readonly userId: string | null
  readonly active: boolean | null
  readonly projectId: string | null
  readonly limit: number
  readonly after: readonly [string, string] | null
}

/** Newest first. */
export async function listWork(db: Db, page: WorkPage): Promise<WorkRow[]> {
  const values: unknown[] = [db.now(), page.limit]
  const { where, values: owner } = within(page.userId, values.length + 1)
  values.push(...owner)
  let text = `select ${ROW} from wakeful.work where ${where}`
  if (page.active !== null) text += ` and is_active = $${values.push(page.active)}`
  if (page.projectId !== null) text += ` and project_id = $${values.push(page.projectId)}`
  if (page.after !== null) {
    const [createdAt, id] = page.after
    text += ` and (created_at, id) < ($${values.push(createdAt)}::timestamptz, $${values.push(id)}::uuid)`
  }
  return db.query<WorkRow>(`${text} order by created_at desc, id desc limit $2::int`, values)
}

/** Null when there is none, or none of theirs. `lock`: held until the transaction ends. */
export async function getWork(
  db: Db,
  userId: string | null,
  id: string,
  lock = false,
): Promise<WorkRow | null> {
  const { where, values } = within(userId, 3)
  const [row] = await db.query<WorkRow>(
    `select ${ROW} from wakeful.work where id = $2::uuid and ${where}${lock ? ' for update' : ''}`,
    [db.now(), id, ...values],
  )
  return row ?? null
}

/** Writes a change of a locked work. Its run in hand goes on as it began. */
export async function updateWork(
  tx: Db,
  work: WorkRow,
  change: ScheduleState & { readonly task: string; readonly parameters: string },
): Promise<WorkRow> {
  const [row] = await tx.query<WorkRow>(
    `update wakeful.work set task = $4, parameters = $5::json, frequency = $6, frequency_cron = $7, timezone = $8, anchor_at = $9,
       is_active = $10, next_run_at = $11, updated_at = ${NOW}
     where bucket = $2 and id = $3 returning ${ROW}`,
    [
      tx.now(),
      work.bucket,
      work.id,
      change.task,
      change.parameters,
      change.frequency,
      change.frequency_cron,
      change.timezone,
      change.anchor_at,
      change.is_active,
      change.next_run_at,
    ],
  )
  if (row === undefined) throw new Error(`work ${work.id} was not there to change`)
  return row
}

/** With its outputs. Whatever runs of it finds nothing left to write to. */
export async function deleteWork(
  db: Db,
  userId: string | null,
  id: string,
): Promise<{ bucket: number; id: string } | null> {
  const { where, values } = within(userId, 2)
  const [row] = await db.query<{ bucket: number; id: string }>(
    `delete from wakeful.work where id = $1::uuid and ${where} returning bucket, id`,
    [id, ...values],
  )
  return row ?? null
}

export interface OutputRow {
  readonly id: string
  readonly work_id: string
  readonly user_id: string
  readonly run_number: number
  readonly title: string | null
  readonly content: string | null
  readonly output_type: 'text' | 'file'
  readonly metadata: string
  readonly file_url: string | null
  readonly file_format: string | null
  readonly file_name: string | null
  readonly file_bytes: number | null
  readonly status: OutputStatus
  readonly started_at: Date | null
  readonly completed_at: Date | null
  readonly error_message: string | null
  readonly scheduled_for: Date
  readonly missed_count: number
  readonly attempt: number
  readonly progress: number | null
  readonly progress_note: string | null
  readonly created_at: Date
}

const OUTPUT = `id, work_id, user_id, run_number, title, content, output_type, metadata, file_url, file_format, file_name, file_bytes, status,
  started_at, completed_at, error_message, scheduled_for, missed_count, attempt, progress, progress_note, created_at`

interface WorkRef {
  readonly bucket: number
  readonly id: string
}

/** Newest first, those before a run number. */
export async function listOutputs(
  db: Db,
  work: WorkRef,
  before: number | null,
  limit: number,
): Promise<OutputRow[]> {
  return db.query<OutputRow>(
    `select ${OUTPUT} from wakeful.work_outputs
     where bucket = $1 and work_id = $2 and ($3::int is null or run_number < $3) order by run_number desc limit $4`,
    [work.bucket, work.id, before, limit],
  )
}

export async function getOutput(
  db: Db,
  work: WorkRef,
  runNumber: number,
): Promise<OutputRow | null> {
  const [row] = await db.query<OutputRow>(
    `select ${OUTPUT} from wakeful.work_outputs where bucket = $1 and work_id = $2 and run_number = $3`,
    [work.bucket, work.id, runNumber],
  )
  return row ?? null
}

export async function outputById(db: Db, bucket: number, id: string): Promise<OutputRow | null> {
  const [row] = await db.query<OutputRow>(
    `select ${OUTPUT} from wakeful.work_outputs where bucket = $1 and id = $2`,
    [bucket, id],
  )
  return row ?? null
}

/** Of these outputs, those that still wait or run. The others have ended, or are gone. */
export async function liveOutputs(
  db: Db,
  outputs: readonly { bucket: number; id: string }[],
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `select o.id from unnest($1::smallint[], $2::uuid[]) i(bucket, id)
     cross join lateral (select o.id from wakeful.work_outputs o
       where o.bucket = i.bucket and o.id = i.id and o.status in ('pending', 'running') limit 1) o`,
    [outputs.map((o) => o.bucket), outputs.map((o) => o.id)],
  )
  return new Set(rows.map((row) => row.id))
}

/** How many runs of a work wait or run. */
export async function waitingRuns(db: Db, work: WorkRef): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from wakeful.work_outputs
     where bucket = $1 and work_id = $2 and status in ('pending', 'running')`,
    [work.bucket, work.id],
  )
  return row?.n ?? 0
}
