/** Timers: inside a session, gone when the user speaks. A promoted timer has no slot left to settle. */
import { newId } from '../core/ids.ts'
import { type Fire, promoteTimers } from '../store/sessions/timers.ts'
import { BATCH, type PromotedRow, type Trigger } from './trigger.ts'

/** Most looks find nothing or little: a thousand ids for each of them took 5 ms, the look itself takes 0.4. */
const FEW = 20

export const timerTrigger: Trigger = {
  type: 'timer',
  leases: true,
  async promote(db, busy = false, lent = null) {
    const most = busy ? BATCH : FEW
    const ids = Array.from({ length: Math.min(most, lent?.places ?? most) }, newId)
    const { promoted, seen, fires, turns, next_ms } = await promoteTimers(db, ids, lent)
    return {
      promoted,
      // Seen but not taken: somebody held its session a moment ago.
      more: seen === ids.length || seen > promoted,
      nextMs: next_ms,
      rows: fires.map(rowOf),
      turns,
    }
  },
}

function rowOf(fire: Fire): PromotedRow {
  const { lateness_ms: latenessMs, traceparent, session_key: sessionKey } = fire
  if (traceparent === null) return { latenessMs }
  const { trigger_id: triggerId, scheduled_for: scheduledFor } = fire
  return { latenessMs, trace: { traceparent, sessionKey, triggerId, scheduledFor } }
}
