/** Rows in words. Pure: no clock, no page. */
import type { Effect, Gate, Reason, SessionEvent, Timer, Turn, Verdict } from '../api/shapes.ts'
import { textIn } from '../api/shapes.ts'
import { lasting, leftUntil, timeOf } from '../parts/time.ts'

export function verdictWords(verdict: Verdict): string {
  const { rule, count, max, until, reason, text, deferred } = verdict
  const told = [reason, text && `it wrote, not delivered: ${text}`].filter(Boolean).join('; ')
  if (rule === 'silent' || rule === 'undecided' || rule === 'not_delivered')
    return [`recorded ${rule.replace('_', ' ')}`, told].filter(Boolean).join(': ')
  if (verdict.allowed)
    return rule === 'promised'
      ? 'let through: it was promised'
      : rule === 'unbacked'
        ? 'let through: nothing was set for what it says will come'
        : `let through: unanswered follow-up ${count} of ${max}`
  if (rule === 'hard_cap_reached')
    return `held back: ${unanswered(count ?? 0)} in a row, cap ${max}`
  if (rule === 'cooldown_active' && until !== undefined)
    return `held back: cooling down until ${timeOf(until)}`
  const why = rule.replaceAll('_', ' ')
  if (deferred === true && until !== undefined) return `deferred: ${why}; comes at ${timeOf(until)}`
  // Dropped: the end of the rule is no time at which it comes.
  return deferred === false ? `held back: ${why}; it is not sent later` : `held back: ${why}`
}

export interface GateWords {
  readonly state: string
  readonly tone: 'good' | 'own' | 'bad'
  readonly text: string
}

/** Why it may not, each with what ends it. */
const CLOSED: Readonly<Record<string, readonly [state: string, words: string]>> = {
  quiet_hours: ['quiet hours', 'The person has quiet hours now'],
  paused: ['paused', 'The person has paused messages'],
  daily_limit: ['daily limit', 'The person heard as much today as they want to'],
  day_limit: ['daily limit', 'The person heard as much today as they want to'],
  muted: ['muted', 'The person has muted this agent'],
  agent_muted: ['muted', 'The person has muted this agent'],
}

/** One verdict: the limits of follow-ups, the preferences of the person, and stops. */
export function gateWords(gate: Gate, count: number, now: number): GateWords {
  const { allowed, reason = '', until } = gate
  const isOver = until !== undefined && Date.parse(until) <= now
  if (allowed || isOver) return openWords(count)
  if (reason === 'stopped')
    return {
      ...{ state: 'stopped', tone: 'bad' },
      text: 'It is stopped: nothing runs, and events wait until it is resumed.',
    }
  if (reason === 'hard_cap_reached')
    return {
      ...{ state: 'closed', tone: 'own' },
      text: `Closed after ${unanswered(count)} in a row, until the user writes. What was promised still comes.`,
    }
  if (reason === 'cooldown_active' && until !== undefined)
    return {
      ...{ state: 'cooling down', tone: 'own' },
      text: `The agent wrote unprompted a moment ago and may follow up in ${leftUntil(until, now)}.`,
    }
  const [state, words] = CLOSED[reason] ?? [reason.replaceAll('_', ' '), 'It may not follow up now']
  const then = until === undefined ? '' : ` until ${timeOf(until, now)}`
  return { state, tone: 'own', text: `${words}${then}. A follow-up would be dropped.` }
}

function openWords(count: number): GateWords {
  const text = 'The agent may write on its own'
  return {
    ...{ state: 'open', tone: 'good' },
    text: count === 0 ? `${text}.` : `${text}; ${unanswered(count)} so far.`,
  }
}

function unanswered(count: number): string {
  return count === 1 ? '1 unanswered follow-up' : `${count} unanswered follow-ups`
}

const EVENT_NAMES: Readonly<Record<string, string>> = {
  user_message: 'Message from the user',
  digest: 'Several things at once',
  timer: 'Timer',
  tool_result: 'Tool result',
  alarm: 'Alarm',
  intent: 'Standing intent',
  work: 'Recurring work',
}

export function eventName(type: string): string {
  return EVENT_NAMES[type] ?? type.replaceAll('_', ' ')
}

/** What tells this event from others of its type. */
export function eventDetail({ type, payload }: SessionEvent): string | undefined {
  if (type === 'user_message') return textIn(payload, 'text')
  if (type === 'timer') return textIn(payload, 'timer_id')
  if (type === 'tool_result') return textIn(payload, 'tool_id')
  if (type === 'intent') return textIn(payload, 'intent_name')
  if (type === 'work') return textIn(payload, 'title') ?? textIn(payload, 'task')
  return textIn(payload, 'label') ?? textIn(payload, 'wake_message')
}

export const REASON_NAMES: Readonly<Record<Reason, string>> = {
  answer: 'Answer',
  follow_up: 'Follow-up',
  promise: 'Promise',
  notice: 'Notice',
}

/** "after timer check-in": why the agent wrote without being asked. */
export function originWords(event: SessionEvent): string {
  const detail = event.type === 'alarm' ? textIn(event.payload, 'label') : eventDetail(event)
  const name = eventName(event.type).toLowerCase()
  return detail === undefined ? `after ${article(event.type)}${name}` : `after ${name} “${detail}”`
}

function article(type: string): string {
  if (type === 'work') return ''
  return type === 'alarm' ? 'an ' : 'a '
}

export function turnWords(turn: Turn): string {
  const attempt = turn.attempt > 1 ? `, attempt ${turn.attempt}` : ''
  if (turn.status === 'running' || turn.finished_at === null) return `Turn running${attempt}`
  const took = lasting(Math.max(0, Date.parse(turn.finished_at) - Date.parse(turn.started_at)))
  if (turn.status === 'committed') return `Turn committed in ${took}${attempt}`
  if (turn.status === 'retrying')
    return `Attempt ${turn.attempt} failed after ${took}, trying again`
  return `Turn failed after ${turn.attempt === 1 ? '1 attempt' : `${turn.attempt} attempts`}`
}

const DELIVERY: Readonly<Record<Effect['status'], string>> = {
  pending: 'waiting for a reader',
  executing: 'sent, not acknowledged yet',
  completed: 'delivered',
  failed: 'gave up',
}

export function deliveryWords(effect: Effect): string {
  if (effect.type === 'send_message') {
    const tries = effect.attempt_count > 1 ? ` (attempt ${effect.attempt_count})` : ''
    return `${DELIVERY[effect.status]}${tries}`
  }
  return effect.status === 'completed' ? 'set' : DELIVERY[effect.status]
}

/** How much of a timer's wait has passed, from 0 to 1. */
export function shareWaited(timer: Timer, now: number): number {
  const from = Date.parse(timer.updated_at)
  const whole = Date.parse(timer.fire_at) - from
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (now - from) / whole))
}
