/**
 * What a finished turn becomes. The agent's wishes go in, with the session's counters and database time
 * as the commit found them; rows to write come out. Pure, so that the gate is judged in the very
 * transaction that creates the messages, and so that every rule here can be tested without a store.
 */
import { hash } from 'node:crypto'
import { canonicalJson, RawJson } from '../../../packages/exact-json/src/index.ts'
import { TURN_ATTEMPTS_MAX, turnRetryMs } from '../../core/backoff.ts'
import { newId } from '../../core/ids.ts'
import { EFFECTS_PER_TURN_MAX, type EventType } from '../../core/session.ts'
import type { AlarmAsk } from '../alarms/draft.ts'
import type { IntentAsk } from '../intents/draft.ts'
import type { PreferenceAsk } from '../people/change.ts'
import type { QuestionAsk } from '../questions/rules.ts'
import type { ScheduleAsk } from '../schedules/schedule.ts'
import type { WorkWish } from '../work/draft.ts'
import type { WorkAsk } from '../work/rules.ts'
import {
  type Counters,
  type GatePolicy,
  nearsCap,
  pass,
  QUIET,
  type Reason,
  reasonOf,
  type Silence,
  type Verdict,
} from './gate.ts'

/** One thing a turn asked for, in the order it asked. */
export type TurnAction =
  | {
      readonly type: 'send_message'
      readonly content: string
      readonly channel?: string
      /** It says that something will come, and nothing is set for it. */
      readonly unbacked?: boolean
      /** A question that it asks, for channels that show buttons. */
      readonly question?: ShownQuestion
      /** Written if the message is, and only then. */
      readonly along?: readonly Along[]
    }
  | {
      readonly type: 'schedule_timer'
      readonly timerId: string
      readonly fireAt: Date | null
      readonly delayMs: number | null
      readonly payload: string | null
    }
  | { readonly type: 'cancel_timer'; readonly timerId: string }
  /** Recorded with the turn. */
  | { readonly type: 'silence'; readonly verdict: Silence }
  /** For the trigger of that type to write, in the turn's own transaction. */
  | { readonly type: 'trigger_command'; readonly trigger: EventType; readonly ask: TriggerCommand }

/** What a channel shows of a question beside its text. */
export interface ShownQuestion {
  readonly id: string
  readonly options: readonly string[]
  readonly until?: string
}

/** What is asked of a trigger together with a message: what holds the message back holds back this, too. */
export interface Along {
  readonly trigger: EventType
  readonly ask: TriggerCommand
}

/** What a turn may ask of triggers, each of its own. */
export type TriggerCommand =
  | AlarmAsk
  | IntentAsk
  | WorkAsk
  | WorkWish
  | PreferenceAsk
  | QuestionAsk
  | ScheduleAsk

/** Whether it sets something that becomes due later. */
export function setsTrigger(wish: TurnAction): boolean {
  if (wish.type === 'schedule_timer') return true
  if (wish.type === 'send_message') return (wish.along ?? []).some(({ ask }) => isSet(ask))
  return wish.type === 'trigger_command' && isSet(wish.ask)
}

/** A question without an end waits for its person alone. */
function isSet(ask: TriggerCommand): boolean {
  if ('question' in ask) return ask.question.untilAt !== null
  // A timer is set by an action of its own.
  if ('schedule' in ask) return (ask.schedule.plan?.write.kind ?? 'timer') !== 'timer'
  return 'set' in ask || 'create_intent' in ask || 'create_work' in ask
}

export interface TurnFacts {
  readonly sessionKey: string
  readonly eventSeq: number
  readonly eventType: EventType
  readonly triggerId: string | null
  /** Failed attempts at this event before this one. */
  readonly failures: number
  /** Known before it is decided. */
  readonly verdicts?: readonly Verdict[]
}

export interface HeadFacts {
  readonly counters: Counters
  readonly lastUserSeq: number
  readonly now: Date
}

export interface Policy extends GatePolicy {
  readonly autonomy: boolean
  /** Attempts at a wake of alarms that do not say. */
  readonly maxFailures?: number
  /** Triggers that an agent may have set itself and that wait. */
  readonly pendingMax?: number
  /** Events of one session that may wait for their turns before it takes no more from outside. */
  readonly backlogMax?: number
  /** Said to a person when a turn over their message fails for good; empty: nothing. */
  readonly failureText?: string
  /** The server's own zone, for people whose zone nobody knows; UTC by default. */
  readonly timezone?: string
}

