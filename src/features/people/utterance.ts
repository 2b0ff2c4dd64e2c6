/** What an event would have its agent say, as far as preferences ask: told by its type and payload. Pure. */

import type { EventType } from '../../core/session.ts'
import { reasonOf } from '../sessions/gate.ts'
import type { Utterance } from './preferences.ts'

/** Facts do not become untrue: their slots are used up when they are deferred, so that the next headline is a slot of its own. */
const FACTS: ReadonlySet<string> = new Set(['news', 'event', 'calendar'])
const TIMED: ReadonlySet<string> = new Set(['once', 'cron', 'interval'])
const NAME_MAX = 200

interface Told {
  readonly trigger_type?: string
  readonly action_priority?: string
  readonly priority?: string
  readonly notice?: boolean
  readonly attempt?: number
  readonly items?: readonly { readonly kind: EventType; readonly payload: Told }[]
}

/** Null: it says nothing to anybody, as a run of work. */
export function utteranceOf(type: EventType, payload: string, agentId: string): Utterance | null {
  const told = JSON.parse(payload) as Told
  if (type === 'work' && told.notice !== true) return null
  if (type !== 'digest') return { reason: reasonOf(type), agentId, ...mark(type, told) }
  // Several together are let through where each of them is.
  const marks = (told.items ?? []).map((item) => mark(item.kind, item.payload))
  const all = (of: 'timed' | 'critical') => marks.length > 0 && marks.every((each) => each[of])
  return { reason: 'promise', agentId, timed: all('timed'), critical: all('critical') }
}

function mark(type: EventType, { trigger_type = '', action_priority, priority }: Told) {
  const importance = type === 'alarm' ? priority : action_priority
  return {
    timed: type === 'alarm' || (type === 'intent' && TIMED.has(trigger_type)),
    critical: (type === 'intent' || type === 'alarm') && importance === 'critical',
  }
}

/** Whether its trigger holds the slot on while it is deferred. */
export function holdsSlot(type: EventType, payload: string): boolean {
  if (type === 'alarm') return true
  return type === 'intent' && !FACTS.has((JSON.parse(payload) as Told).trigger_type ?? '')
}

/** Whether it is a condition that may no longer hold when its moment comes. */
export function isCondition(kind: EventType, payload: string): boolean {
  const { trigger_type } = JSON.parse(payload) as Told
  return kind === 'intent' && (trigger_type === 'price' || trigger_type === 'silence')
}

/** An earlier attempt at the same slot has failed. */
export function isRetry(payload: string): boolean {
  return ((JSON.parse(payload) as Told).attempt ?? 1) > 1
}

/** What the slot is called. */
export function slotName(payload: string): string {
  const { label, wake_message, intent_name, title } = JSON.parse(payload) as Record<string, unknown>
  const name = [label, wake_message, intent_name, title].find(
    (text) => typeof text === 'string' && text !== '',
  )
  return String(name ?? '').slice(0, NAME_MAX)
}
