/** Timers: inside a session, gone when the user speaks. A promoted timer has no slot left to settle. */
import { newId } from '../../core/ids.ts'
import { BATCH, type PromotedRow, type Trigger } from '../../kernel/trigger.ts'
import { newestFirstShare, TIMERS } from '../../store/due.ts'
import { type Fire, promoteTimers } from './rows.ts'

/** Most looks find nothing or little: a thousand ids for each of them took 5 ms, the look itself takes 0.4. */
const FEW = 20

export const timerTrigger: Trigger = {
  type: 'timer',
  table: TIMERS,
  leases: 'together',
  async promote(db, busy = false, lent = null, beside = false) {
    const most = busy ? BATCH : FEW
    const places = Math.min(most, lent?.places ?? most)
    const few = newIds(newestFirstShare(busy, places))
    const newest = few.length > 0 ? await promoteTimers(db, few, lent, { first: 'newest' }) : null
    const ids = newIds(places - (newest?.promoted ?? 0))
    const { promoted, seen, fires, turns, next_ms } = await promoteTimers(db, ids, lent, { beside })
    const all = [...(newest?.fires ?? []), ...fires]
    return {
      promoted: all.length,
      // Seen but not taken: somebody held its session a moment ago.
      more: seen >= ids.length || seen > promoted,
      beside: seen > promoted,
      nextMs: next_ms,
      rows: all.map(rowOf),
      turns: [...(newest?.turns ?? []), ...turns],
    }
  },
}

const newIds = (count: number) => Array.from({ length: count }, newId)

function rowOf(fire: Fire): PromotedRow {
  const { lateness_ms: latenessMs, traceparent, session_key: sessionKey } = fire
  if (traceparent === null) return { latenessMs }
  const { trigger_id: triggerId, scheduled_for: scheduledFor } = fire
  return { latenessMs, trace: { traceparent, sessionKey, triggerId, scheduledFor } }
}
