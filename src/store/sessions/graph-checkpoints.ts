/**
 * LangGraph's checkpoints as its saver reads them, and the writes it makes outside of a turn. Inside of
 * one, the turn's own commit writes. Rows of other agents (`type` other than ours) are not seen here.
 */

import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'
import { type BlobWrite, type PendingWrite, writeBlobs, writePendingWrites } from './checkpoints.ts'
import type { CheckpointWrite } from './turns.ts'

/** `checkpoints.type` of a row that LangGraph wrote. */
export const GRAPH_POINT = 'langgraph'

export interface PointRef {
  readonly bucket: number
  readonly threadId: string
  readonly ns: string
  readonly id: string
}

export interface PointRow {
  readonly bucket: number
  readonly thread_id: string
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly parent_checkpoint_id: string | null
  readonly checkpoint: string
  readonly metadata: string
}

const POINT =
  'bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata'

export async function getPoint(db: Db, ref: PointRef): Promise<PointRow | null> {
  const [row] = await db.query<PointRow>(
    `select ${POINT} from wakeful.checkpoints
     where bucket = $1 and thread_id = $2 and checkpoint_ns = $3 and checkpoint_id = $4 and type = $5`,
    [ref.bucket, ref.threadId, ref.ns, ref.id, GRAPH_POINT],
  )
  return row ?? null
}

/**
 * The newest by the time of its commit. LangGraph's ids carry the clock of the process that made them,
 * so between processes their order can be wrong; within one transaction they decide.
 */
export async function newestPoint(db: Db, at: Omit<PointRef, 'id'>): Promise<PointRow | null> {
  const [row] = await db.query<PointRow>(
    `select ${POINT} from wakeful.checkpoints
     where bucket = $1 and thread_id = $2 and checkpoint_ns = $3 and type = $4
     order by created_at desc, checkpoint_id desc limit 1`,
    [at.bucket, at.threadId, at.ns, GRAPH_POINT],
  )
  return row ?? null
}

interface PointsPage {
  /** Null: of every thread. */
  readonly thread: { readonly bucket: number; readonly id: string } | null
  readonly ns: string | null
  readonly id: string | null
  readonly beforeId: string | null
  readonly after: PointRow | null
  readonly limit: number
}

/** By id, newest first. */
export async function listPoints(db: Db, page: PointsPage): Promise<PointRow[]> {
  const { thread, after } = page
  return db.query<PointRow>(
    `select ${POINT} from wakeful.checkpoints
     where type = $1
       and ($2::text is null or (bucket = $3::smallint and thread_id = $2))
       and ($4::text is null or checkpoint_ns = $4)
       and ($5::text is null or checkpoint_id = $5)
       and ($6::text is null or checkpoint_id < $6)
       and ($7::text is null or (checkpoint_id, thread_id, checkpoint_ns) < ($7, $8::text, $9::text))
     order by checkpoint_id desc, thread_id desc, checkpoint_ns desc
     limit $10`,
    [
      GRAPH_POINT,
      thread?.id ?? null,
      thread?.bucket ?? null,
      page.ns,
      page.id,
      page.beforeId,
      after?.checkpoint_id ?? null,
      after?.thread_id ?? null,
      after?.checkpoint_ns ?? null,
      page.limit,
    ],
  )
}

export interface BlobRef {
  readonly bucket: number
  readonly threadId: string
  readonly ns: string
  readonly channel: string
  readonly version: string
}

interface BlobRow {
  readonly channel: string
  readonly version: string
  readonly type: string
  readonly blob: Uint8Array | null
}

/** The values of one checkpoint's channels at the versions it names. */
export async function readBlobs(db: Db, refs: readonly BlobRef[]): Promise<BlobRow[]> {
  if (refs.length === 0) return []
  return db.query<BlobRow>(
    `select b.channel, b.version, b.type, b.blob
     from unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[]) r(bucket, thread_id, ns, channel, version)
     join wakeful.checkpoint_blobs b on b.bucket = r.bucket and b.thread_id = r.thread_id and b.checkpoint_ns = r.ns
       and b.channel = r.channel and b.version = r.version`,
    [
      refs.map((r) => r.bucket),
      refs.map((r) => r.threadId),
      refs.map((r) => r.ns),
      refs.map((r) => r.channel),
      refs.map((r) => r.version),
    ],
  )
}

interface WriteRow {
  readonly task_id: string
  readonly idx: number
  readonly channel: string
  readonly type: string | null
  readonly blob: Uint8Array
}

export async function readWrites(db: Db, ref: PointRef): Promise<WriteRow[]> {
  return db.query<WriteRow>(
    `select task_id, idx, channel, type, blob from wakeful.checkpoint_writes
     where bucket = $1 and thread_id = $2 and checkpoint_ns = $3 and checkpoint_id = $4`,
    [ref.bucket, ref.threadId, ref.ns, ref.id],
  )
}

export interface GraphRows {
  readonly points: readonly CheckpointWrite[]
  readonly blobs: readonly BlobWrite[]
  readonly writes: readonly PendingWrite[]
}

/** For use outside of a turn: all of it at once, in a transaction of its own. */
export async function writeGraphRows(db: Db, rows: GraphRows): Promise<void> {
  await db.tx(async (tx) => {
    for (const point of rows.points) await writePoint(tx, point)
    await writeBlobs(tx, rows.blobs)
    await writePendingWrites(tx, rows.writes)
  })
}

async function writePoint(tx: Db, point: CheckpointWrite): Promise<void> {
  await tx.query(
    `insert into wakeful.checkpoints (bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, created_at)
     values ($2, $3, $4, $5, $6, $7, $8::json, $9::json, ${NOW})
     on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id) do update
       set checkpoint = excluded.checkpoint, metadata = excluded.metadata`,
    [
      tx.now(),
      point.bucket,
      point.threadId,
      point.ns,
      point.id,
      point.parentId,
      point.type,
      point.checkpoint,
      point.metadata,
    ],
  )
}

export async function deleteGraphThread(db: Db, bucket: number, threadId: string): Promise<void> {
  await db.query(
    `with points as (delete from wakeful.checkpoints where bucket = $1 and thread_id = $2 and type = $3),
          blobs as (delete from wakeful.checkpoint_blobs where bucket = $1 and thread_id = $2)
     delete from wakeful.checkpoint_writes where bucket = $1 and thread_id = $2`,
    [bucket, threadId, GRAPH_POINT],
  )
}
