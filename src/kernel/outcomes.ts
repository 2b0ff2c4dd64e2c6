/** What turns say to triggers: the outcomes of the slots they end, and what they ask of a trigger. */
import { EFFECTS_PER_TURN_MAX, type EventType } from '../core/session.ts'
import { lineageText } from '../features/limits/lineage.ts'
import type { NewDeferred } from '../features/people/deferred-rows.ts'
import type { EffectRow } from '../features/sessions/turn.ts'
import type { TurnWrite } from '../features/sessions/turn-rows.ts'
import { childOfEvent, sessionOf } from './budgets.ts'
import type { Finished } from './commit.ts'
import { isRelease } from './preferences.ts'
import type { PendingCommand, SlotOutcome } from './trigger.ts'

/** A turn as it is written. */
export interface Settled {
  readonly turn: Finished
  /** The database's time of the transaction. */
  readonly now: Date
  readonly row: TurnWrite
  /** Slots that wait for another moment: nothing of the turn is kept, and the triggers that hold them still do. */
  readonly deferred: readonly NewDeferred[]
}

export function asked(
  { turn, row }: Pick<Settled, 'turn' | 'row'>,
  trigger: EventType,
): PendingCommand[] {
  const { claim, result } = turn
  const { traceparent, decision } = row
  const wishes = (result?.wishes ?? []).slice(0, EFFECTS_PER_TURN_MAX)
  const plain = wishes.filter((wish) => wish.type === 'trigger_command')
  const wanted = [...plain, ...(decision.along ?? [])].filter((wish) => wish.trigger === trigger)
  if (wanted.length === 0) return []
  const lineage = lineageText(childOfEvent(claim))
  return wanted.map(({ ask }) => ({
    session: sessionOf(claim),
    wish: { type: 'trigger_command', trigger, ask },
    eventSeq: claim.seq,
    traceparent,
    lineage,
  }))
}

/** The slots that the turn ends, of triggers of this type. What is deferred and held on has not ended; a run to be tried again neither. */
export function outcomesOf(each: Settled, type: EventType): SlotOutcome[] {
  const { turn, row, deferred } = each
  const { claim, slots = [] } = turn
  if (row.status === 'retrying') return []
  if (isRelease(claim))
    return deferred.length > 0
      ? []
      : slots.flatMap((slot) =>
          slot.held && slot.kind === type && slot.trigger_id !== null
            ? [
                outcome(each, type, {
                  triggerId: slot.trigger_id,
                  scheduledFor: slot.scheduled_for,
                  eventSeq: slot.event_seq,
                  eventId: slot.id,
                }),
              ]
            : [],
        )
  if (claim.type !== type || deferred.some(({ held }) => held)) return []
  const { trigger_id: triggerId, scheduled_for: scheduledFor, seq, event_id: eventId } = claim
  if (triggerId === null || scheduledFor === null) return []
  return [outcome(each, type, { triggerId, scheduledFor, eventSeq: seq, eventId })]
}

function outcome(
  { turn, now, row }: Settled,
  type: EventType,
  slot: Pick<SlotOutcome, 'triggerId' | 'scheduledFor' | 'eventSeq' | 'eventId'>,
): SlotOutcome {
  const { claim, failure } = turn
  return {
    ...slot,
    bucket: claim.bucket,
    sessionKey: claim.session_key,
    committed: row.status === 'committed',
    error: row.error,
    terminal: failure?.terminal ?? false,
    retryAfterMs: failure?.retryAfterMs ?? 0,
    messages: row.decision.effects.flatMap(messageOf),
    verdicts: row.decision.verdicts,
    asks: asked({ turn, row }, type).map(({ wish }) => wish.ask),
    startedAt: row.startedAt,
    now,
  }
}

function messageOf({ id, type, payload }: EffectRow): { id: string; content: string }[] {
  if (type !== 'send_message') return []
  return [{ id, content: (JSON.parse(payload) as { content: string }).content }]
}
