/**
 * LangGraph's checkpoints as its saver reads them, and the writes it makes outside of a turn. Inside of
 * one, the turn's own commit writes. Rows of other agents (`type` other than ours) are not seen here.
 */

import {
  type BlobWrite,
  type CheckpointWrite,
  type PendingWrite,
  POINTS,
  putPoints,
  writeBlobs,
  writePendingWrites,
} from '../../../src/features/sessions/checkpoint-rows.ts'
import type { Db } from '../../../src/store/db.ts'
import { type RowOf, rows, statement } from '../../../src/store/statement.ts'

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

const OF_POINT = { bucket: 'smallint', threadId: 'text', ns: 'text', id: 'text' } as const

const GET = statement(
  { ...OF_POINT, type: 'text' },
  ({ bucket, threadId, ns, id, type }) => `select ${POINT} from wakeful.checkpoints
    where bucket = ${bucket} and thread_id = ${threadId} and checkpoint_ns = ${ns} and checkpoint_id = ${id} and type = ${type}`,
)

export async function getPoint(db: Db, ref: PointRef): Promise<PointRow | null> {
  const [row] = await GET.run<PointRow>(db, { ...ref, type: GRAPH_POINT })
  return row ?? null
}

const NEWEST = statement(
  { bucket: 'smallint', threadId: 'text', ns: 'text', type: 'text' },
  ({ bucket, threadId, ns, type }) => `select ${POINT} from wakeful.checkpoints
    where bucket = ${bucket} and thread_id = ${threadId} and checkpoint_ns = ${ns} and type = ${type}
    order by created_at desc, checkpoint_id desc limit 1`,
)

/**
 * The newest by the time of its commit. LangGraph's ids carry the clock of the process that made them,
 * so between processes their order can be wrong; within one transaction they decide.
 */
export async function newestPoint(db: Db, at: Omit<PointRef, 'id'>): Promise<PointRow | null> {
  const [row] = await NEWEST.run<PointRow>(db, { ...at, type: GRAPH_POINT })
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

const LIST = statement(
  {
    type: 'text',
    thread: 'text?',
    bucket: 'smallint?',
    ns: 'text?',
    id: 'text?',
    beforeId: 'text?',
    afterId: 'text?',
    afterThread: 'text?',
    afterNs: 'text?',
    limit: 'int',
  },
  (p) => `select ${POINT} from wakeful.checkpoints
    where type = ${p.type}
      and (${p.thread} is null or (bucket = ${p.bucket} and thread_id = ${p.thread}))
      and (${p.ns} is null or checkpoint_ns = ${p.ns})
      and (${p.id} is null or checkpoint_id = ${p.id})
      and (${p.beforeId} is null or checkpoint_id < ${p.beforeId})
      and (${p.afterId} is null or (checkpoint_id, thread_id, checkpoint_ns) < (${p.afterId}, ${p.afterThread}, ${p.afterNs}))
    order by checkpoint_id desc, thread_id desc, checkpoint_ns desc limit ${p.limit}`,
)

/** By id, newest first. */
export async function listPoints(db: Db, page: PointsPage): Promise<PointRow[]> {
  const { thread, after, ns, id, beforeId, limit } = page
  return LIST.run<PointRow>(db, {
    ...{ type: GRAPH_POINT, ns, id, beforeId, limit },
    thread: thread?.id ?? null,
    bucket: thread?.bucket ?? null,
    afterId: after?.checkpoint_id ?? null,
    afterThread: after?.thread_id ?? null,
    afterNs: after?.checkpoint_ns ?? null,
  })
}

const BLOBS = rows({
  bucket: 'smallint',
  threadId: 'text',
  ns: 'text',
  channel: 'text',
  version: 'text',
})
export type BlobRef = RowOf<typeof BLOBS>

interface BlobRow {
  readonly channel: string
  readonly version: string
  readonly type: string
  readonly blob: Uint8Array | null
}

const READ_BLOBS = statement(
  { r: BLOBS },
  ({ r }) => `select b.channel, b.version, b.type, b.blob from ${r}
    join wakeful.checkpoint_blobs b on b.bucket = r.bucket and b.thread_id = r.thread_id and b.checkpoint_ns = r.ns
      and b.channel = r.channel and b.version = r.version`,
)

/** The values of one checkpoint's channels at the versions it names. */
export async function readBlobs(db: Db, refs: readonly BlobRef[]): Promise<BlobRow[]> {
  return refs.length === 0 ? [] : READ_BLOBS.run<BlobRow>(db, { r: refs })
}

interface WriteRow {
  readonly task_id: string
  readonly idx: number
  readonly channel: string
  readonly type: string | null
  readonly blob: Uint8Array
}

const READ_WRITES = statement(
  OF_POINT,
  ({
    bucket,
    threadId,
    ns,
    id,
  }) => `select task_id, idx, channel, type, blob from wakeful.checkpoint_writes
    where bucket = ${bucket} and thread_id = ${threadId} and checkpoint_ns = ${ns} and checkpoint_id = ${id}`,
)

export async function readWrites(db: Db, ref: PointRef): Promise<WriteRow[]> {
  return READ_WRITES.run<WriteRow>(db, ref)
}

export interface GraphRows {
  readonly points: readonly CheckpointWrite[]
  readonly blobs: readonly BlobWrite[]
  readonly writes: readonly PendingWrite[]
}

const WRITE_POINTS = statement({ c: POINTS }, ({ c }) => putPoints(c))

/** For use outside of a turn: all of it at once, in a transaction of its own. */
export async function writeGraphRows(db: Db, rows: GraphRows): Promise<void> {
  await db.tx(async (tx) => {
    if (rows.points.length > 0) await WRITE_POINTS.run(tx, { c: rows.points })
    await writeBlobs(tx, rows.blobs)
    await writePendingWrites(tx, rows.writes)
  })
}

export async function deleteGraphThread(db: Db, bucket: number, threadId: string): Promise<void> {
  await db.query(
    `with points as (delete from wakeful.checkpoints where bucket = $1 and thread_id = $2 and type = $3),
          blobs as (delete from wakeful.checkpoint_blobs where bucket = $1 and thread_id = $2),
          writes as (delete from wakeful.checkpoint_writes where bucket = $1 and thread_id = $2)
     select 1`,
    [bucket, threadId, GRAPH_POINT],
  )
}
