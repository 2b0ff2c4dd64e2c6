/** Work as its owners see it: create, list, read, change, delete, and its outputs. Its runs are in `work-slots.ts`. */
import { listOf, type RowOf, typesOf } from '../../core/columns.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { readOne, type Table } from '../../store/page.ts'
import { rows, statement } from '../../store/statement.ts'
import { addPeople } from '../people/rows.ts'
import type { NewWork } from './draft.ts'
import { OUTPUT, WORK } from './fields.ts'
import { type FileOwner, ownerOfKey } from './file.ts'
import { type ScheduleState, workSession } from './rules.ts'
import type { QueuedRun } from './slot-rows.ts'

export interface WorkRow extends RowOf<typeof WORK> {
  /** The database's time when it was read. */
  readonly now: Date
}

const ROW = `${listOf(WORK, 'w')}, ${NOW} as now`

const BEGINS = ['last_run_at', 'scheduled_for', 'fired_local', 'created_at', 'updated_at'] as const
const GIVEN = typesOf(WORK, BEGINS)
const NAMES = Object.keys(GIVEN)
const INSERT = statement(
  { i: rows(GIVEN) },
  ({
    i,
  }) => `insert into wakeful.work as w (${NAMES}, created_at, updated_at) select ${NAMES}, ${NOW}, ${NOW} from ${i}
  returning ${ROW}`,
)

/** In the order of their ids. */
export async function insertWork(tx: Db, work: readonly NewWork[]): Promise<WorkRow[]> {
  await addPeople(
    tx,
    work.map(({ user_id }) => user_id),
  )
  return INSERT.run<WorkRow>(tx, { i: work.toSorted((a, b) => (a.id < b.id ? -1 : 1)) })
}

/** A run now, besides the schedule. */
export function runNow(
  { id: workId, user_id: userId, agent_type: agentType }: WorkRow,
  traceparent: string | null,
): QueuedRun {
  const ids = { eventId: newId(), outputId: newId() }
  const session = workSession(userId, agentType, workId)
  return { session, workId, ...ids, slot: null, traceparent }
}

/** The owner's condition and its values from $`first` on; null: everybody's. */
function within(userId: string | null, first: number): { where: string; values: unknown[] } {
  if (userId === null) return { where: 'true', values: [] }
  const where = `bucket = $${first} and user_id = $${first + 1}`
  return { where, values: [bucketOf(userId), userId] }
}

export const WORKS: Table<WorkRow> = { from: 'wakeful.work w', columns: ROW }

/** Null for an unknown id or another owner's. `lock`: held until the transaction ends. */
export const getWork = (db: Db, owner: string | null, id: string, lock = false) =>
  readOne(db, WORKS, { owner, id, lock })

/** What its owner may change. */
const CHANGED = typesOf(WORK, [
  ...(['name', 'fired_local', 'paused_at'] as const),
  ...(['agent_type', 'project_id', 'user_id', 'last_run_at', 'scheduled_for'] as const),
  ...(['traceparent', 'lineage', 'created_at', 'updated_at'] as const),
])
const SET = Object.keys(CHANGED)
  .filter((name) => name !== 'bucket' && name !== 'id')
  .map((name) => `${name} = i.${name}`)
const UPDATE = statement(
  { i: rows(CHANGED) },
  ({ i }) => `update wakeful.work w set ${SET}, updated_at = ${NOW},
    paused_at = case when i.is_active then null
      when w.is_active and (i.frequency_cron is not null or w.frequency_cron is null) then ${NOW} else w.paused_at end
  from ${i}
  where ${eqByKey('w.bucket', 'i.bucket')} and ${eqByKey('w.id', 'i.id')} returning ${ROW}`,
)

/** Writes a change of a locked work. Its run in hand goes on as it began. */
export async function updateWork(
  tx: Db,
  work: WorkRow,
  change: ScheduleState & { readonly task: string; readonly parameters: string } & Partial<
      Pick<
        WorkRow,
        | 'agent_id'
        | 'notify'
        | 'notify_session'
        | 'follows_zone'
        | 'catch_up'
        | 'catch_up_within_seconds'
      >
    >,
): Promise<WorkRow> {
  const { bucket, id, agent_id, notify, notify_session, follows_zone } = work
  const { catch_up, catch_up_within_seconds } = work
  const kept = {
    ...{ agent_id, notify, notify_session, follows_zone },
    ...{ catch_up, catch_up_within_seconds },
  }
  const [row] = await UPDATE.run<WorkRow>(tx, { i: [{ ...kept, ...change, bucket, id }] })
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

export type OutputRow = RowOf<typeof OUTPUT>

const OUTPUTS = listOf(OUTPUT)

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
    `select ${OUTPUTS} from wakeful.work_outputs
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
    `select ${OUTPUTS} from wakeful.work_outputs where bucket = $1 and work_id = $2 and run_number = $3`,
    [work.bucket, work.id, runNumber],
  )
  return row ?? null
}

export async function outputById(db: Db, bucket: number, id: string): Promise<OutputRow | null> {
  const [row] = await db.query<OutputRow>(
    `select ${OUTPUTS} from wakeful.work_outputs where bucket = $1 and id = $2`,
    [bucket, id],
  )
  return row ?? null
}

const LIVE = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ i }) => `select o.id from ${i}
   cross join lateral (select o.id from wakeful.work_outputs o
     where o.bucket = i.bucket and o.id = i.id and o.status in ('pending', 'running') limit 1) o`,
)

/** Of these outputs, those that still wait or run. The others have ended, or are gone. */
export async function liveOutputs(
  db: Db,
  outputs: readonly { bucket: number; id: string }[],
): Promise<Set<string>> {
  const live = await LIVE.run<{ id: string }>(db, { i: outputs })
  return new Set(live.map((row) => row.id))
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

export interface OutputFile {
  readonly file_key: string
  readonly file_name: string
  readonly file_format: string
}

/** The file of one run, of this user's work only (null: anybody's). */
export async function findFile(
  db: Db,
  workId: string,
  runNumber: number,
  userId: string | null,
): Promise<OutputFile | null> {
  const [work] = await db.query<{ bucket: number }>(
    `select bucket from wakeful.work
     where id = $1 and ($2::text is null or (bucket = $3::smallint and user_id = $2))`,
    [workId, userId, userId === null ? null : bucketOf(userId)],
  )
  if (work === undefined) return null
  const [row] = await db.query<OutputFile>(
    `select file_key, file_name, file_format from wakeful.work_outputs
     where bucket = $1 and work_id = $2 and run_number = $3 and status = 'completed' and file_key is not null`,
    [work.bucket, workId, runNumber],
  )
  return row ?? null
}

const KNOWN = statement(
  { k: rows({ bucket: 'smallint', workId: 'uuid', runNumber: 'int' }) },
  ({ k }) => `select o.file_key from wakeful.work_outputs o
    join ${k} on o.bucket = k.bucket and o.work_id = k.work_id and o.run_number = k.run_number
    where o.file_key is not null`,
)

/** Those of the given keys that an output names. */
export async function knownFiles(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const owners = keys.map(ownerOfKey).filter((owner): owner is FileOwner => owner !== null)
  const known = await KNOWN.run<{ file_key: string }>(db, { k: owners })
  return new Set(known.map((row) => row.file_key))
}
