/** What is released: a slot by itself, or several as one event. Pure; what owners wrote stays the text that it was. */
import { formatLocal } from '../../../packages/schedule/src/index.ts'
import type { DeferRule } from './preferences.ts'
import { RULE_WORDS } from './words.ts'

export const DIGEST_ITEMS_MAX = 50

export interface Slot {
  readonly kind: 'alarm' | 'intent' | 'work'
  readonly trigger_id: string | null
  readonly name: string
  readonly scheduled_for: Date
  /** JSON text. */
  readonly payload: string
  readonly rule: DeferRule
}

/** The payload of its own event, with what it waited for. `seen`: JSON text of what a condition looks like now. */
export function releasedPayload(
  { payload, scheduled_for, rule }: Slot,
  seen: string | null,
): string {
  const waited = `"from":${JSON.stringify(scheduled_for)},"rule":"${rule}"${seen === null ? '' : `,"seen":${seen}`}`
  const own = payload.trim().slice(0, -1).trimEnd()
  return `${own}${own === '{' ? '' : ','}"deferred":{${waited}}}`
}

/** Soonest first. `text`: all of it in words, for agents that have no words of their own. */
export function digestPayload(slots: readonly Slot[], timezone: string): string {
  const sorted = slots.toSorted((a, b) => a.scheduled_for.getTime() - b.scheduled_for.getTime())
  const shown = sorted.slice(0, DIGEST_ITEMS_MAX)
  const more = sorted.length - shown.length
  const items = shown.map(
    ({ kind, trigger_id, name, scheduled_for, payload, rule }) =>
      `{"kind":"${kind}","id":${JSON.stringify(trigger_id)},"name":${JSON.stringify(name)},` +
      `"scheduled_for":${JSON.stringify(scheduled_for)},"payload":${payload},"rule":"${rule}"}`,
  )
  const text = JSON.stringify(digestText(shown, more, timezone))
  return `{"items":[${items.join(',')}],"more":${more},"text":${text}}`
}

function digestText(slots: readonly Slot[], more: number, timezone: string): string {
  const rules = [...new Set(slots.map(({ rule }) => RULE_WORDS[rule]))].join('; ')
  const lines = slots.map(
    (slot) => `- ${formatLocal(slot.scheduled_for.getTime(), timezone)}: ${itemText(slot)}`,
  )
  const rest = more === 0 ? [] : [`and ${more} more`]
  return [`While you were not to be disturbed (${rules}):`, ...lines, ...rest].join('\n')
}

/** What somebody would say of it. */
function itemText({ kind, name, payload }: Slot): string {
  const told = JSON.parse(payload) as Record<string, unknown>
  const text = (key: string) => (typeof told[key] === 'string' ? (told[key] as string) : '')
  if (kind === 'alarm') return text('wake_message') || name
  if (kind === 'work') return `"${name}" is ready`
  const context = text('action_context')
  return context === '' || context === name ? name : `${name}: ${context}`
}
