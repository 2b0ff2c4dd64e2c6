/** Timers: inside a session, gone when the user speaks. A promoted timer has no slot left to settle. */
import { newId } from '../core/ids.ts'
import { type Promoted, promoteTimers } from '../store/sessions/timers.ts'
import { BATCH, type PromotedRow, type Trigger } from './trigger.ts'

/** Most looks find nothing or little: a thousand ids for each of them took 5 ms, the look itself takes 0.4. */
const FEW = 20

export const timerTrigger: Trigger = {
  type: 'timer',
  async promote(db, busy = false) {
    const ids = Array.from({ length: busy ? BATCH : FEW }, newId)
    const row = await promoteTimers(db, ids)
    return {
      promoted: row.promoted,
      more: row.seen === ids.length,
      nextMs: row.next_ms,
      rows: rowsOf(row),
    }
  },
}

function rowsOf({ lateness_ms, traces }: Promoted): PromotedRow[] {
  const rows: PromotedRow[] = lateness_ms.map((latenessMs) => ({ latenessMs }))
  if (traces === null) return rows
  const traced = JSON.parse(traces) as [string, string, string, number][]
  return rows.map((row, index) => {
    const trace = traced[index]
    if (trace === undefined) return row
    const [traceparent, sessionKey, triggerId, fireMs] = trace
    const scheduledFor = new Date(fireMs)
    return { ...row, trace: { traceparent, sessionKey, triggerId, scheduledFor } }
  })
}
