/** Checkpoints of sessions, and LangGraph's blobs and pending writes. */
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import { type RowOf, rows, statement } from '../../store/statement.ts'

export const POINTS = rows({
  bucket: 'smallint',
  threadId: 'text',
  ns: 'text',
  id: 'text',
  parentId: 'text?',
  type: 'text?',
  checkpoint: 'json',
  metadata: 'json',
})
export type CheckpointWrite = RowOf<typeof POINTS>

/** `c`: a list of `POINTS`. A graph that stops at its next interrupt within the same step ends in the checkpoint it began with. */
export function putPoints(c: string): string {
  return `insert into wakeful.checkpoints (bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, created_at)
    select c.bucket, c.thread_id, c.ns, c.id, c.parent_id, c.type, c.checkpoint, c.metadata, ${NOW} from ${c}
    on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id) do update
      set checkpoint = excluded.checkpoint, metadata = excluded.metadata`
}

const BLOBS = rows({
  bucket: 'smallint',
  threadId: 'text',
  ns: 'text',
  channel: 'text',
  version: 'text',
  type: 'text',
  blob: 'bytea?',
})
export type BlobWrite = RowOf<typeof BLOBS>

const WRITE_BLOBS = statement(
  { i: BLOBS },
  ({
    i,
  }) => `insert into wakeful.checkpoint_blobs (bucket, thread_id, checkpoint_ns, channel, version, type, blob)
    select * from ${i} on conflict (bucket, thread_id, checkpoint_ns, channel, version) do nothing`,
)

export async function writeBlobs(db: Db, blobs: readonly BlobWrite[]): Promise<void> {
  if (blobs.length > 0) await WRITE_BLOBS.run(db, { i: blobs })
}

const PENDING = rows({
  bucket: 'smallint',
  threadId: 'text',
  ns: 'text',
  checkpointId: 'text',
  taskId: 'text',
  idx: 'int',
  channel: 'text',
  type: 'text?',
  blob: 'bytea',
  taskPath: 'text',
})
export type PendingWrite = RowOf<typeof PENDING>

const WRITE_PENDING = statement(
  { i: PENDING },
  ({
    i,
  }) => `insert into wakeful.checkpoint_writes (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
    select * from ${i}
    on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update
      set channel = excluded.channel, type = excluded.type, blob = excluded.blob`,
)

export async function writePendingWrites(db: Db, writes: readonly PendingWrite[]): Promise<void> {
  if (writes.length > 0) await WRITE_PENDING.run(db, { i: writes })
}
