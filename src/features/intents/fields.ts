/** The fields of an intent that requests and turns may set, and its columns. Rules beyond shape are in `rules.ts`. */
import { z } from 'zod'
import { CATCH_UPS } from '../../../packages/schedule/src/catch-up.ts'
import { internal, oneOf, oneOfOrNull, visible, visibleIfSet } from '../../core/columns.ts'
import {
  bytes,
  catchUpFields,
  cron,
  INT_MAX,
  instant,
  isSaid,
  keyPart,
  NOT_BLANK,
  opaqueJson,
  personTimezone,
  shortName,
  words,
} from '../../core/fields.ts'
import { hasUnstorableJson } from '../../core/text.ts'
import { UNATTENDED, unattended } from '../questions/rules.ts'
import { wordsOf } from './condition.ts'
import { ACTION_TYPES, EXECUTION_STATUSES, OPERATORS, PRIORITIES, TRIGGER_TYPES } from './rules.ts'
import { whereField } from './where.ts'

const NAME_MAX = 256
const TEXT_MAX_BYTES = 8 * 1024
/** A hundred years; longer waits would leave the years we can write. */
const INTERVAL_MAX_MINUTES = 100 * 365 * 1440
const YEAR_MINUTES = 365 * 1440
const WEEK_MINUTES = 7 * 1440
const YEAR_HOURS = 365 * 24
const KEYWORDS_MAX = 25

/** Members that are null count as left out: so do clients that send every field they know. */
const schedule = z.strictObject({
  cron: cron.nullish().describe('Five fields, several of them joined by " | ", or "@every 30m".'),
  interval_minutes: z.int().max(INTERVAL_MAX_MINUTES).nullish().describe('At least 5.'),
  datetime: instant.nullish().describe('Of type once; without an offset it is read in timezone.'),
  trigger_at: instant.nullish().describe('Another spelling of datetime.'),
  check_interval_minutes: z
    .int()
    .min(1)
    .max(YEAR_MINUTES)
    .nullish()
    .describe('How long after a success a condition is looked at again; 5 by default.'),
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
  where: whereField.nullish(),
  type: shortName.nullish().describe('Of condition: the name of a condition of the app.'),
  params: z
    .record(z.string(), z.unknown())
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= TEXT_MAX_BYTES, 'is too large')
    .refine((value) => !hasUnstorableJson(JSON.stringify(value)), 'holds a NUL')
    .nullish()
    .describe('Of condition: what it is asked with.'),
})

/** Each under the name of its column. */
export const intentFields = {
  intent_name: z.string().max(NAME_MAX).refine(isSaid, NOT_BLANK),
  description: bytes(TEXT_MAX_BYTES).nullish().describe('In your own words.'),
  trigger_type: z.enum(TRIGGER_TYPES).describe(`One of ${TRIGGER_TYPES.join(', ')}.`),
  trigger_schedule: schedule
    .nullish()
    .describe('Its times: {"cron":…}, {"interval_minutes":…} or {"datetime":…}.'),
  trigger_condition: condition.nullish().describe('What must hold.'),
  action_type: z.enum(ACTION_TYPES).describe(`One of ${ACTION_TYPES.join(', ')}.`),
  action_context: words(TEXT_MAX_BYTES).describe('Handed to the agent or worker when it fires.'),
  action_priority: z.enum(PRIORITIES).describe(`One of ${PRIORITIES.join(', ')}.`),
  enabled: z.boolean(),
  expires_at: instant.nullish().describe('Without an offset it is read in timezone.'),
  max_executions: z.int().min(1).max(INT_MAX).nullish().describe('How often at most.'),
  metadata: opaqueJson.optional().describe('Handed back verbatim.'),
  timezone: personTimezone.unwrap(),
  agent_id: shortName
    .nullish()
    .describe(
      'Wakeful itself checks the intent and wakes this agent; without it, /pending serves it.',
    ),
  thread_id: keyPart
    .nullish()
    .describe("The conversation of that agent; the person's thread main when left out."),
  catch_up: catchUpFields.catch_up.unwrap(),
  catch_up_within_seconds: catchUpFields.catch_up_within_seconds,
  unattended: unattended.unwrap(),
}

export type IntentFields = z.output<z.ZodObject<typeof intentFields>>

/** Of a new one. */
export const newIntentFields = {
  ...intentFields,
  action_type: intentFields.action_type.default('notify'),
  action_priority: intentFields.action_priority.default('normal'),
  enabled: intentFields.enabled.default(true),
  timezone: personTimezone,
  catch_up: catchUpFields.catch_up,
  unattended,
}

/** What its owner says of it, as it is kept; and what follows from that: when it is looked at. */
export const INTENT_PLAN = {
  intent_name: visible('text'),
  description: visible('text?'),
  trigger_type: oneOf(TRIGGER_TYPES),
  trigger_schedule: visible('json?'),
  trigger_condition: visible('json?'),
  action_type: oneOf(ACTION_TYPES),
  action_context: visible('text'),
  action_priority: oneOf(PRIORITIES),
  enabled: visible('boolean'),
  expires_at: visible('timestamptz?'),
  max_executions: visible('int?'),
  metadata: visible('json'),
  timezone: visible('text'),
  follows_zone: visibleIfSet('boolean'),
  agent_id: visible('text?'),
  thread_id: visible('text?'),
  catch_up: oneOf(CATCH_UPS),
  catch_up_within_seconds: visible('int?'),
  unattended: oneOf(UNATTENDED),
  anchor_at: internal('timestamptz'),
  next_check: visible('timestamptz?'),
}

export const INTENT = {
  bucket: internal('smallint'),
  id: visible('uuid'),
  user_id: visible('text'),
  ...INTENT_PLAN,
  last_checked: visible('timestamptz?'),
  last_executed: visible('timestamptz?'),
  execution_count: visible('int'),
  last_execution_status: oneOfOrNull(EXECUTION_STATUSES),
  last_execution_error: visible('text?'),
  last_message_id: visible('text?'),
  created_at: visible('timestamptz'),
  updated_at: visible('timestamptz'),
  created_by: visible('text?'),
  name: internal('text'),
  fired_local: internal('text?'),
  paused_at: internal('timestamptz?'),
  scheduled_for: internal('timestamptz?'),
  claim_token: internal('uuid?'),
  claimed_until: internal('timestamptz?'),
  checks: internal('bigint'),
  calls_avoided: internal('bigint'),
}
