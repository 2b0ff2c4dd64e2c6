/**
 * Intents that Wakeful runs itself: check, condition, then an event. What does not fire leaves its record and costs
 * no agent call; what fires is settled, with its record, by the commit of its turn.
 */
import { performance } from 'node:perf_hooks'
import { firedMark, type Schedule, ScheduleError } from '../../../packages/schedule/src/index.ts'
import { newId } from '../../core/ids.ts'
import { MAIN_THREAD, parseSessionKey, type SessionRef, sessionOf } from '../../core/session.ts'
import { storableText } from '../../core/text.ts'
import {
  BATCH,
  type CapacityGrant,
  givenUp,
  type PromotedRow,
  promotedRow,
  type SlotOutcome,
  type Trigger,
  toldMissed,
} from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, INTENTS } from '../../store/due.ts'
import { lastEventsOf } from '../../store/slots.ts'
import { fromOutside, lineageOf, lineageText, ORIGINS } from '../limits/lineage.ts'
import { recordMissed } from '../people/missed-rows.ts'
import type { ClaimedTurn } from '../sessions/rows.ts'
import { writeIntentAsks } from './command-trigger.ts'
import { evaluateDue, type Look } from './evaluation-trigger.ts'
import {
  afterReport,
  afterTurn,
  EXPIRED,
  type IntentTerms,
  isConditionType,
  PRIORITIES,
  scheduleOf,
  slotOf,
  termsOf,
} from './rules.ts'
import {
  type Execution,
  freeSlots,
  lockByEvent,
  recordExecutions,
  type SettledSlot,
  settleSlots,
} from './settle-rows.ts'
import { useFacts } from './signal-rows.ts'
import {
  type Check,
  dueSlots,
  type Fire,
  type IntentSlot,
  promoteSlots,
  skipSlots,
  withdrawnEvents,
  writeChecks,
} from './slot-rows.ts'

const PREVIEW_MAX = 200
const ERROR_MAX = 2000

export const intentTrigger: Trigger = {
  type: 'intent',
  table: INTENTS,
  // Most looks lead to no event: what they come to does not depend on one another.
  lanes: 2,
  leases: 'each',

  promote: (db, _busy, lent = null) =>
    claimTx(db, async (tx) => {
      const startedMs = performance.now()
      const { taken: slots, nextMs } = await dueSlots(tx, BATCH)
      if (slots.length === 0) return { promoted: 0, more: false, nextMs, rows: [] }
      const looks = await evaluateDue(tx, slots)
      const acting = { startedMs, regular: true, lent }
      const { fired, checks, turns } = await act(tx, looks, acting)
      return {
        turns,
        ...{
          promoted: fired.length,
          more: slots.length === BATCH,
          nextMs: soonest(nextMs, checks),
        },
        rows: fired.map((fire) => rowOf(fire, lateMs(fire.slot))),
      }
    }),

  async settle(tx, outcomes) {
    const slots = await lockByEvent(tx, outcomes)
    const executions = outcomes.map((outcome) =>
      executionOf(outcome, slots.get(outcome.eventId) ?? null),
    )
    await recordExecutions(tx, executions)
    const settled = executions.flatMap(settledOf)
    await settleSlots(tx, settled)
    const used = settled.flatMap(({ slot, execution }) =>
      slot.fact !== null && (execution.status === 'success' || execution.terminal)
        ? [{ bucket: slot.bucket, intentId: slot.id, key: slot.fact, userId: slot.user_id }]
        : [],
    )
    await useFacts(tx, used)
  },

  withdrawn: withdrawnEvents,
  wishes: writeIntentAsks,
}

export function rowOf(fire: Fire, latenessMs: number): PromotedRow {
  return promotedRow(latenessMs, { ...fire, triggerId: fire.slot.id })
}

function lateMs({ now, next_check }: IntentSlot): number {
  return next_check === null ? 0 : Math.max(0, now.getTime() - next_check.getTime())
}

/** What was just checked may be the next to be looked at: it was due itself when the others were asked for. */
function soonest(nextMs: number | null, checks: readonly Check[]): number | null {
  let soon = nextMs ?? Number.POSITIVE_INFINITY
  for (const { slot, nextCheck, enabled } of checks) {
    if (enabled && nextCheck !== null)
      soon = Math.min(soon, nextCheck.getTime() - slot.now.getTime())
  }
  return soon === Number.POSITIVE_INFINITY ? null : soon
}

