/** What a person asks for becomes their preferences, or the reasons why not. Pure. */
import type { z } from 'zod'
import {
  formatLocal,
  instantIn,
  isZone,
  parsePhrase,
  ScheduleError,
  zoneError,
} from '../../../packages/schedule/src/index.ts'
import { Refusal } from '../../core/errors.ts'
import { type PersonRow, type preferenceFields, preferencesOf } from './fields.ts'
import type { Preferences } from './preferences.ts'
import { quietErrors } from './quiet.ts'

export type PreferenceWish = z.output<z.ZodObject<typeof preferenceFields>>

/** What a turn may ask of its person's preferences. */
export type PreferenceAsk = { readonly preferences: PreferenceWish }

export interface Changed {
  /** Null: nobody knows it. */
  readonly timezone: string | null
  readonly preferences: Preferences
}

/** Throws a `Refusal` with all reasons. `zone`: the server's own. */
export function changePreferences(
  row: PersonRow,
  wish: PreferenceWish,
  zone: string,
  now: Date,
): Changed {
  const known = preferencesOf(row, zone)
  const timezone = wish.timezone === undefined ? row.timezone : wish.timezone
  const errors: string[] = []
  if (timezone !== null && !isZone(timezone)) errors.push(zoneError(timezone))
  const read = timezone !== null && isZone(timezone) ? timezone : zone
  const quietHours = wish.quiet_hours === undefined ? known.quietHours : (wish.quiet_hours ?? [])
  errors.push(...quietErrors(quietHours))
  let pausedUntil = known.pausedUntil
  if (wish.paused_until === null) pausedUntil = null
  else if (wish.paused_until !== undefined) {
    pausedUntil = instantIn(wish.paused_until, read)
    if (pausedUntil <= now) errors.push(pastError('paused_until', pausedUntil, read, now))
  }
  if (errors.length > 0) throw new Refusal('rule', errors)
  return {
    timezone,
    preferences: {
      ...known,
      timezone: read,
      quietHours,
      pausedUntil,
      mostUnaskedPerDay:
        wish.most_unasked_per_day === undefined
          ? known.mostUnaskedPerDay
          : wish.most_unasked_per_day,
      mutedAgents:
        wish.muted_agents === undefined ? known.mutedAgents : [...new Set(wish.muted_agents ?? [])],
    },
  }
}

function pastError(field: string, at: Date, zone: string, now: Date): string {
  const local = (instant: Date) => formatLocal(instant.getTime(), zone)
  return `${field}: ${local(at)} is not in the future, now is ${local(now)}; write a later time, such as "tomorrow at 9am"`
}

/** When a pause ends: an instant or a phrase ("tomorrow at 9am"), or how long it lasts ("2 hours"). */
export function pauseEnd(
  asked: { readonly until?: string | undefined; readonly for?: string | undefined },
  timezone: string,
  now: Date,
): { readonly until: Date; readonly notes: readonly string[] } {
  const { until, for: length } = asked
  const field = until === undefined ? 'for' : 'until'
  try {
    const text = until ?? `in ${length ?? ''}`
    const { schedule, notes } = parsePhrase(text, { timezone, now: now.getTime() })
    if (schedule.kind === 'once' && schedule.at !== null)
      return { until: new Date(schedule.at), notes }
    throw new ScheduleError('a pause ends once: write for example "tomorrow at 9am"')
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    throw new Refusal(
      'rule',
      error.errors.map((each) => `${field}: ${each}`),
    )
  }
}
