/** How a slot of the ledger looks from outside. */
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import type { SlotMark } from './mark-rows.ts'
import { type Cause, judgeSlot, type MessageFact } from './rules.ts'
import { slotWords } from './sentence.ts'
import type { Slot } from './slot-operations.ts'

export function entryOf(slot: Slot, timezone: string, now: Date, mark?: SlotMark) {
  const { row, facts, endedAt, missedCount, attempts } = slot
  const judged = judgeSlot(facts)
  const times = { at: row.at, scheduledFor: row.scheduled_for, endedAt }
  const told = { ...judged, kind: row.kind, facts, ...times, missedCount, attempts }
  const event = facts.from === 'event' ? facts : null
  const turn = event?.turns.at(-1)
  const received = event?.messages.find(({ status }) => status === 'completed')
  return {
    id: row.id,
    trigger: { kind: row.kind, id: row.trigger_id, name: slot.name },
    user_id: slot.userId,
    session_key: slot.sessionKey ?? undefined,
    scheduled_for: row.scheduled_for,
    at: row.at,
    ended_at: endedAt,
    outcome: judged.outcome,
    reason: judged.reason === null ? null : causeView(judged.reason),
    words: slotWords(told, timezone, now),
    seen: slot.seen === null ? undefined : new RawJson(slot.seen),
    missed_count: missedCount,
    attempts,
    repeats: facts.from === 'check' ? facts.repeats : undefined,
    verdicts: verdictsOf(slot),
    turn:
      turn === undefined
        ? undefined
        : {
            event_seq: turn.eventSeq,
            status: turn.status,
            started_at: turn.startedAt,
            finished_at: turn.finishedAt,
            error: turn.error,
          },
    effects: (event?.messages ?? []).map(effectView),
    receipt: received === undefined ? undefined : receiptOf(received),
    reply: slot.reply === null ? undefined : { seq: slot.reply.seq, at: slot.reply.at },
    output: outputView(slot),
    dismissed: dismissedView(mark),
  }
}

function dismissedView({
  dismissed_at: at = null,
  dismissed_by: by = null,
}: Partial<SlotMark> = {}) {
  return at === null || by === null ? undefined : { at, by }
}

function effectView(message: MessageFact) {
  const { id, status, channel, reason, at, error, preview, detours = [] } = message
  return {
    ...{ id, status, channel: channel ?? undefined, reason, preview },
    delivered_at: status === 'completed' ? at : null,
    error: error ?? undefined,
    detours:
      detours.length === 0
        ? undefined
        : detours.map((detour) => ({ ...detour, error: detour.error ?? undefined })),
  }
}

function receiptOf({ at, channel }: MessageFact) {
  return { at, channel: channel ?? undefined }
}

function causeView({ rule, count, max, until, error }: Cause) {
  return { rule, count, max, until, error }
}

/** Of the newest attempt; or what a worker's gate said. */
function verdictsOf({ facts }: Slot): readonly unknown[] {
  if (facts.from === 'event') return facts.turns.at(-1)?.verdicts ?? []
  return facts.from === 'check' && facts.gate !== null ? [facts.gate] : []
}

function outputView({ facts }: Slot) {
  const output = facts.from === 'event' ? facts.output : null
  if (output === null || output === undefined) return undefined
  return { run_number: output.runNumber, status: output.status, title: output.title }
}
