/** The shapes of intents: what is taken, and what is shown. Names are those that workers outside rely on. */
import { z } from 'zod'
import {
  ACTION_TYPES,
  EXECUTION_STATUSES,
  nextChecks,
  OPERATORS,
  PRIORITIES,
  scheduleWords,
  TRIGGER_TYPES,
  termsOf,
} from '../core/intent.ts'
import { RawJson } from '../core/json.ts'
import { localInstant } from '../core/schedule/index.ts'
import { KEY_PART } from '../core/session.ts'
import { wordsOf } from '../core/words.ts'
import type { ExecutionRow } from '../store/intent-reports.ts'
import type { IntentRow } from '../store/intents.ts'
import { opaqueJson } from './contract.ts'

const NAME_MAX = 256
const TEXT_MAX_BYTES = 8 * 1024
const CRON_MAX = 256
/** A hundred years; longer waits would leave the years we can write. */
const INTERVAL_MAX_MINUTES = 100 * 365 * 1440
const YEAR_MINUTES = 365 * 1440
const WEEK_MINUTES = 7 * 1440
const YEAR_HOURS = 365 * 24
const KEYWORDS_MAX = 25
const INT_MAX = 2 ** 31 - 1

const isSaid = (value: string) => value.trim() !== ''
const text = z.string().refine((value) => Buffer.byteLength(value) <= TEXT_MAX_BYTES, {
  error: `must be at most ${TEXT_MAX_BYTES} bytes`,
})

const instant = z.string().refine((value) => localInstant(value, 'UTC') !== null, {
  error: 'must be an instant such as 2030-01-31T09:00:00Z, before the year 10000',
})

export const userId = z.string().regex(KEY_PART, 'must be 1 to 64 of letters, digits, _ and -')

/** Members that are null count as left out: so do clients that send every field they know. */
const schedule = z.strictObject({
  cron: z.string().min(1).max(CRON_MAX).nullish().describe('Five fields, or "@every 30m".'),
  interval_minutes: z.int().max(INTERVAL_MAX_MINUTES).nullish().describe('At least 5.'),
  datetime: instant.nullish().describe('Of type once; without an offset it is read in timezone.'),
  trigger_at: instant.nullish().describe('Another spelling of datetime.'),
  check_interval_minutes: z
    .int()
    .min(1)
    .max(YEAR_MINUTES)
    .nullish()
    .describe('How long after a success a condition is looked at again; 5 unless said.'),
})

const condition = z.strictObject({
  ticker: z
    .string()
    .regex(/^\S{1,32}$/, 'must be 1 to 32 characters without spaces')
    .nullish(),
  operator: z.enum(OPERATORS).nullish(),
  value: z
    .number()
    .nullish()
    .describe('Of price: what the price is compared with. Of calendar: minutes before the start.'),
  keywords: z
    .array(
      z
        .string()
        .max(100)
        .refine((word) => wordsOf(word).length > 0, 'must hold a letter or a digit'),
    )
    .max(KEYWORDS_MAX)
    .nullish()
    .describe('Any of them, as whole words in any case.'),
  threshold_hours: z.number().positive().max(YEAR_HOURS).nullish(),
  max_age_minutes: z.number().positive().max(WEEK_MINUTES).nullish(),
  cooldown_minutes: z.number().min(0).max(YEAR_MINUTES).nullish(),
})

const fields = {
  intent_name: z.string().max(NAME_MAX).refine(isSaid, 'must not be blank'),
  description: text.nullish(),
  trigger_type: z.enum(TRIGGER_TYPES),
  trigger_schedule: schedule.nullish(),
  trigger_condition: condition.nullish(),
  action_type: z.enum(ACTION_TYPES),
  action_context: text
    .refine(isSaid, 'must not be blank')
    .describe('Handed to whoever acts when it fires.'),
  action_priority: z.enum(PRIORITIES),
  enabled: z.boolean(),
  expires_at: instant.nullish().describe('Without an offset it is read in timezone.'),
  max_executions: z.int().min(1).max(INT_MAX).nullish(),
  metadata: opaqueJson.optional().describe('Handed back verbatim.'),
  timezone: z.string().min(1).max(64).describe('An IANA name.'),
  agent_id: z
    .string()
    .min(1)
    .max(64)
    .nullish()
    .describe(
      'Wakeful itself checks the intent and wakes this agent; without it, /pending serves it.',
    ),
  thread_id: z
    .string()
    .regex(KEY_PART, 'must be 1 to 64 of letters, digits, _ and -')
    .nullish()
    .describe('The conversation of that agent; a conversation of its own when left out.'),
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

export type CreateBody = z.output<typeof createBody>
export type UpdateBody = z.output<typeof updateBody>

/** Without the members that are null. Null for nothing at all. */
export function compact<T extends object>(
  value: T | null | undefined,
): { [K in keyof T]?: NonNullable<T[K]> } | null {
  if (value === null || value === undefined) return null
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(kept) as { [K in keyof T]?: NonNullable<T[K]> }
}

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
