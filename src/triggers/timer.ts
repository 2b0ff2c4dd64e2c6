/** Timers: inside a session, gone when the user speaks. A promoted timer has no slot left to settle. */
import { newId } from '../core/ids.ts'
import { promoteTimers } from '../store/timers.ts'
import type { Trigger } from './trigger.ts'

const BATCH = 1000

export const timerTrigger: Trigger = {
  type: 'timer',
  async promote(db) {
    const ids = Array.from({ length: BATCH }, newId)
    const row = await promoteTimers(db, BATCH, ids)
    return {
      promoted: row.promoted,
      more: row.seen === BATCH,
      nextMs: row.next_ms,
      latenessMs: row.lateness_ms,
    }
  },
}
