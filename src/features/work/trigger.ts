/** Work: a task with a frequency. What is due becomes a run with its output; the commit of its turn settles both. */

import type { CatchUpPlan } from '../../../packages/schedule/src/catch-up.ts'
import { cronSchedule, firedMark } from '../../../packages/schedule/src/index.ts'
import { newId } from '../../core/ids.ts'
import { type SessionRef, sessionOf } from '../../core/session.ts'
import { storableText } from '../../core/text.ts'
import {
  BATCH,
  givenUp,
  type PromotedRow,
  promotedRow,
  type SlotOutcome,
  type Trigger,
  toldMissed,
} from '../../kernel/trigger.ts'
import { claimTx, WORK } from '../../store/due.ts'
import { recordMissed } from '../people/missed-rows.ts'
import { writeWorkAsks } from './command-trigger.ts'
import {
  afterRun,
  ERROR_MAX,
  type FinishedRun,
  isNextAfter,
  notifySession,
  planCatchUp,
} from './rules.ts'
import {
  appendNotices,
  type EndedRun,
  type FreedSlot,
  lockByEvent,
  type Notice,
  noteFailing,
  settleSlots,
  type ToldWork,
  toldWorks,
} from './settle-rows.ts'
import {
  beginRuns,
  dueSlots,
  lastCovering,
  type QueuedRun,
  queueRuns,
  skipSlots,
  type WorkSlot,
  withdrawnEvents,
} from './slot-rows.ts'

export const workTrigger: Trigger = {
  type: 'work',
  table: WORK,
  abortsWithdrawn: true,
  withdrawn: withdrawnEvents,
  began: beginRuns,
  wishes: writeWorkAsks,

  promote: (db) =>
    claimTx(db, async (tx) => {
      const { taken, nextMs } = await dueSlots(tx, BATCH)
      const slots = taken.map((slot) => ({ slot, caught: planCatchUp(slot, slot.now) }))
      const before = await lastCovering(tx, taken.filter(hasPassed))
      const runs = slots.flatMap(({ slot, caught }) => {
        const last = before.get(slot.id)
        const since =
          last !== undefined && isNextAfter(slot, last.completed_at) ? last.created_at : null
        return runOf(slot, caught, since)
      })
      const skipped = slots.filter(({ caught }) => caught.slot === null)
      await queueRuns(tx, runs)
      await skipSlots(
        tx,
        skipped.map(({ slot, caught }) => ({ ...slot, next_run_at: caught.nextAt })),
      )
      await recordMissed(
        tx,
        slots.flatMap(({ slot, caught }) => givenUp('work', slot, caught)),
      )
      const fired = slots.filter(({ caught }) => caught.slot !== null).map(({ slot }) => slot)
      return { promoted: runs.length, more: taken.length === BATCH, nextMs, rows: fired.map(rowOf) }
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
    const ran = outcomes.filter(({ eventId }) => written.has(eventId))
    const works = await toldWorks(tx, ran)
    const told = ran.flatMap((outcome) => {
      const work = works.get(outcome.eventId)
      return work === undefined ? [] : [{ outcome, work, failed: outputOf(outcome) === null }]
    })
    const turned = told.filter(({ work, failed }) => work.failing !== failed)
    await noteFailing(
      tx,
      turned.map(({ work, failed }) => ({ ...work, failing: failed })),
    )
    const notices = told.flatMap(({ outcome, work }) =>
      noticeOf(outcome, work, written.get(outcome.eventId) ?? null),
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

/** Its slot is not the one after the last that ran. */
const hasPassed = (work: WorkSlot) =>
  work.scheduled_for !== null && !isNextAfter(work, work.scheduled_for)

function runOf(work: WorkSlot, caught: CatchUpPlan, since: Date | null): QueuedRun[] {
  const { slot: at, nextAt: nextRunAt, missedCount } = caught
  if (at === null) return []
  const { anchor_at: anchor, now } = work
  const schedule = cronSchedule({ ...work, cron_expr: work.frequency_cron ?? '' })
  const told = toldMissed(caught, { schedule, anchor, since, now })
  const newest = work.catch_up === 'all' ? at : caught.last
  const firedLocal = work.follows_zone
    ? firedMark(schedule, newest, work.fired_local ?? null)
    : null
  const slot = { at, nextRunAt, missedCount, firedLocal, told }
  const ids = { workId: work.id, eventId: newId(), outputId: newId() }
  return [{ session: sessionOfSlot(work), ...ids, slot, traceparent: null }]
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

/** Of a row of failures only the first is told, and the success that ends it. */
function noticeOf(outcome: SlotOutcome, work: ToldWork, traceparent: string | null): Notice[] {
  const session = work.notify ? notifySession(work, work.user_id) : null
  const output = outputOf(outcome)
  if (session === null || (output === null && work.failing)) return []
  const { id: workId, run_number, agent_type, task: title } = work
  const failure = { notice: true, work_id: workId, run_number, agent_type, title, file_url: null }
  const payload =
    output === null
      ? JSON.stringify({ ...failure, excerpt: outcome.error ?? '', failed: true })
      : work.failing
        ? JSON.stringify({ ...(JSON.parse(output.notice) as object), recovered: true })
        : output.notice
  return [{ session, payload, eventId: newId(), workId, traceparent }]
}
