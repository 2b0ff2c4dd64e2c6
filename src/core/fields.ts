/** Schemas that several requests share: one schema and one error text for each form. */
import { z } from 'zod'
import { RawJson } from '../../packages/exact-json/src/index.ts'
import { CATCH_UPS } from '../../packages/schedule/src/catch-up.ts'
import { localInstant } from '../../packages/schedule/src/index.ts'
import { KEY_PART, KEY_PART_FORM, KEY_PART_MAX, SESSION_KEY, SESSION_KEY_FORM } from './session.ts'

const CRON_MAX = 256
/** A hundred years; longer waits would leave the years we can write. */
export const DELAY_MAX_SECONDS = 100 * 366 * 86_400
export const INT_MAX = 2 ** 31 - 1
export const INSTANT_FORM = 'must be an instant such as 2030-01-31T09:00:00Z, before the year 10000'

export const instant = z
  .string()
  .refine((text) => localInstant(text, 'UTC') !== null, { error: INSTANT_FORM })

/** A user, an agent or a thread, as session keys are made of them. */
export const keyPart = z.string().regex(KEY_PART, KEY_PART_FORM)
export const sessionKey = z.string().regex(SESSION_KEY, SESSION_KEY_FORM)

/** What becomes of times that passed while nothing could run; of whatever has times. */
export const catchUpFields = {
  catch_up: z
    .enum(CATCH_UPS)
    .default('once')
    .describe('Times missed: "once" fires one for all, "skip" none, "all" each of the last 100.'),
  catch_up_within_seconds: z
    .int()
    .min(1)
    .max(INT_MAX)
    .nullish()
    .describe('Times missed longer ago are given up.'),
}

/** A name whose meaning is checked later. */
export const shortName = z.string().min(1).max(KEY_PART_MAX)
export const timezone = shortName.describe('An IANA name.')
/** In place of a zone: the person's, also after they have moved. */
export const FOLLOWS = 'person'
export const personTimezone = shortName
  .optional()
  .describe('An IANA name; the person\'s own by default. "person" follows theirs when they move.')
export const cron = z.string().min(1).max(CRON_MAX)

export const isSaid = (text: string) => text.trim() !== ''
export const NOT_BLANK = 'must not be blank'

/** Text measured as it is stored. */
export function bytes(max: number) {
  return z.string().refine((text) => Buffer.byteLength(text) <= max, `must be at most ${max} bytes`)
}

/** The same, with something in it. */
export function words(maxBytes: number) {
  return bytes(maxBytes).refine(isSaid, NOT_BLANK)
}

/** Kept verbatim. List its name in the operation's `opaque`, too. */
export const opaqueJson = z.custom<RawJson>((value) => value instanceof RawJson, 'must be JSON')

/** Text that must be `min` to `max` as a number, or such a number: a query holds words. */
export function whole(limits: { min: number; max: number; default?: number }) {
  const { min, max } = limits
  const field = z.unknown().transform((value, ctx): number => {
    const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value
    if (Number.isInteger(number) && Number(number) >= min && Number(number) <= max)
      return Number(number)
    ctx.addIssue({ code: 'custom', message: `must be a whole number from ${min} to ${max}` })
    return z.NEVER
  })
  // Only where there is one: a default of undefined cannot be written into the documents made from this.
  const told = limits.default === undefined ? field : field.prefault(limits.default)
  return told.meta({ type: 'integer', minimum: min, maximum: max })
}