export interface EffectRow {
  readonly id: string
  readonly ordinal: number
  readonly type: 'send_message' | 'schedule_timer'
  readonly payload: string
  readonly dedupeKey: string
  readonly status: 'pending' | 'completed'
  readonly channel: string
  readonly reason: Reason
  /** What it was born of; null for an answer. */
  readonly origin: string | null
}

export interface TimerRow {
  readonly id: string
  readonly timerId: string
  readonly fireAt: Date
  readonly payload: string | null
  readonly status: 'pending' | 'cancelled'
}

/** For the log: why a wish did not become an effect, or that the cap comes near. */
export interface Note {
  readonly level: 'info' | 'warn'
  readonly rule: string
  readonly text: string
}

export interface Decision {
  readonly counters: Counters
  readonly effects: readonly EffectRow[]
  readonly timers: readonly TimerRow[]
  readonly cancelledTimers: readonly string[]
  readonly verdicts: readonly Verdict[]
  readonly notes: readonly Note[]
  /** What goes along with the messages that are sent. */
  readonly along?: readonly Along[]
}

export const DEFAULT_CHANNEL = 'websocket'

/** The counters a turn starts from: a user's message resets them. */
export function openingCounters(eventType: EventType, counters: Counters): Counters {
  return eventType === 'user_message' ? QUIET : counters
}

export function decide(
  facts: TurnFacts,
  wishes: readonly TurnAction[],
  head: HeadFacts,
  policy: Policy,
): Decision {
  const reason = reasonOf(facts.eventType)
  let counters = openingCounters(facts.eventType, head.counters)
  const effects: EffectRow[] = []
  const timers = new Map<string, TimerRow>()
  const cancelled = new Set<string>()
  const verdicts = [...(facts.verdicts ?? [])]
  const along: Along[] = []
  const notes: Note[] = wishes.length > EFFECTS_PER_TURN_MAX ? [tooMany(wishes.length)] : []
  const unbacked = (wish: TurnAction) => wish.type === 'send_message' && wish.unbacked === true

  wishes.slice(0, EFFECTS_PER_TURN_MAX).forEach((wish, ordinal) => {
    if (wish.type === 'trigger_command') return
    if (wish.type === 'silence') {
      verdicts.push(wish.verdict)
      return
    }
    if (wish.type === 'cancel_timer') {
      timers.delete(wish.timerId)
      cancelled.add(wish.timerId)
      return
    }
    if (wish.type === 'schedule_timer') {
      if (!policy.autonomy) {
        notes.push({
          level: 'info',
          rule: 'autonomy_disabled',
          text: `follow-up ${wish.timerId} dropped: AUTONOMY_ENABLED is false`,
        })
        return
      }
      const timer = timerRow(wish, facts, head)
      timers.set(wish.timerId, timer)
      cancelled.delete(wish.timerId)
      effects.push(timerEffect(facts, ordinal, wish, timer))
      return
    }
    if (reason !== 'answer') {
      const passed = pass(reason, counters, policy, head.now)
      const { verdict } = passed
      counters = passed.counters
      verdicts.push(verdict)
      if (!verdict.allowed) {
        notes.push({ level: 'info', rule: verdict.rule, text: blockedText(verdict) })
        return
      }
      if (verdict.rule === 'within_limits' && nearsCap(counters, policy)) {
        notes.push({
          level: 'warn',
          rule: 'half_of_cap',
          text: `${counters.consecutive} of ${policy.maxConsecutive} unanswered follow-ups`,
        })
      }
    }
    const payload = JSON.stringify({ content: wish.content, question: wish.question })
    effects.push(effectRow(facts, ordinal, wish.type, payload, wish.channel))
    along.push(...(wish.along ?? []))
  })
  if (effects.length > 0 && wishes.some(unbacked)) {
    verdicts.push({ allowed: true, rule: 'unbacked' })
    notes.push(UNBACKED)
  }
  const set = { timers: [...timers.values()], cancelledTimers: [...cancelled], along }
  return { counters, effects, verdicts, notes, ...set }
}

const UNBACKED: Note = {
  level: 'warn',
  rule: 'unbacked',
  text: 'sent, though it says that something will come and nothing is set for it',
}

function tooMany(count: number): Note {
  const dropped = count - EFFECTS_PER_TURN_MAX
  return {
    level: 'warn',
    rule: 'too_many_effects',
    text: `${dropped} wishes dropped: a turn may ask for ${EFFECTS_PER_TURN_MAX}`,
  }
}

export function blockedText(verdict: Verdict & { allowed: false }): string {
  return verdict.rule === 'hard_cap_reached'
    ? `held back: ${verdict.count} unanswered follow-ups in a row, cap ${verdict.max}`
    : `held back: cooling down until ${verdict.until?.toISOString()}`
}

