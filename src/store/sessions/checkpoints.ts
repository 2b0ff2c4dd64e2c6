/** LangGraph's blobs and pending writes, and the retention of checkpoints. */
import type { Db } from '../db/db.ts'

export interface BlobWrite {
  readonly bucket: number
  readonly threadId: string
  readonly ns: string
  readonly channel: string
  readonly version: string
  readonly type: string
  readonly blob: Uint8Array | null
}

export interface PendingWrite {
  readonly bucket: number
  readonly threadId: string
  readonly ns: string
  readonly checkpointId: string
  readonly taskId: string
  readonly idx: number
  readonly channel: string
  readonly type: string | null
  readonly blob: Uint8Array
  readonly taskPath: string
}

export async function writeBlobs(db: Db, blobs: readonly BlobWrite[]): Promise<void> {
  if (blobs.length === 0) return
  await db.query(
    `insert into wakeful.checkpoint_blobs (bucket, thread_id, checkpoint_ns, channel, version, type, blob)
     select * from unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
     on conflict (bucket, thread_id, checkpoint_ns, channel, version) do nothing`,
    [
      blobs.map((b) => b.bucket),
      blobs.map((b) => b.threadId),
      blobs.map((b) => b.ns),
      blobs.map((b) => b.channel),
      blobs.map((b) => b.version),
      blobs.map((b) => b.type),
      blobs.map((b) => (b.blob === null ? null : Buffer.from(b.blob))),
    ],
  )
}

export async function writePendingWrites(db: Db, writes: readonly PendingWrite[]): Promise<void> {
  if (writes.length === 0) return
  await db.query(
    `insert into wakeful.checkpoint_writes (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
     select * from unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::bytea[], $10::text[])
     on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update
       set channel = excluded.channel, type = excluded.type, blob = excluded.blob`,
    [
      writes.map((w) => w.bucket),
      writes.map((w) => w.threadId),
      writes.map((w) => w.ns),
      writes.map((w) => w.checkpointId),
      writes.map((w) => w.taskId),
      writes.map((w) => w.idx),
      writes.map((w) => w.channel),
      writes.map((w) => w.type),
      writes.map((w) => Buffer.from(w.blob)),
      writes.map((w) => w.taskPath),
    ],
  )
}
