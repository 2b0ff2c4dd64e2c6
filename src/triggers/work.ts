/** Work: a task with a frequency. What is due becomes a run with its output; the commit of its turn settles both. */

import { newId } from '../core/ids.ts'
import { type SessionRef, sessionOf } from '../core/sessions/session.ts'
import { storableText } from '../core/text.ts'
import { afterRun, ERROR_MAX, type FinishedRun, takeSlot } from '../core/work/work.ts'
import { inIndexOrder } from '../store/db/due.ts'
import {
  appendNotices,
  type EndedRun,
  type FreedSlot,
  lockByEvent,
  type Notice,
  settleSlots,
} from '../store/work/settle.ts'
import {
  beginRuns,
  dueSlots,
  type QueuedRun,
  queueRuns,
  type WorkSlot,
  withdrawnEvents,
} from '../store/work/slots.ts'
import { BATCH, type PromotedRow, promotedRow, type SlotOutcome, type Trigger } from './trigger.ts'
import { writeWorkAsks } from './work-asks.ts'

export const workTrigger: Trigger = {
  type: 'work',
  abortsWithdrawn: true,
  withdrawn: withdrawnEvents,
  began: beginRuns,
  wishes: writeWorkAsks,

  promote: (db) =>
    inIndexOrder(db, async (tx) => {
      const { taken: slots, nextMs } = await dueSlots(tx, BATCH)
      await queueRuns(tx, slots.map(runOf))
      const promoted = slots.length
      return { promoted, more: promoted === BATCH, nextMs, rows: slots.map(rowOf) }
    }),

  /** A failed run is not tried again: its output says why, and the schedule goes on. */
  async settle(tx, outcomes) {
    const slots = await lockByEvent(tx, outcomes)
    const ended: EndedRun[] = []
    const freed: FreedSlot[] = []
    for (const outcome of outcomes) {
      const { bucket, eventId } = outcome
      const slot = slots.get(eventId)
      const ahead = slot === undefined ? null : afterRun(slot, slot.now)
      if (slot !== undefined && ahead !== null) freed.push({ slot, nextRunAt: ahead.nextRunAt })
      const missedMore = ahead?.missedCount ?? 0
      ended.push({ bucket, eventId, result: resultOf(outcome), missedMore })
    }
    const written = await settleSlots(tx, ended, freed)
    const notices = outcomes.flatMap((outcome) =>
      written.has(outcome.eventId) ? noticeOf(outcome, written.get(outcome.eventId) ?? null) : [],
    )
    await appendNotices(tx, notices)
  },
}

function sessionOfSlot({ bucket, id, user_id, agent_type }: WorkSlot): SessionRef {
  return sessionOf(user_id, agent_type, id, bucket)
}

function rowOf(slot: WorkSlot): PromotedRow {
  const { id: triggerId, now, next_run_at: scheduledFor, traceparent } = slot
  if (scheduledFor === null) return { latenessMs: 0 }
  const latenessMs = now.getTime() - scheduledFor.getTime()
  const session = sessionOfSlot(slot)
  return promotedRow(latenessMs, { traceparent, session, triggerId, scheduledFor })
}

function runOf(work: WorkSlot): QueuedRun {
  const { id: workId, next_run_at: at } = work
  if (at === null) throw new Error(`work ${workId} is due without a time`)
  const slot = { at, ...takeSlot(work, work.now) }
  const ids = { workId, eventId: newId(), outputId: newId() }
  return { session: sessionOfSlot(work), ...ids, slot, traceparent: null }
}

function resultOf(outcome: SlotOutcome): EndedRun['result'] {
  const output = outputOf(outcome)
  if (output !== null) return output
  return { error: storableText(outcome.error ?? 'the run ended without a result', ERROR_MAX) }
}

function outputOf({ committed, asks }: SlotOutcome): FinishedRun | null {
  if (!committed) return null
  return asks.flatMap((ask) => ('output' in ask ? [ask.output] : [])).at(-1) ?? null
}

function noticeOf(outcome: SlotOutcome, traceparent: string | null): Notice[] {
  const notice = outputOf(outcome)?.notice ?? null
  return notice === null
    ? []
    : [{ ...notice, eventId: newId(), workId: outcome.triggerId, traceparent }]
}
