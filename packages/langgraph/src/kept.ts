/** Rows that a run has put and no commit has written yet, in memory, newest last. */

import type { Point, TurnResult } from '../../../src/agents/agent.ts'
import type {
  BlobWrite,
  CheckpointWrite,
  PendingWrite,
} from '../../../src/features/sessions/checkpoint-rows.ts'
import type { BlobRef, GraphRows, PointRef } from './checkpoint-rows.ts'

export type TurnRows = Required<
  Pick<TurnResult, 'checkpointId' | 'points' | 'blobs' | 'writes'>
> & { readonly bytes: number }

export class Kept {
  readonly #points = new Map<string, CheckpointWrite>()
  readonly #blobs = new Map<string, BlobWrite>()
  readonly #writes = new Map<string, PendingWrite>()

  add({ points, blobs, writes }: GraphRows): void {
    for (const point of points) {
      const key = joined(point.ns, point.id)
      // A repeated put makes it the newest.
      this.#points.delete(key)
      this.#points.set(key, point)
    }
    for (const blob of blobs) this.#blobs.set(joined(blob.ns, blob.channel, blob.version), blob)
    for (const write of writes) {
      this.#writes.set(joined(write.ns, write.checkpointId, write.taskId, write.idx), write)
    }
  }

  point({ ns, id }: Pick<PointRef, 'ns' | 'id'>): CheckpointWrite | undefined {
    return this.#points.get(joined(ns, id))
  }

  newest(ns: string): CheckpointWrite | undefined {
    return [...this.#points.values()].findLast((point) => point.ns === ns)
  }

  newestFirst(): CheckpointWrite[] {
    return [...this.#points.values()].reverse()
  }

  blob({ ns, channel, version }: BlobRef): BlobWrite | undefined {
    return this.#blobs.get(joined(ns, channel, version))
  }

  writes({ ns, id }: Pick<PointRef, 'ns' | 'id'>): PendingWrite[] {
    return [...this.#writes.values()].filter(
      (write) => write.ns === ns && write.checkpointId === id,
    )
  }

  /** In the shape of a turn's result; the commit adds the bucket. */
  rows(): TurnRows {
    const end = this.newest('')
    if (end === undefined) throw new Error('the graph ended without a checkpoint')
    const points = [...this.#points.values()].map(
      ({ bucket: _, metadata, ...point }): Point => ({
        ...point,
        metadata: JSON.parse(metadata) as Record<string, unknown>,
      }),
    )
    const blobs = [...this.#blobs.values()].map(({ bucket: _, ...blob }) => blob)
    const writes = [...this.#writes.values()].map(({ bucket: _, ...write }) => write)
    const bytes = [...blobs, ...writes].reduce((sum, { blob }) => sum + (blob?.length ?? 0), 0)
    return { checkpointId: end.id, points, blobs, writes, bytes }
  }
}

/** Joins the parts of a key. Only a channel's name can hold a line break, and a version follows it. */
export const joined = (...parts: readonly (string | number)[]) => parts.join('\n')
