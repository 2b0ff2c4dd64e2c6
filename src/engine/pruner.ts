/**
 * Retention: checkpoints beyond the newest few of a session, and, only where an age is set, completed
 * effects, turns and events. Small batches, so that nobody waits behind a sweep. The embedded store has
 * no autovacuum: there the pruner vacuums the hot tables too.
 */
import type { Db } from '../store/db.ts'
import { deleteExpired } from '../store/idempotency.ts'
import { deleteEnded } from '../store/once.ts'
import { pruneCheckpoints, pruneOlder, vacuum } from '../store/prune.ts'
import type { Service, Tick } from './service.ts'

export interface Retention {
  readonly checkpointsKept: number
  /** Null keeps everything. */
  readonly keepMs: number | null
}

const BATCH = 500

export function prunerService(options: { db: Db; retention: Retention }): Service {
  const { db, retention } = options
  return {
    name: 'pruner',
    async tick(): Promise<Tick> {
      const checkpoints = await pruneCheckpoints(db, retention.checkpointsKept, BATCH)
      const older = retention.keepMs === null ? 0 : await pruneOlder(db, retention.keepMs, BATCH)
      const keys = (await deleteExpired(db, BATCH)) + (await deleteEnded(db, BATCH))
      if (db.kind === 'pglite') await vacuum(db)
      return { did: checkpoints + older + keys, more: checkpoints + older >= BATCH, nextMs: null }
    },
  }
}
