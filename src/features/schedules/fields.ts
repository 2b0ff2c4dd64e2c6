/** What a schedule takes, as HTTP has it. Turns and the library take the same in camelCase (`spec.ts`). */
import { z } from 'zod'
import { CATCH_UPS } from '../../../packages/schedule/src/catch-up.ts'
import {
  DELAY_MAX_SECONDS,
  INT_MAX,
  isSaid,
  NOT_BLANK,
  opaqueJson,
  personTimezone,
  shortName,
  words,
} from '../../core/fields.ts'
import { TIMER_ID_MAX } from '../../core/session.ts'
import { spreadField } from '../../core/spread.ts'
import { hasUnstorableJson, hasUnstorableText } from '../../core/text.ts'
import { PRIORITIES } from '../intents/rules.ts'
import { whereField } from '../intents/where.ts'

const NOTE_MAX_BYTES = 8 * 1024
const PHRASE_MAX = 200
const KEYWORDS_MAX = 25
/** The time of each is computed when the schedule is set. */
const TIMES_MAX = 1_000

const KIND_PREFIX = /^(timer|alarm|intent|work):/
export const scheduleName = z
  .string()
  .min(1)
  .max(TIMER_ID_MAX)
  .refine((name) => isSaid(name) && !hasUnstorableText(name), NOT_BLANK)
  .refine((name) => !KIND_PREFIX.test(name), 'must not begin with a kind and a colon')

const phrase = z.string().min(1).max(PHRASE_MAX)
const keywords = z.union([phrase, z.array(phrase).min(1).max(KEYWORDS_MAX)], {
  error: 'must be a text or a list of texts',
})

const CONDITIONS = ['price', 'silent_for', 'news', 'event', 'calendar', 'condition'] as const
const countOf = (value: unknown, names: readonly string[]) =>
  names.filter((name) => (value as Record<string, unknown> | null)?.[name] !== undefined).length

export const whenField = z
  .strictObject({
    price: phrase.optional().describe('A ticker; with above or below.'),
    above: z.number().optional(),
    below: z.number().optional(),
    silent_for: phrase.optional().describe('How long the person has not written: "2 days".'),
    news: keywords.optional().describe('Words of which a headline has one.'),
    event: keywords.optional().describe('Words of which a named event has one; with where.'),
    where: whereField.optional(),
    calendar: z
      .union([z.literal(true), keywords], { error: 'must be true or words of a title' })
      .optional()
      .describe('A calendar entry; with before.'),
    condition: shortName.optional().describe('A condition of the app, by its name; with params.'),
    params: z
      .record(z.string(), z.unknown())
      .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= NOTE_MAX_BYTES, 'is too large')
      .refine((value) => !hasUnstorableJson(JSON.stringify(value)), 'holds a NUL')
      .optional(),
    before: phrase.optional().describe('How long before its start: "15 minutes", by default.'),
  })
  .refine((value) => countOf(value, CONDITIONS) === 1, {
    error: `takes exactly one of ${CONDITIONS.join(', ')}`,
    when: () => true,
  })
  .refine((value) => countOf(value, ['above', 'below']) === countOf(value, ['price']), {
    error: 'price takes exactly one of above and below',
    when: () => true,
  })
  .refine(({ before, calendar }) => before === undefined || calendar !== undefined, {
    error: 'before goes with calendar',
  })
  .refine(({ where, event }) => where === undefined || event !== undefined, {
    error: 'where goes with event',
  })
  .refine(({ params, condition }) => params === undefined || condition !== undefined, {
    error: 'params goes with condition',
  })

const TIMES = ['in', 'at', 'every', 'when'] as const

/** Which fields of a schedule say when. */
export const timeFields = {
  in: z
    .union([phrase, z.number().min(0).max(DELAY_MAX_SECONDS)], {
      error: 'must be a phrase such as "10 minutes", or seconds',
    })
    .optional()
    .describe('How long from now: "10 minutes", or seconds.'),
  at: phrase.optional().describe('Once: "tomorrow at 9am", or an instant.'),
  every: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Again and again: "weekday at 8:30", "2 hours", or cron.'),
  when: whenField.optional().describe('When a condition becomes true.'),
}

export const specFields = {
  ...timeFields,
  run: shortName.optional().describe('Work for this executor instead of a wake.'),
  with: opaqueJson
    .refine((raw) => raw.text.trimStart().startsWith('{'), 'must be an object')
    .optional()
    .describe('Parameters for the executor.'),
  cancel_on_reply: z
    .boolean()
    .optional()
    .describe('The next message of the person cancels it; with in or at.'),
  note: words(NOTE_MAX_BYTES).optional().describe('What the agent is told then.'),
  data: opaqueJson.optional().describe('Handed back verbatim.'),
  timezone: personTimezone,
  until: phrase.optional().describe('The last instant; with every or when.'),
  times: z.int().min(1).max(TIMES_MAX).optional().describe('How often at most; with every, when.'),
  catch_up: z
    .enum(CATCH_UPS)
    .optional()
    .describe('Times missed: "once" fires one for all (default), "skip" none, "all" each.'),
  catch_up_within_seconds: z.int().min(1).max(INT_MAX).optional(),
  spread: spreadField.optional(),
  priority: z.enum(PRIORITIES).optional().describe('"critical" ignores quiet hours.'),
  thread: z
    .enum(['same', 'fresh'])
    .optional()
    .describe(
      '"fresh": each wake begins a conversation of its own; not with cancel_on_reply, when, run.',
    ),
}

const specShape = z.strictObject(specFields)
export type WireSpec = z.output<typeof specShape>

/** Exactly one time, or work alone. For schemas that may have more fields. */
export function hasOneTime(value: unknown): boolean {
  const times = countOf(value, TIMES)
  return times === 1 || (times === 0 && countOf(value, ['run']) === 1)
}
export const ONE_TIME = `takes exactly one of ${TIMES.join(', ')}; with run, none of them means now`

export const wireSpec = specShape.refine(hasOneTime, { error: ONE_TIME, when: () => true })