export interface Acting {
  readonly startedMs: number
  /** The clock's own look, which says when the next one is; a signal's leaves that as it was. */
  readonly regular: boolean
  readonly lent?: CapacityGrant | null
  /** The trace in which the signal was told that fires one which was made in none. */
  readonly traceOf?: (signal: number) => string | null
}

/** With the signal that fired it, if one did. */
export type Fired = Fire & Pick<Look, 'signal'>

/** Slots of it passed while its last event was in hand. */
const hasPassed = ({ scheduled_for, missed_count }: IntentSlot) =>
  scheduled_for === null && missed_count > 0

function recurringOf(terms: IntentTerms): Schedule | null {
  const schedule = scheduleOf(terms)
  return schedule === null || schedule instanceof ScheduleError ? null : schedule
}

/** Slots that it stands for have fired with it. */
function firedOf({ slot, terms }: Look, at: Date, last: Date): string | null {
  const schedule = slot.follows_zone ? recurringOf(terms) : null
  return firedMark(schedule, terms.catch_up === 'all' ? at : last, slot.fired_local)
}

/** Carries out what the looks came to, within the transaction that holds the locks. */
export async function act(
  tx: Db,
  looks: readonly Look[],
  acting: Acting,
): Promise<{
  fired: readonly Fired[]
  checks: readonly Check[]
  turns: readonly ClaimedTurn[]
}> {
  const due = looks
    .filter((look) => look.outcome === 'fire')
    .toSorted(bySlot)
    .map((look) => ({ look, caught: slotOf(look.terms, look.slot.now) }))
  const evaluationMs = Math.round(performance.now() - acting.startedMs)
  const checks: Check[] = looks
    .filter((look) => look.outcome !== 'fire')
    .map((look) => checkOf(look, evaluationMs, acting))
  const passed = due.filter(({ look: { slot } }) => hasPassed(slot))
  const since = await lastEventsOf(
    tx,
    passed.map(({ look }) => look.slot.id),
  )
  const fired = due.flatMap(({ look, caught }): Fired[] => {
    const { slot, signal, terms } = look
    if (caught.slot === null) return []
    const traceparent = slot.traceparent ?? (signal === null ? null : acting.traceOf?.(signal))
    const when = {
      scheduledFor: caught.slot,
      firedLocal: firedOf(look, caught.slot, caught.last),
      ...toldMissed(caught, {
        ...{ schedule: recurringOf(terms), anchor: terms.anchor_at, now: slot.now },
        since: since.get(slot.id) ?? null,
      }),
    }
    const made = { session: sessionOfSlot(slot), ...fireOf(look), ...when, eventId: newId() }
    const lineage = firedLineage(look)
    return [{ ...made, evaluationMs, signal, traceparent: traceparent ?? null, lineage }]
  })
  const skipped = due.filter(({ caught }) => caught.slot === null)
  await skipSlots(
    tx,
    skipped.map(({ look: { slot }, caught }) => ({ ...slot, next_check: caught.nextAt })),
  )
  await recordMissed(
    tx,
    due.flatMap(({ look, caught }) => givenUp('intent', look.slot, caught)),
  )
  await writeChecks(tx, checks)
  const turns = await promoteSlots(tx, fired, acting.lent)
  return { fired, checks, turns }
}

/** A fire by a fact from outside has that fact's origin, no matter who made the intent. */
function firedLineage({ slot, terms }: Look): string | null {
  const origin = ORIGINS.find((each) => each === terms.trigger_type)
  if (origin === undefined) return slot.lineage
  const { id, now: at, lineage } = slot
  return lineageText(fromOutside(lineageOf({ type: 'intent', id, at, lineage }), origin))
}

/** The order in which intents of one session become its events: of those due at one instant, what is more important first. */
function bySlot({ slot: a }: Look, { slot: b }: Look): number {
  const due = (slot: IntentSlot) => (slot.scheduled_for ?? slot.next_check ?? slot.now).getTime()
  const rank = (slot: IntentSlot) => (PRIORITIES as readonly string[]).indexOf(slot.action_priority)
  return due(a) - due(b) || rank(b) - rank(a) || (a.id < b.id ? -1 : 1)
}

function sessionOfSlot({ bucket, user_id, agent_id, thread_id }: IntentSlot): SessionRef {
  return sessionOf(user_id, agent_id, thread_id || MAIN_THREAD, bucket)
}

function fireOf(look: Look) {
  const { slot, data, wasMet, seenAt, again, fact, looks } = look
  return { slot, data, wasMet, seenAt, again, fact, looks }
}

