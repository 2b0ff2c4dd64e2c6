/** Rows in words. Pure: no clock, no page. */
import type { Effect, Gate, Reason, SessionEvent, Timer, Turn, Verdict } from '../api/shapes.ts'
import { textIn } from '../api/shapes.ts'
import { lasting, leftUntil, timeOf } from '../parts/time.ts'

export function verdictWords(verdict: Verdict): string {
  const { rule, count, max, until, reason, text } = verdict
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
  return `held back: ${rule.replaceAll('_', ' ')}`
}

export interface GateWords {
  readonly state: 'open' | 'closed' | 'cooling down'
  readonly text: string
}

export function gateWords(gate: Gate, count: number, now: number): GateWords {
  if (!gate.allowed && gate.reason === 'hard_cap_reached')
    return {
      state: 'closed',
      text: `Closed after ${unanswered(count)} in a row, until the user writes. What was promised still comes.`,
    }
  if (!gate.allowed && gate.until !== undefined && Date.parse(gate.until) > now)
    return {
      state: 'cooling down',
      text: `The agent wrote unasked a moment ago and may follow up in ${leftUntil(gate.until, now)}.`,
    }
  return {
    state: 'open',
    text:
      count === 0
        ? 'The agent may write on its own.'
        : `The agent may write on its own; ${unanswered(count)} so far.`,
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
