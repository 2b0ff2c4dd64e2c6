/** An intent on its way to a row: what was asked for, in the words of its columns, JSON as text. Pure. */
import type { z } from 'zod'
import { isZone, localInstant } from '../schedule/index.ts'
import type { intentFields } from './fields.ts'
import type { IntentTrigger } from './intent.ts'

/** What an owner says of an intent, its shape checked. */
export type IntentBody = {
  readonly [K in keyof typeof intentFields]: z.output<(typeof intentFields)[K]>
}

type Optional = 'description' | 'trigger_schedule' | 'trigger_condition' | 'expires_at'
type Asked = Omit<IntentBody, Optional | 'max_executions' | 'agent_id' | 'thread_id'> &
  Partial<Pick<IntentBody, Optional | 'max_executions' | 'agent_id' | 'thread_id'>>

/** As the database keeps it; `metadata` is JSON text. */
export function intentWish(body: Asked, metadata: string) {
  return {
    intent_name: body.intent_name,
    description: body.description ?? null,
    trigger_type: body.trigger_type,
    trigger_schedule: jsonOf(body.trigger_schedule),
    trigger_condition: jsonOf(body.trigger_condition),
    action_type: body.action_type,
    action_context: body.action_context,
    action_priority: body.action_priority,
    enabled: body.enabled,
    expires_at: instantIn(body.expires_at, body.timezone),
    max_executions: body.max_executions ?? null,
    metadata,
    timezone: body.timezone,
    agent_id: body.agent_id ?? null,
    thread_id: body.thread_id ?? null,
  }
}

/** JSON of an object's members, without those that are null. Null for nothing at all. */
export function jsonOf(value: object | null | undefined): string | null {
  if (value === null || value === undefined) return null
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return JSON.stringify(Object.fromEntries(kept))
}

/** An unknown zone has its own error: until then the instant is read as UTC. */
export function instantIn(text: string | null | undefined, timezone: string): Date | null {
  if (text === null || text === undefined) return null
  return new Date(localInstant(text, isZone(timezone) ? timezone : 'UTC') ?? 0)
}

export interface IntentDraft {
  readonly id: string
  readonly userId: string
  readonly createdBy: string
  readonly wish: ReturnType<typeof intentWish>
}

/** What a turn may ask of intents. */
export type IntentAsk = { readonly create_intent: IntentDraft } | { readonly delete_intent: string }

/** The trigger of a wish, its JSON read. */
export function triggerOf({ wish }: Pick<IntentDraft, 'wish'>): IntentTrigger {
  const read = (text: string | null) => (text === null ? {} : (JSON.parse(text) as object))
  return {
    trigger_type: wish.trigger_type,
    trigger_schedule: read(wish.trigger_schedule),
    trigger_condition: read(wish.trigger_condition),
    timezone: wish.timezone,
  }
}
