/** Work: a task with a frequency. What is due becomes a run with its output; the commit of its turn settles both. */

import { newId } from '../core/ids.ts'
import { storableText } from '../core/text.ts'
import { afterRun, ERROR_MAX, type FinishedRun, takeSlot, workSession } from '../core/work/work.ts'
import { appendNotices, type EndedRun, type Notice, settleRuns } from '../store/work/settle.ts'
import {
  beginRuns,
  type DueWork,
  lockInFlight,
  promoteWork,
  type QueuedRun,
  withdrawnRuns,
} from '../store/work/slots.ts'
import type { PromotedRow, SlotOutcome, Trigger } from './trigger.ts'
import { writeWorkAsks } from './work-asks.ts'

const BATCH = 1000

export const workTrigger: Trigger = {
  type: 'work',
  abortsWithdrawn: true,
  withdrawn: withdrawnRuns,
  began: beginRuns,
  wishes: writeWorkAsks,

  async promote(db) {
    const { due, nextMs } = await promoteWork(db, BATCH, (due) => due.map(runOf))
    const rows = due.map(promotedRow)
    const latenessMs = rows.reduce((most, row) => Math.max(most, row.latenessMs), 0)
    return { promoted: rows.length, more: rows.length === BATCH, nextMs, latenessMs, rows }
  },

  /** A failed run is not tried again: its output says why, and the schedule goes on. */
  async settle(tx, outcomes) {
    const works = await lockInFlight(tx, outcomes)
    const ended: EndedRun[] = []
    const freed: { work: DueWork; nextRunAt: Date | null }[] = []
    for (const outcome of outcomes) {
      const { bucket, eventId } = outcome
      const work = works.get(eventId)
      const ahead = work === undefined ? null : afterRun(work, work.now)
      if (work !== undefined && ahead !== null) freed.push({ work, nextRunAt: ahead.nextRunAt })
      ended.push({
        bucket,
        eventId,
        result: resultOf(outcome),
        missedMore: ahead?.missedCount ?? 0,
      })
    }
    const written = await settleRuns(tx, ended, freed)
    const notices = outcomes.flatMap((outcome) =>
      written.has(outcome.eventId) ? noticeOf(outcome, written.get(outcome.eventId) ?? null) : [],
    )
    if (notices.length > 0) await appendNotices(tx, notices)
  },
}

function promotedRow(work: DueWork): PromotedRow {
  const { now, next_run_at: scheduledFor, traceparent } = work
  if (scheduledFor === null) return { latenessMs: 0 }
  const latenessMs = now.getTime() - scheduledFor.getTime()
  if (traceparent === null) return { latenessMs }
  const sessionKey = workSession(work.user_id, work.agent_type, work.id).key
  return { latenessMs, trace: { traceparent, sessionKey, triggerId: work.id, scheduledFor } }
}

function runOf(work: DueWork): QueuedRun {
  const { bucket, id: workId, user_id: userId, agent_type: agentType } = work
  if (work.next_run_at === null) throw new Error(`work ${workId} is due without a time`)
  const ids = { eventId: newId(), outputId: newId() }
  const sessionKey = workSession(userId, agentType, workId).key
  const slot = { at: work.next_run_at, ...takeSlot(work, work.now) }
  return { bucket, workId, ...ids, sessionKey, userId, agentType, slot, traceparent: null }
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
