/** The fields of an alarm that requests, turns and remote agents may set, and its columns. */
import { z } from 'zod'
import { CATCH_UPS } from '../../../packages/schedule/src/catch-up.ts'
import { MAX_FAILURES, MAX_FAILURES_MAX } from '../../core/backoff.ts'
import { internal, oneOf, type RowOf, visible, visibleIfSet } from '../../core/columns.ts'
import {
  catchUpFields,
  cron,
  DELAY_MAX_SECONDS,
  instant,
  opaqueJson,
  personTimezone,
  words,
} from '../../core/fields.ts'
import { KEY_PART, KEY_PART_FORM } from '../../core/session.ts'
import { UNATTENDED, unattended } from '../questions/rules.ts'
import { ALARM_KINDS, ALARM_STATUSES } from './rules.ts'

export const LABEL_MAX = 256
const WAKE_MESSAGE_MAX_BYTES = 8 * 1024
const KEY_MAX = 255
const SCHEDULE_MAX = 200

/** Each says when by itself. */
export const alarmTimes = {
  fire_at: instant
    .optional()
    .describe('An instant in the future; without an offset it is read in timezone.'),
  delay_seconds: z.number().min(1).max(DELAY_MAX_SECONDS).optional().describe('Seconds from now.'),
  cron_expr: cron
    .optional()
    .describe('Five fields, several of them joined by " | ", or "@every 5m".'),
  schedule: z
    .string()
    .min(1)
    .max(SCHEDULE_MAX)
    .optional()
    .describe('Instead of kind: a phrase such as "tomorrow at 9am" or "every weekday at 8:30".'),
}

/** Kept as it is said, each under the name of its column. */
export const alarmFields = {
  timezone: personTimezone,
  label: z.string().max(LABEL_MAX).default('').describe('A name for it.'),
  conversation_id: z
    .string()
    .refine((text) => text === '' || KEY_PART.test(text), { error: KEY_PART_FORM })
    .describe("Where; left out: the person's thread main; empty: a fresh conversation each time.")
    .default(''),
  wake_message: words(WAKE_MESSAGE_MAX_BYTES).describe('What the agent is told when it wakes.'),
  payload: opaqueJson.optional().describe('Handed back verbatim with the wake.'),
  idempotency_key: z
    .string()
    .max(KEY_MAX)
    .default('')
    .describe('The same key again sets nothing new.'),
  max_failures: z
    .int()
    .min(1)
    .max(MAX_FAILURES_MAX)
    .optional()
    .describe(
      `Attempts at one wake; by default as many as the server is set to (${MAX_FAILURES}).`,
    ),
  ...catchUpFields,
  unattended,
}

export type AlarmFields = z.output<z.ZodObject<typeof alarmFields>> & { timezone: string }

/** `next_fire_at` is shown too, while there is one. */
export const ALARM = {
  bucket: internal('smallint'),
  id: visible('uuid'),
  owner_did: internal('text'),
  user_id: internal('text'),
  label: visible('text'),
  kind: oneOf(ALARM_KINDS),
  fire_at: internal('timestamptz?'),
  cron_expr: visibleIfSet('text'),
  timezone: visible('text'),
  anchor_at: internal('timestamptz'),
  next_fire_at: internal('timestamptz'),
  scheduled_for: internal('timestamptz'),
  due_at: internal('timestamptz?'),
  conversation_id: visibleIfSet('text'),
  wake_message: visible('text'),
  payload: visible('json'),
  status: oneOf(ALARM_STATUSES),
  idempotency_key: visibleIfSet('text'),
  max_failures: visible('int'),
  failure_count: visible('int'),
  last_error: visibleIfSet('text'),
  created_at: visible('timestamptz'),
  last_fired_at: visibleIfSet('timestamptz?'),
  agent_id: visibleIfSet('text?'),
  missed_count: visible('int'),
  attempt: internal('int'),
  delivery_id: internal('uuid'),
  catch_up: oneOf(CATCH_UPS),
  catch_up_within_seconds: visible('int?'),
  unattended: oneOf(UNATTENDED),
  name: visibleIfSet('text'),
  priority: internal('text'),
  follows_zone: visibleIfSet('boolean'),
  fired_local: internal('text?'),
  paused_at: internal('timestamptz?'),
  traceparent: internal('text?'),
  lineage: internal('text?'),
}

export interface AlarmRow extends RowOf<typeof ALARM> {
  /** The database's time when it was read. */
  readonly now: Date
}
