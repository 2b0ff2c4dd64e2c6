/** The shape of what an intent's owner may say of it, whoever asks: a request or a turn. Rules that go beyond shape are in `intent-rules.ts`. */
import { z } from 'zod'
import { localInstant } from '../schedule/index.ts'
import { KEY_PART } from '../sessions/session.ts'
import { ACTION_TYPES, OPERATORS, PRIORITIES, TRIGGER_TYPES } from './intent.ts'
import { wordsOf } from './keywords.ts'

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

/** Members that are null count as left out: so do clients that send every field they know. */
const schedule = z.strictObject({
  cron: z
    .string()
    .min(1)
    .max(CRON_MAX)
    .nullish()
    .describe('Five fields, several of them joined by " | ", or "@every 30m".'),
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

export const intentFields = {
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
