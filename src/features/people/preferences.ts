/**
 * Preferences: may something be said to this person now? Pure: what they asked for, what is to be said and the time go in; send,
 * defer until an instant, or drop comes out, with the rule and its number. Nothing promised is lost by them: it comes later.
 */
import { DAY, dateText } from '../../../packages/schedule/src/calendar.ts'
import { dayBounds, localDay, wallAt, zoneOf } from '../../../packages/schedule/src/zone.ts'
import type { Reason } from '../sessions/gate.ts'
import { type QuietWindow, quietUntil } from './quiet.ts'

export const PREFERENCE_RULES = ['quiet_hours', 'day_limit', 'paused', 'agent_muted'] as const
export type PreferenceRule = (typeof PREFERENCE_RULES)[number]
/** Also deferred: what is late after downtime, so that several become one message; and what a stop of its trigger holds. */
export const DEFER_RULES = [...PREFERENCE_RULES, 'late', 'stopped'] as const
export type DeferRule = (typeof DEFER_RULES)[number]

export interface Preferences {
  readonly timezone: string
  readonly quietHours: readonly QuietWindow[]
  readonly mostUnaskedPerDay: number | null
  readonly pausedUntil: Date | null
  readonly mutedAgents: readonly string[]
  /** Messages that nobody asked for, and the day of the person's they were sent on. */
  readonly unasked: { readonly day: string | null; readonly count: number }
}

/** What is to be said. */
export interface Utterance {
  readonly reason: Reason
  readonly agentId: string
  /** At a time that the person chose. */
  readonly timed: boolean
  readonly critical: boolean
}

interface Numbers {
  readonly count?: number
  readonly max?: number
}

export type PreferenceVerdict =
  | { readonly move: 'send' }
  | ({ readonly move: 'defer'; readonly rule: PreferenceRule; readonly until: Date } & Numbers)
  | ({ readonly move: 'drop'; readonly rule: PreferenceRule; readonly until?: Date } & Numbers)

const SEND = { move: 'send' } as const

export function judgePreferences(
  preferences: Preferences,
  { reason, agentId, timed, critical }: Utterance,
  now: Date,
): PreferenceVerdict {
  if (reason === 'answer') return SEND
  if (preferences.mutedAgents.includes(agentId)) return { move: 'drop', rule: 'agent_muted' }
  if (critical) return SEND
  const block = blockOf(preferences, timed && reason === 'promise', now)
  if (block === null) return SEND
  return { move: reason === 'follow_up' ? 'drop' : 'defer', ...block }
}

type Block = { readonly rule: PreferenceRule; readonly until: Date } & Numbers

function blockOf(preferences: Preferences, timed: boolean, now: Date): Block | null {
  const { pausedUntil, timezone, quietHours, mostUnaskedPerDay: max } = preferences
  const open = (at: Date) => (timed ? null : quietUntil(quietHours, timezone, at)) ?? at
  if (pausedUntil !== null && pausedUntil > now) return { rule: 'paused', until: open(pausedUntil) }
  const quiet = timed ? null : quietUntil(quietHours, timezone, now)
  if (quiet !== null) return { rule: 'quiet_hours', until: quiet }
  const count = unaskedToday(preferences, now)
  if (max === null || count < max) return null
  return { rule: 'day_limit', until: nextDay(preferences, now), count, max }
}

/** The first open minute of the day after. */
function nextDay({ timezone, quietHours }: Preferences, now: Date): Date {
  const zone = zoneOf(timezone)
  const midnight = new Date(dayBounds(zone, localDay(zone, now.getTime())).to)
  return quietUntil(quietHours, timezone, midnight) ?? midnight
}

export function dayOf(timezone: string, now: Date): string {
  return dateText(Math.floor(wallAt(zoneOf(timezone), now.getTime()) / DAY))
}

export function unaskedToday({ timezone, unasked }: Preferences, now: Date): number {
  return unasked.day === dayOf(timezone, now) ? unasked.count : 0
}

/** After so many messages more that nobody asked for. */
export function counted(
  preferences: Preferences,
  messages: number,
  now: Date,
): Preferences['unasked'] {
  return { day: dayOf(preferences.timezone, now), count: unaskedToday(preferences, now) + messages }
}

/** How many of these messages may go out one by one today; what is beyond is said with the last of them. */
export function roomFor(
  preferences: Preferences,
  messages: number,
  critical: boolean,
  now: Date,
): number {
  const { mostUnaskedPerDay: max } = preferences
  if (max === null || critical) return messages
  return Math.max(1, Math.min(messages, max - unaskedToday(preferences, now)))
}

/** Whether they may hold anything back at all. */
export function hasPreferences(
  preferences: Pick<
    Preferences,
    'quietHours' | 'mostUnaskedPerDay' | 'pausedUntil' | 'mutedAgents'
  >,
): boolean {
  const { quietHours, mostUnaskedPerDay, pausedUntil, mutedAgents } = preferences
  return (
    quietHours.length > 0 ||
    mostUnaskedPerDay !== null ||
    pausedUntil !== null ||
    mutedAgents.length > 0
  )
}
