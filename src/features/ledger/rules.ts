/**
 * The ledger's vocabulary: what became of a slot, as a total function of what the rows say about it. Pure. The
 * facts are read from the tables that hold them anyway; nothing here is kept a second time.
 */
import type { DeferRule } from '../people/preferences.ts'
import type { Reason, Verdict } from '../sessions/gate.ts'
import type { TurnCause } from '../sessions/turn.ts'

export const TRIGGER_KINDS = ['timer', 'alarm', 'intent', 'work'] as const
export type TriggerKind = (typeof TRIGGER_KINDS)[number]

/** Whose slots are told. Nobody plans a question: it is open, and its slot is the instant of its default. */
export const LEDGER_KINDS = [...TRIGGER_KINDS, 'question'] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

export const OUTCOMES = [
  'delivered',
  'sent',
  'silent',
  'suppressed',
  'deferred',
  'missed',
  'condition_false',
  'postponed',
  'expired',
  'failed',
  'cancelled',
  'pending',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** What each outcome means, for those who read it. */
export const OUTCOME_MEANINGS: Readonly<Record<Outcome, string>> = {
  delivered: 'a message was received, a run completed, or a receiver took the wake',
  sent: 'a message was committed and has not been received yet',
  silent: 'the agent ran and had nothing to say',
  suppressed:
    'a limit held back what the agent wanted to say on its own initiative, or the person does not want to hear from it',
  deferred:
    'its moment had not come by the preferences of the person; it comes later, by itself or with others',
  missed: 'its time passed during a pause, or its catch_up gave it up',
  condition_false: 'the condition did not hold; seen says what was seen',
  postponed: 'the gate of a worker outside held it back for now; it is tried again',
  expired: 'it was past its expires_at',
  failed: 'no attempt got through',
  cancelled: 'it was cancelled, or its user spoke first, before anything was sent',
  pending: 'taken and not yet ended, or waiting for its next attempt',
}

/** One attempt of an agent, as far as it decides what came of it. */
interface Attempt {
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly error: string | null
  readonly cause: TurnCause | null
  readonly verdicts: readonly Verdict[]
}

/** The same, as its turn says. */
export interface TurnFact extends Attempt {
  readonly eventSeq: number
  readonly startedAt: Date
  readonly finishedAt: Date
}

/** A message that a turn of the slot promised. */
export interface MessageFact {
  readonly id: string
  readonly status: 'pending' | 'executing' | 'completed' | 'failed'
  /** By which it arrived. */
  readonly channel: string | null
  readonly reason: Reason
  /** When its status became so. */
  readonly at: Date
  readonly error: string | null
  readonly preview: string
  /** Where it was meant to go before, oldest first, and why it did not. */
  readonly detours?: readonly Detour[]
}

export interface Detour {
  readonly channel: string
  readonly outcome: 'closed' | 'refused' | 'gone' | 'failed'
  readonly error: string | null
  readonly at: string
}

/** What decides of an event of a session, or of several attempts at one slot. */
interface EventState {
  /** Oldest first. */
  readonly turns: readonly Attempt[]
  readonly messages: readonly Pick<MessageFact, 'status' | 'error'>[]
  /** The session has gone past its last event, so a turn there is no more than forgotten. */
  readonly passed: boolean
  /** Its trigger holds the slot for another attempt, at this instant. */
  readonly again: Date | null
  /** Its trigger was cancelled with the slot in hand. */
  readonly cancelled: boolean
  /** Of work: the output. Null where it is gone with its work. */
  readonly output?: OutputFact | null
  /** Where it waited for its moment; what came of it then is among the turns and messages. */
  readonly deferred?: DeferredFact | null
}

export interface DeferredFact {
  readonly status: 'waiting' | 'released' | 'expired' | 'cancelled'
  readonly rule: DeferRule
  /** When it comes, if it waits. */
  readonly until: Date | null
  /** When that became so. */
  readonly at: Date
  /** How many slots were released as one event with it, itself among them. */
  readonly together: number
}

/** A slot that became an event of a session, once or at several attempts. */
export interface EventFacts extends EventState {
  readonly from: 'event'
  readonly turns: readonly TurnFact[]
  readonly messages: readonly MessageFact[]
}

/** One event by itself, with its newest attempt and how the messages of it stand. */
export interface Occasion {
  readonly status: Attempt['status'] | null
  readonly error: string | null
  readonly cause: TurnCause | null
  /** JSON text. */
  readonly verdicts: string
  readonly messages: readonly MessageFact['status'][]
}

export interface OutputFact {
  readonly status: 'pending' | 'running' | 'completed' | 'failed'
  readonly runNumber: number
  readonly title: string | null
  readonly error: string | null
}

/** A look at an intent that led to no event, or what an outside worker reported. */
export interface CheckFacts {
  readonly from: 'check'
  readonly status: 'success' | 'failed' | 'gate_blocked' | 'condition_not_met'
  readonly expired: boolean
  readonly reported: boolean
  readonly gate: Readonly<Record<string, unknown>> | null
  readonly seen: Readonly<Record<string, unknown>> | null
  readonly error: string | null
  readonly repeats: number
}

/** The record of a check, as its row says. JSON as text. */
export interface CheckRow {
  readonly status: CheckFacts['status']
  readonly cause: 'expired' | null
  readonly trigger_data: string | null
  readonly gate_result: string | null
  readonly error_message: string | null
  /** Of a check of ours; a report came once. */
  readonly last_seen_at: Date | null
  readonly repeats: number
}

export function checkFacts(row: CheckRow): CheckFacts {
  return {
    from: 'check',
    status: row.status,
    expired: row.cause === 'expired',
    reported: row.last_seen_at === null,
    gate: fields(row.gate_result),
    seen: fields(row.trigger_data),
    error: row.error_message,
    repeats: row.repeats,
  }
}

/** Written by us or checked when it was reported; anything but an object says nothing. */
function fields(json: string | null): Readonly<Record<string, unknown>> | null {
  const value = json === null ? null : (JSON.parse(json) as unknown)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

/** A slot delivered by a call of its receiver. */
export interface WakeFacts {
  readonly from: 'wake'
  readonly status: 'taken' | 'failed' | 'retrying'
  readonly attempts: number
  readonly error: string | null
  readonly again: Date | null
  readonly cancelled: boolean
}

/** A slot whose trigger was cancelled before anything came of it. */
export interface CancelFacts {
  readonly from: 'cancel'
  /** Of a question: what the person answered before its time was over. */
  readonly answer?: string
  /** A receiver was being called when it was cancelled. */
  readonly calling: boolean
}

export interface MissedFacts {
  readonly from: 'missed'
  readonly slots: number
  readonly last: Date
  readonly rule: 'catch_up' | 'paused'
}

export type SlotFacts = EventFacts | CheckFacts | WakeFacts | CancelFacts | MissedFacts

/** Why: a rule, with its numbers where it has some, or an error. */
export interface Cause {
  readonly rule: string
  readonly count?: number
  readonly max?: number
  readonly until?: Date
  readonly error?: string
}

export interface Judged {
  readonly outcome: Outcome
  readonly reason: Cause | null
}

export function judgeSlot(facts: SlotFacts): Judged {
  switch (facts.from) {
    case 'event':
      return judgeEvent(facts)
    case 'check':
      return judgeCheck(facts)
    case 'wake':
      return judgeWake(facts)
    case 'cancel':
      if (facts.answer !== undefined) return cancelled('answered')
      return cancelled(facts.calling ? 'cancelled_while_calling' : 'cancelled')
    case 'missed':
      return { outcome: 'missed', reason: { rule: facts.rule, count: facts.slots } }
  }
}

/** By the same rules as the slot it belongs to. */
export function judgeOccasion(occasion: Occasion): Judged & { verdicts: readonly Verdict[] } {
  const { status, error, cause, messages } = occasion
  const verdicts = readVerdicts(occasion.verdicts)
  const judged = judgeEvent({
    turns: status === null ? [] : [{ status, error, cause, verdicts }],
    messages: messages.map((each) => ({ status: each, error: null })),
    ...{ passed: false, again: null, cancelled: false },
  })
  return { ...judged, verdicts }
}

const plain = (outcome: Outcome): Judged => ({ outcome, reason: null })
const cancelled = (rule: string): Judged => ({ outcome: 'cancelled', reason: { rule } })
const failed = (rule: string, error: string | null): Judged => ({
  outcome: 'failed',
  reason: { rule, ...(error === null ? {} : { error }) },
})

function judgeEvent(facts: EventState): Judged {
  const { turns, messages, output } = facts
  const last = turns.at(-1)
  // A message speaks for itself: what happened to the trigger afterwards does not unsend it.
  if (messages.length > 0) return judgeMessages(messages)
  if (last === undefined) return judgeUnrun(facts)
  if (last.status === 'committed') {
    const block = last.verdicts.find((verdict) => !verdict.allowed)
    if (block && 'deferred' in block && block.deferred) return judgeDeferred(facts, block)
    if (block) return { outcome: 'suppressed', reason: blockCause(block) }
    return output === undefined ? judgeSilent(last) : judgeOutput(output)
  }
  const error = last.error ?? 'the turn failed'
  if (last.status === 'retrying')
    return { outcome: 'pending', reason: { rule: 'attempt_failed', error } }
  if (last.cause === 'withdrawn' || last.cause === 'deleted') return cancelled('cancelled')
  if (last.cause === 'stopped') return cancelled('stopped')
  if (last.cause === 'over_budget') return failed('over_budget', error)
  if (facts.cancelled) return cancelled('cancelled_between_attempts')
  if (facts.again !== null)
    return { outcome: 'pending', reason: { rule: 'attempt_failed', until: facts.again, error } }
  return failed('attempts_failed', error)
}

function judgeSilent({ verdicts }: Attempt): Judged {
  const found = verdicts.find(({ rule }) => rule === 'silent' || rule === 'undecided')
  return { outcome: 'silent', reason: found === undefined ? null : { rule: found.rule } }
}

/** Of a slot whose newest turn deferred it. */
function judgeDeferred(
  { deferred, cancelled: gone }: EventState,
  block: Verdict & { allowed: false },
): Judged {
  if (gone && deferred?.status !== 'expired') return cancelled('cancelled')
  switch (deferred?.status) {
    case 'released':
      return { outcome: 'pending', reason: { rule: 'waits_for_turn' } }
    case 'expired':
      return { outcome: 'expired', reason: { rule: 'condition_gone' } }
    case 'cancelled':
      return cancelled('cancelled')
    case 'waiting': {
      const until = deferred.until === null ? {} : { until: deferred.until }
      return {
        outcome: 'deferred',
        reason: { ...blockCause(block), rule: deferred.rule, ...until },
      }
    }
    case undefined:
      return { outcome: 'deferred', reason: blockCause(block) }
  }
}

function judgeUnrun({ passed, cancelled: gone, output }: EventState): Judged {
  if (output?.status === 'completed' || output?.status === 'failed') return judgeOutput(output)
  if (passed) return { outcome: 'silent', reason: { rule: 'record_pruned' } }
  return gone ? cancelled('cancelled') : { outcome: 'pending', reason: { rule: 'waits_for_turn' } }
}

function judgeMessages(messages: EventState['messages']): Judged {
  if (messages.some(({ status }) => status === 'completed')) return plain('delivered')
  const open = messages.some(({ status }) => status === 'pending' || status === 'executing')
  if (open) return plain('sent')
  return failed('delivery_failed', messages.find(({ error }) => error !== null)?.error ?? null)
}

/** Of a run whose turn has committed; its work may have been deleted since. */
function judgeOutput(output: OutputFact | null): Judged {
  if (output === null) return { outcome: 'delivered', reason: { rule: 'output_deleted' } }
  if (output.status === 'failed') return failed('run_failed', output.error)
  return output.status === 'completed' ? plain('delivered') : plain('pending')
}

function judgeCheck(facts: CheckFacts): Judged {
  const { status, error, gate } = facts
  if (facts.expired) return { outcome: 'expired', reason: { rule: 'expires_at_passed' } }
  switch (status) {
    case 'success':
      return plain('delivered')
    case 'failed':
      return failed(facts.reported ? 'reported_failed' : 'check_failed', error)
    case 'condition_not_met':
      return { outcome: 'condition_false', reason: { rule: seenRule(facts) } }
    case 'gate_blocked':
      return { outcome: 'postponed', reason: gateCause(gate) }
  }
}

function seenRule({ seen, reported }: CheckFacts): string {
  const said = seen?.reason
  if (typeof said === 'string' && said !== '') return said
  return reported ? 'reported_not_met' : 'condition_not_met'
}

function judgeWake({ status, error, again, cancelled: gone }: WakeFacts): Judged {
  if (status === 'taken') return plain('delivered')
  if (status === 'failed') return failed('attempts_failed', error)
  if (gone) return cancelled('cancelled_between_attempts')
  const reason = { rule: 'attempt_failed', ...(error === null ? {} : { error }) }
  if (again !== null) return { outcome: 'pending', reason: { ...reason, until: again } }
  return failed('attempts_failed', error)
}

function blockCause(verdict: Verdict & { allowed: false }): Cause {
  const { rule, count, max } = verdict
  return {
    rule,
    ...(count === undefined ? {} : { count }),
    ...(max === undefined ? {} : { max }),
    ...('until' in verdict && verdict.until !== undefined ? { until: verdict.until } : {}),
  }
}

/** What an outside worker's own gate said: only what is plainly there is taken over. */
function gateCause(gate: Readonly<Record<string, unknown>> | null): Cause {
  const { rule, reason, count, max, until, defer_until } = gate ?? {}
  const named = [rule, reason].find((text) => typeof text === 'string' && text !== '')
  const at = [until, defer_until].map(instantOf).find((instant) => instant !== null)
  return {
    rule: typeof named === 'string' ? named : 'gate_blocked',
    ...(typeof count === 'number' ? { count } : {}),
    ...(typeof max === 'number' ? { max } : {}),
    ...(at === undefined || at === null ? {} : { until: at }),
  }
}

function instantOf(value: unknown): Date | null {
  if (value instanceof Date) return value
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : new Date(at)
}

/** Verdicts as a turn's row holds them. */
export function readVerdicts(json: string): Verdict[] {
  return (JSON.parse(json) as Readonly<Record<string, unknown>>[]).map((each) => {
    const until = instantOf(each.until)
    return { ...each, ...(until === null ? {} : { until }) } as Verdict
  })
}