/**
 * Conditions whose fire was deferred, looked at again before they are released: by the id of their event, JSON text of what was
 * seen. Those that are known to hold no more are free to watch on; where nothing newer is known, what was promised is kept.
 */
export async function lookAgain(
  tx: Db,
  events: readonly { readonly bucket: number; readonly eventId: string }[],
): Promise<{ seen: Map<string, string>; gone: Set<string> }> {
  const startedMs = performance.now()
  const slots = await lockByEvent(tx, events)
  const eventOf = new Map([...slots].map(([eventId, slot]) => [slot.id, eventId]))
  // As if it had not fired: what counts is whether it would.
  const fresh = [...slots.values()].map((slot) => ({ ...slot, was_met: false, again: null }))
  const looks = await evaluateDue(tx, fresh)
  const over = looks.filter(({ outcome, reason }) => outcome === 'quiet' && reason === 'false')
  const evaluationMs = Math.round(performance.now() - startedMs)
  const checks = over.map((look) => checkOf(look, evaluationMs, { regular: true }))
  await writeChecks(tx, checks)
  await freeSlots(
    tx,
    over.map(({ slot }) => slot),
  )
  const named = (look: Look) => eventOf.get(look.slot.id) ?? ''
  return {
    seen: new Map(looks.map((look) => [named(look), look.data])),
    gone: new Set(over.map(named)),
  }
}

function checkOf(look: Look, evaluationMs: number, { regular }: Pick<Acting, 'regular'>): Check {
  const { slot, terms, outcome, lookAt } = look
  const status = outcome === 'failed' ? 'failed' : 'condition_not_met'
  const ended = outcome === 'expired'
  const { next_check } = afterReport({ ...terms, expires_at: null }, { status }, slot.now)
  const error = ended ? EXPIRED : outcome === 'failed' ? look.reason : null
  return {
    ...recorded(look, status, look.reason, evaluationMs),
    looks: look.looks,
    error: error === null ? null : storableText(error, ERROR_MAX),
    cause: ended ? 'expired' : null,
    nextCheck: regular ? nextLook(look, next_check) : lookAt,
    enabled: !ended,
    lookedFor: ended || isConditionType(terms.trigger_type) ? null : slotOf(terms, slot.now).slot,
  }
}

/** Not after it expires: then it is disabled. */
function nextLook({ terms, lookAt }: Look, regular: Date | null): Date | null {
  const known = lookAt !== null && terms.trigger_type === 'silence'
  const ahead = known ? [lookAt, terms.expires_at] : [lookAt, regular, terms.expires_at]
  return ahead.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)
}

function recorded(look: Look, status: Check['status'], reason: string, evaluationMs: number) {
  const { slot, terms, data, wasMet, seenAt, again, looks } = look
  const said = storableText(`${status} ${reason}`, ERROR_MAX)
  // Each slot of a schedule has a record of its own; only looks at one and the same are counted together.
  const same = isConditionType(terms.trigger_type) || slot.scheduled_for !== null
  const executionId =
    same && slot.quiet_execution !== null && slot.quiet_reason === said
      ? slot.quiet_execution
      : newId()
  return {
    slot,
    executionId,
    status,
    reason: said,
    data,
    wasMet,
    seenAt,
    again,
    looks,
    evaluationMs,
  }
}

function executionOf(outcome: SlotOutcome, slot: IntentSlot | null): Execution {
  const [message] = outcome.messages
  const [verdict = null] = outcome.verdicts
  return {
    slot,
    id: newId(),
    bucket: outcome.bucket,
    userId: parseSessionKey(outcome.sessionKey)?.userId ?? '',
    sessionKey: outcome.sessionKey,
    eventSeq: outcome.eventSeq,
    scheduledFor: outcome.scheduledFor,
    status: outcome.committed ? 'success' : 'failed',
    terminal: outcome.terminal,
    gate: verdict === null ? null : JSON.stringify(verdict),
    error: outcome.error === null ? null : storableText(outcome.error, ERROR_MAX),
    messageId: message?.id ?? null,
    preview: message === undefined ? null : storableText(message.content, PREVIEW_MAX),
    generationMs: Math.max(0, outcome.now.getTime() - outcome.startedAt.getTime()),
  }
}

function settledOf(execution: Execution): SettledSlot[] {
  const { slot } = execution
  if (slot === null) return []
  return [{ slot, execution, next: afterTurn(termsOf(slot), slot, execution, slot.now) }]
}
