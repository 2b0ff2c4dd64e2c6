/** Preferences in words, in the zone of their person. Pure. */
import { formatLocal } from '../../../packages/schedule/src/index.ts'
import { type DeferRule, type Preferences, unaskedToday } from './preferences.ts'
import { type QuietWindow, quietUntil, type WEEKDAYS } from './quiet.ts'

const NAMES: Readonly<Record<(typeof WEEKDAYS)[number], string>> = {
  sun: 'Sunday',
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
}

export function windowWords({ days, from, to }: QuietWindow): string {
  const on =
    days === undefined || days.length === 7 ? '' : ` on ${days.map((day) => NAMES[day]).join(', ')}`
  return `${from} to ${to}${on}`
}

/** One sentence for each of them; what the time zone is, and whether somebody said it, comes first. */
export function preferenceWords(preferences: Preferences, zoneKnown: boolean, now: Date): string[] {
  const { timezone, quietHours, mostUnaskedPerDay: max, pausedUntil, mutedAgents } = preferences
  const local = (at: Date) => formatLocal(at.getTime(), timezone)
  const quiet = quietUntil(quietHours, timezone, now)
  return [
    zoneKnown
      ? `Times are in ${timezone}.`
      : `No time zone is known; times are in the server's own, ${timezone}.`,
    ...(quietHours.length === 0
      ? []
      : [
          `Quiet from ${quietHours.map(windowWords).join('; and from ')}${quiet === null ? '' : `; now, until ${local(quiet)}`}.`,
        ]),
    ...(max === null
      ? []
      : [`At most ${max} unasked messages a day; ${unaskedToday(preferences, now)} so far today.`]),
    ...(pausedUntil === null || pausedUntil <= now ? [] : [`Paused until ${local(pausedUntil)}.`]),
    ...(mutedAgents.length === 0 ? [] : [`Only answers come from ${mutedAgents.join(', ')}.`]),
  ]
}

export const RULE_WORDS: Readonly<Record<DeferRule, string>> = {
  quiet_hours: 'quiet hours',
  day_limit: 'enough was said that day',
  paused: 'paused',
  agent_muted: 'the agent is muted',
  late: 'late after downtime, gathered with others',
  stopped: 'its trigger is stopped',
}
