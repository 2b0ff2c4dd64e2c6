/** Notices a clock that was ahead and was set back, and pulls back what waits for a time that was ahead (`store/ahead.ts`). */
import { CLOCK_STEP_MS } from '../../packages/schedule/src/count.ts'
import { pullBack, stampedAheadMs } from '../store/ahead.ts'
import type { Db } from '../store/db.ts'
import type { Service, Tick } from './service.ts'

export function aheadService(options: {
  /** Its statements may read whole tables, so they take as long as they take. */
  readonly db: Db
  readonly leaseMs: number
  /** Hears what happened, in words. */
  readonly onPulled: (text: string) => void
}): Service {
  const { db, onPulled } = options
  // A third of a lease until this looks and half of one until it ends: free within a whole one. A heartbeat comes every third.
  const leaseMs = Math.ceil(options.leaseMs / 2)
  let latestMs: number | null = null
  /** Up to which stamp rows were pulled back; those stamps stay ahead until the clock has reached them. */
  let doneMs = Number.NEGATIVE_INFINITY
  return {
    name: 'ahead',
    async tick(): Promise<Tick> {
      const nowMs = await db.time()
      const steppedMs = Math.max(0, (latestMs ?? nowMs) - nowMs)
      // A clock that is moved by hand says so itself; else rows are asked, which other processes may have written.
      const looks = latestMs === null || steppedMs > CLOCK_STEP_MS || db.now() === null
      latestMs = nowMs
      const stampedMs = looks ? await stampedAheadMs(db) : 0
      const aheadMs = Math.max(steppedMs, stampedMs)
      const isNew = steppedMs > CLOCK_STEP_MS || nowMs + stampedMs > doneMs + CLOCK_STEP_MS
      if (aheadMs <= CLOCK_STEP_MS || !isNew) return { did: 0, more: false, nextMs: null }
      const did = await pullBack(db, { leaseMs, aheadMs })
      doneMs = nowMs + aheadMs
      onPulled(
        `the clock of the database was ahead and was set back by ${Math.round(aheadMs / 1000)} s: ${did} leases and due times were pulled back`,
      )
      return { did, more: false, nextMs: null }
    },
  }
}
