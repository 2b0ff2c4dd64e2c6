/** The preferences that requests and turns may set, and the row of a person. */
import { z } from 'zod'
import { instant, keyPart, timezone } from '../../core/fields.ts'
import type { Preferences } from './preferences.ts'
import { type QuietWindow, WEEKDAYS } from './quiet.ts'

const WINDOWS_MAX = 14
const MUTED_MAX = 100
const MOST_MAX = 10_000

const from = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as "22:00"')
const to = z
  .string()
  .regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time of day such as "07:30"')

export const quietWindow = z
  .strictObject({
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1)
      .max(7)
      .optional()
      .describe('The days it begins on; every day by default.'),
    from,
    to: to.describe('On the next day unless it is later than from.'),
  })
  .describe('A stretch of the day, in the time zone of the person.')

/** Null empties it; what is left out stays as it is. */
export const preferenceFields = {
  timezone: timezone.nullable().optional(),
  quiet_hours: z
    .array(quietWindow)
    .max(WINDOWS_MAX)
    .nullable()
    .optional()
    .describe(
      'When nothing is said but answers, what is critical, and what was promised for a stated time.',
    ),
  most_unasked_per_day: z
    .int()
    .min(0)
    .max(MOST_MAX)
    .nullable()
    .optional()
    .describe('How many messages that nobody asked for may come on one day.'),
  paused_until: instant
    .nullable()
    .optional()
    .describe(
      'Nothing but answers and what is critical until then; without an offset in the time zone.',
    ),
  muted_agents: z
    .array(keyPart)
    .max(MUTED_MAX)
    .nullable()
    .optional()
    .describe('Agents that only answer.'),
}

/** A person's row, as JSON. */
export interface PersonRow {
  readonly bucket: number
  readonly user_id: string
  readonly timezone: string | null
  readonly quiet_hours: readonly QuietWindow[]
  readonly most_unasked_per_day: number | null
  readonly paused_until: string | null
  readonly muted_agents: readonly string[]
  readonly has_preferences: boolean
  readonly unasked_day: string | null
  readonly unasked_count: number
}

export const readPerson = (json: string): PersonRow => JSON.parse(json) as PersonRow

/** `zone`: the server's own, for people whose zone nobody knows. */
export function preferencesOf(row: PersonRow, zone: string): Preferences {
  return {
    timezone: row.timezone ?? zone,
    quietHours: row.quiet_hours,
    mostUnaskedPerDay: row.most_unasked_per_day,
    pausedUntil: row.paused_until === null ? null : new Date(row.paused_until),
    mutedAgents: row.muted_agents,
    unasked: { day: row.unasked_day, count: row.unasked_count },
  }
}
