/** What a turn may ask and know of its person's preferences. */
import { z } from 'zod'
import { changePreferences, type PreferenceWish } from '../features/people/change.ts'
import { listDeferred } from '../features/people/deferred-rows.ts'
import { preferenceFields } from '../features/people/fields.ts'
import type { TurnPerson } from '../features/people/person.ts'
import { RULE_WORDS } from '../features/people/words.ts'
import type { TurnInput } from './agent.ts'
import { type DeepReadonly, readAsked } from './asked.ts'

const shape = z.strictObject(preferenceFields)
const DEFERRED_MAX = 50

export interface PreferenceRequest extends DeepReadonly<z.input<typeof shape>> {}

/** Checked when it is asked; written with the turn's commit. */
export function preferenceWish(
  request: PreferenceRequest,
  person: TurnPerson,
  now: Date,
): PreferenceWish {
  const wish = readAsked(shape, { ...request })
  const { timezone, timezoneKnown, pausedUntil } = person
  const row = {
    ...{ bucket: 0, user_id: '', has_preferences: false, unasked_day: null, unasked_count: 0 },
    timezone: timezoneKnown ? timezone : null,
    quiet_hours: person.quietHours,
    most_unasked_per_day: person.mostUnaskedPerDay,
    paused_until: pausedUntil?.toISOString() ?? null,
    muted_agents: person.mutedAgents,
  }
  changePreferences(row, wish, timezone, now)
  return wish
}

export interface Deferred {
  readonly kind: string
  readonly name: string
  readonly scheduledFor: Date
  /** Why it waits, in words. */
  readonly why: string
  readonly releaseAt: Date | null
}

export async function deferredFor({ db, session }: TurnInput): Promise<Deferred[]> {
  const { userId } = session
  const rows = await listDeferred(db, { owner: userId, status: 'waiting', limit: DEFERRED_MAX })
  return rows
    .map(({ kind, name, scheduled_for: scheduledFor, rule, release_at: releaseAt }) => ({
      ...{ kind, name, scheduledFor, why: RULE_WORDS[rule], releaseAt },
    }))
    .toSorted((a, b) => a.scheduledFor.getTime() - b.scheduledFor.getTime())
}

/** Several slots in words, as their event brings them. */
export function digestTextOf(payload: string): string {
  return (JSON.parse(payload) as { text: string }).text
}
