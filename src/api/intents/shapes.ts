/** The shapes of intents: what is taken, and what is shown. Names are those that workers outside rely on. */
import { z } from 'zod'
import { intentFields } from '../../core/intents/fields.ts'
import {
  ACTION_TYPES,
  EXECUTION_STATUSES,
  nextChecks,
  PRIORITIES,
  scheduleWords,
  TRIGGER_TYPES,
  termsOf,
} from '../../core/intents/intent.ts'
import { RawJson } from '../../core/json/json.ts'
import { KEY_PART } from '../../core/sessions/session.ts'
import type { IntentRow } from '../../store/intents/intents.ts'
import type { ExecutionRow } from '../../store/intents/reports.ts'
import { opaqueJson } from '../contract.ts'

export const userId = z.string().regex(KEY_PART, 'must be 1 to 64 of letters, digits, _ and -')

const fields = {
  ...intentFields,
  metadata: opaqueJson.optional().describe('Handed back verbatim.'),
}

export const createBody = z.object({
  user_id: userId.nullish().describe('Whose it is; required of admin and service keys.'),
  ...fields,
  action_type: fields.action_type.default('notify'),
  action_priority: fields.action_priority.default('normal'),
  enabled: fields.enabled.default(true),
  timezone: fields.timezone.default('UTC'),
  created_by: z.string().min(1).max(64).nullish().describe('Taken from admin and service keys.'),
})

export const updateBody = z.object(fields).partial()

export type UpdateBody = z.output<typeof updateBody>

/** A whole number in a query or body, from `min` to `max`: anything else is an error. */
export function whole(limits: { min: number; max: number; default?: number }) {
  const field = z.unknown().transform((value, ctx): number => {
    const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
    if (Number.isInteger(number) && Number(number) >= limits.min && Number(number) <= limits.max)
      return Number(number)
    const message = `must be a whole number from ${limits.min} to ${limits.max}`
    ctx.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  const { min, max } = limits
  // Only where there is one: a default of undefined cannot be written into the documents made from this.
  const told = limits.default === undefined ? field : field.prefault(limits.default)
  return told.meta({ type: 'integer', minimum: min, maximum: max })
}

const at = z.iso.datetime().nullable()
const opaque = z.unknown().describe('As it was given.')

export const intentView = z.object({
  id: z.uuid(),
  user_id: z.string(),
  intent_name: z.string(),
  description: z.string().nullable(),
  trigger_type: z.enum(TRIGGER_TYPES),
  trigger_schedule: opaque,
  trigger_condition: opaque,
  action_type: z.enum(ACTION_TYPES),
  action_context: z.string(),
  action_priority: z.enum(PRIORITIES),
  next_check: at,
  last_checked: at,
  last_executed: at,
  execution_count: z.int(),
  last_execution_status: z.enum(EXECUTION_STATUSES).nullable(),
  last_execution_error: z.string().nullable(),
  last_message_id: z.string().nullable(),
  enabled: z.boolean(),
  expires_at: at,
  max_executions: z.int().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  created_by: z.string().nullable(),
  metadata: opaque,
  timezone: z.string(),
  agent_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  schedule_description: z.string(),
  next_checks: z.array(z.iso.datetime()).optional(),
  checks: z.int().optional(),
  calls_avoided: z.int().optional(),
})

const raw = (json: string | null) => (json === null ? null : new RawJson(json))

/** Every field that workers know is there, null where it is empty. */
export function viewOf(row: IntentRow) {
  const terms = termsOf(row)
  return {
    id: row.id,
    user_id: row.user_id,
    intent_name: row.intent_name,
    description: row.description,
    trigger_type: row.trigger_type,
    trigger_schedule: raw(row.trigger_schedule),
    trigger_condition: raw(row.trigger_condition),
    action_type: row.action_type,
    action_context: row.action_context,
    action_priority: row.action_priority,
    next_check: row.next_check,
    last_checked: row.last_checked,
    last_executed: row.last_executed,
    execution_count: row.execution_count,
    last_execution_status: row.last_execution_status,
    last_execution_error: row.last_execution_error,
    last_message_id: row.last_message_id,
    enabled: row.enabled,
    expires_at: row.expires_at,
    max_executions: row.max_executions,
    created_at: row.created_at,
    updated_at: row.updated_at,
    created_by: row.created_by,
    metadata: new RawJson(row.metadata),
    timezone: row.timezone,
    agent_id: row.agent_id,
    thread_id: row.thread_id,
    schedule_description: scheduleWords(terms),
    next_checks: row.enabled ? (nextChecks(terms, row.now) ?? undefined) : undefined,
    ...(row.agent_id === null ? {} : { checks: row.checks, calls_avoided: row.calls_avoided }),
  }
}

export const executionView = z.object({
  id: z.uuid(),
  intent_id: z.uuid(),
  user_id: z.string(),
  executed_at: z.iso.datetime(),
  trigger_type: z.enum(TRIGGER_TYPES),
  trigger_data: opaque,
  status: z.enum(EXECUTION_STATUSES),
  gate_result: opaque,
  message_id: z.string().nullable(),
  message_preview: z.string().nullable(),
  evaluation_ms: z.int().nullable(),
  generation_ms: z.int().nullable(),
  delivery_ms: z.int().nullable(),
  error_message: z.string().nullable(),
  scheduled_for: at,
  session_key: z.string().nullable(),
  event_seq: z.int().nullable(),
  repeats: z.int().describe('How many checks in a row came to just this.'),
  last_seen_at: at,
})

export function executionOf(row: ExecutionRow) {
  const { claim_token: _, ...shown } = row
  return { ...shown, trigger_data: raw(row.trigger_data), gate_result: raw(row.gate_result) }
}
