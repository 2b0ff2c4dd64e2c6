/**
 * Retention: checkpoints beyond the newest few of a session, settled timers, and, only where an age is set, completed
 * effects, turns and events; what is old goes to the archive first, where there is one. Small batches, so that nobody waits behind a sweep. The embedded store has
 * no autovacuum: there the pruner vacuums the hot tables too.
 */

import { deleteExpired } from '../features/identity/idempotency-rows.ts'
import { deleteEnded } from '../features/identity/once-rows.ts'
import { expireIntents } from '../features/intents/report-rows.ts'
import { SIGNAL_KEPT_MS } from '../features/intents/signal.ts'
import { pruneSignals } from '../features/intents/signal-rows.ts'
import type { Db } from '../store/db.ts'
import { type Archive, pruneCheckpoints, pruneOlder, vacuum } from '../store/prune.ts'
import type { Service, Tick } from './service.ts'

export interface Retention {
  readonly checkpointsKept: number
  /** Null keeps everything but settled timers. */
  readonly keepMs: number | null
  /** Receives what is about to go; null: nobody does. */
  readonly archive?: Archive | null
}

const BATCH = 500
/** A feed may tell a headline for weeks: what has fired is remembered for longer than the headline itself. */
const USED_KEPT_MS = 90 * 86_400_000
/** Of every follow-up that was set and answered a row is left, which nobody asks for. */
const TIMERS_KEPT_MS = 30 * 86_400_000

export function prunerService(options: {
  db: Db
  retention: Retention
  /** Removes what is kept outside the database and has no row any more. */
  sweep?: () => Promise<number>
}): Service {
  const { db, retention } = options
  return {
    name: 'pruner',
    async tick(): Promise<Tick> {
      const checkpoints = await pruneCheckpoints(db, retention.checkpointsKept, BATCH)
      const { keepMs, archive = null } = retention
      const older = await pruneOlder(db, { keepMs, timersKeptMs: TIMERS_KEPT_MS, archive }, BATCH)
      const keys = (await deleteExpired(db, BATCH)) + (await deleteEnded(db, BATCH))
      const expired = await expireIntents(db, BATCH)
      const facts = await pruneSignals(db, SIGNAL_KEPT_MS, USED_KEPT_MS, BATCH)
      if (db.kind === 'pglite') await vacuum(db)
      const swept = (await options.sweep?.()) ?? 0
      return {
        did: checkpoints + older + keys + expired + facts + swept,
        more: checkpoints + older + facts >= BATCH,
        nextMs: null,
      }
    },
  }
}
