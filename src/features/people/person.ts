/** A person as agents see them in a turn. Pure. */
import { preferencesOf, readPerson } from './fields.ts'
import { unaskedToday } from './preferences.ts'
import type { QuietWindow } from './quiet.ts'

export interface TurnPerson {
  /** Of the person; while nobody knows it, the server's own. */
  readonly timezone: string
  readonly timezoneKnown: boolean
  readonly quietHours: readonly QuietWindow[]
  readonly mostUnaskedPerDay: number | null
  readonly pausedUntil: Date | null
  readonly mutedAgents: readonly string[]
  readonly unaskedToday: number
}

/** `person`: JSON text of the row, or null. */
export function turnPerson(person: string | null, zone: string, now: Date): TurnPerson {
  if (person === null) return { ...UNKNOWN, timezone: zone }
  const row = readPerson(person)
  const { unasked: _, ...preferences } = preferencesOf(row, zone)
  const { pausedUntil } = preferences
  return {
    ...preferences,
    pausedUntil: pausedUntil !== null && pausedUntil > now ? pausedUntil : null,
    timezoneKnown: row.timezone !== null,
    unaskedToday: unaskedToday(preferencesOf(row, zone), now),
  }
}

const UNKNOWN = {
  timezoneKnown: false,
  quietHours: [],
  mostUnaskedPerDay: null,
  pausedUntil: null,
  mutedAgents: [],
  unaskedToday: 0,
} as const