/** Of a turn that says nothing now, whatever it wished for. */
export function heldDecision(counters: Counters, verdict: Verdict, text: string): Decision {
  return {
    ...{ counters, effects: [], timers: [], cancelledTimers: [] },
    verdicts: [verdict],
    notes: [{ level: 'info', rule: verdict.rule, text }],
  }
}

/** A timer set by a turn that a later message of the user has already overtaken never gets to fire. */
function timerRow(
  wish: TurnAction & { type: 'schedule_timer' },
  facts: TurnFacts,
  head: HeadFacts,
): TimerRow {
  return {
    id: newId(),
    timerId: wish.timerId,
    fireAt: wish.fireAt ?? new Date(head.now.getTime() + (wish.delayMs ?? 0)),
    payload: wish.payload,
    status: head.lastUserSeq > facts.eventSeq ? 'cancelled' : 'pending',
  }
}

/** Known by what was asked for: a delay becomes another instant when the turn runs again, and is the same wish. */
function timerEffect(
  facts: TurnFacts,
  ordinal: number,
  wish: TurnAction & { type: 'schedule_timer' },
  timer: TimerRow,
): EffectRow {
  const payload = timerPayload(wish, `"fire_at":${JSON.stringify(timer.fireAt.toISOString())}`)
  const asked =
    wish.fireAt === null ? timerPayload(wish, `"delay_ms":${wish.delayMs ?? 0}`) : payload
  return {
    ...effectRow(facts, ordinal, wish.type, payload),
    dedupeKey: dedupeKey(facts.sessionKey, facts.eventSeq, wish.type, asked, ordinal),
  }
}

function timerPayload(wish: TurnAction & { type: 'schedule_timer' }, when: string): string {
  const payload = wish.payload === null ? '' : `,"payload":${wish.payload}`
  return `{"timer_id":${JSON.stringify(wish.timerId)},${when}${payload}}`
}

function effectRow(
  facts: TurnFacts,
  ordinal: number,
  type: EffectRow['type'],
  payload: string,
  channel = DEFAULT_CHANNEL,
): EffectRow {
  const reason = reasonOf(facts.eventType)
  const origin =
    reason === 'answer'
      ? null
      : JSON.stringify({
          kind: facts.eventType,
          ...(facts.triggerId === null ? {} : { id: facts.triggerId }),
        })
  return {
    id: newId(),
    ordinal,
    type,
    payload,
    dedupeKey: dedupeKey(facts.sessionKey, facts.eventSeq, type, payload, ordinal),
    // The timer's row is written in the same transaction: nothing is left for anybody to execute.
    status: type === 'schedule_timer' ? 'completed' : 'pending',
    channel,
    reason,
    origin,
  }
}

/** By event and ordinal, not by checkpoint: checkpoint ids change when a turn runs again. */
export function dedupeKey(
  sessionKey: string,
  eventSeq: number,
  type: string,
  payload: string,
  ordinal: number,
): string {
  return hash(
    'sha256',
    `${sessionKey}\n${eventSeq}\n${type}\n${canonicalJson(new RawJson(payload))}\n${ordinal}`,
  )
}

/**
 * Why an attempt failed: its slot was cancelled before it began or deleted under it, a limit for runaways was reached, what a switch
 * held was dropped, or it did not get through.
 */
export type TurnCause =
  | 'withdrawn'
  | 'deleted'
  | 'deaths'
  | 'timeout'
  | 'agent_error'
  | 'over_budget'
  | 'stopped'

export interface Failure {
  readonly cause: TurnCause
  /** What the person is told if their message failed for good; by default the text of the process. */
  readonly answer?: readonly string[]
  readonly terminal: boolean
  readonly retryAfterMs: number
  readonly text: string
}

/** What a failed attempt becomes: tried again at the head of its session, or given up so that the session goes on. */
export function afterFailure(
  failures: number,
  failure: Failure,
): { retryMs: number } | { retryMs: null } {
  const count = failures + 1
  if (failure.terminal || count >= TURN_ATTEMPTS_MAX) return { retryMs: null }
  return { retryMs: turnRetryMs(count, failure.retryAfterMs) }
}

/** A turn over a person's message always ends in a message to them; a turn that an operator dropped says nothing. */
export function failureAnswer(
  type: EventType,
  { cause, answer }: Failure,
  { failureText = '' }: Policy,
): readonly TurnAction[] {
  if (type !== 'user_message' || cause === 'stopped') return []
  const texts = answer ?? (failureText === '' ? [] : [failureText])
  return texts.map((content) => ({ type: 'send_message', content }))
}
