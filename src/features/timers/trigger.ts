/** Timers: inside a session, gone when the user speaks. A promoted timer has no slot left to settle. */
import { BATCH, type PromotedRow, type Trigger } from '../../kernel/trigger.ts'
import { newestFirstShare, TIMERS } from '../../store/due.ts'
import type { TimerEvent } from '../sessions/in-flight-rows.ts'
import type { ClaimedTurn } from '../sessions/rows.ts'
import { claimTimers, promoteTimers } from './rows.ts'

/** Most looks find little. */
const FEW = 20

export const timerTrigger: Trigger = {
  type: 'timer',
  table: TIMERS,
  leases: 'together',
  async promote(db, busy = false, grant = null) {
    const most = busy ? BATCH : FEW
    if (grant === null || db.spread) {
      const { seen, events, nextMs } = await promoteTimers(db, most)
      return { promoted: events.length, more: seen >= most, nextMs, rows: events.map(rowOf) }
    }
    const places = Math.min(most, grant.places)
    const newest = newestFirstShare(busy, places)
    const turns: ClaimedTurn[] = []
    if (newest > 0) turns.push(...(await claimTimers(db, newest, grant, 'newest')).turns)
    const limit = places - turns.length
    const claimed = await claimTimers(db, limit, grant)
    turns.push(...claimed.turns)
    // What was not claimed waits behind another event, or somebody else holds its session.
    const isWhole = claimed.seen === claimed.turns.length
    const rest = isWhole ? { seen: 0, events: [] } : await promoteTimers(db, most)
    return {
      promoted: turns.length + rest.events.length,
      more: claimed.seen >= limit || rest.seen > rest.events.length,
      nextMs: claimed.nextMs,
      rows: [...turns.map(claimedRow), ...rest.events.map(rowOf)],
      turns,
    }
  },
}

function claimedRow({ session_key, event_id, scheduled_for, now, traceparent }: ClaimedTurn) {
  const at = scheduled_for ?? now
  return rowOf({
    session_key,
    trigger_id: event_id,
    scheduled_for: at,
    created_at: now,
    traceparent,
  })
}

function rowOf(event: Omit<TimerEvent, 'bucket' | 'seq'>): PromotedRow {
  const { scheduled_for: scheduledFor, created_at, traceparent } = event
  const latenessMs = created_at.getTime() - scheduledFor.getTime()
  if (traceparent === null) return { latenessMs }
  const { trigger_id: triggerId, session_key: sessionKey } = event
  return { latenessMs, trace: { traceparent, sessionKey, triggerId, scheduledFor } }
}
