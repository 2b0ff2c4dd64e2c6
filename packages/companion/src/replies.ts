/** The companion's texts. Pure. Times always name their zone. */

import type { Deferred, Explained, Planned } from '../../../src/agents/reads.ts'
import type { QuietWindow } from '../../../src/features/people/quiet.ts'
import { RULE_WORDS, windowWords } from '../../../src/features/people/words.ts'
import { formatLocal, next, type Parsed } from '../../schedule/src/index.ts'
import type { Place } from './meaning.ts'
import type { besideOthers } from './preferences.ts'

const QUOTED_MAX = 200
const LISTED_MAX = 20

export const EXAMPLES = [
  'remind me in 10 seconds to stretch',
  'every weekday at 8:30 and 17:00 plan the day',
  'report daily at 6pm',
  'research AI trends every Monday',
  'write a short article about tea every day at 9',
  'show me the results of AI trends',
  'pause AI trends',
  'tell me when NVDA is below 130',
  'tell me when the news mentions fusion',
  'check in if I am silent for two days',
  'what is planned tomorrow?',
  'move the stretch reminder to 10am',
  'cancel the stretch reminder',
  'why did you not write?',
  'cancel 1, stop, or stop all',
  'my time zone is Europe/Berlin',
]

export function helpText(zone: string): string {
  const list = EXAMPLES.map((example) => `- ${example}`).join('\n')
  return `I keep promises in time. Write for example:\n${list}\n${zone}`
}

export function quoted(text: string): string {
  return `“${text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text}”`
}

/** "every weekday at 08:30 (Europe/Berlin), next on 2026-01-02 08:30 Europe/Berlin", "in 10 s (2026-01-01 09:00:10 UTC)". */
export function timeText({ schedule, description }: Parsed, { timezone, now }: Place): string {
  if (schedule.kind === 'once')
    return schedule.at === null ? 'at once' : instantText(new Date(schedule.at), { timezone, now })
  const [at] = next(schedule, now.getTime(), { anchor: now.getTime() })
  if (at === undefined) return description
  return `${description}, next ${instantText(new Date(at), { timezone, now })}`
}

export function instantText(at: Date, { timezone, now }: Place): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const local = formatLocal(at.getTime(), timezone)
  return seconds >= 0 && seconds < 120 ? `in ${seconds} s (${local})` : `on ${local}`
}

/** The assumptions made, if any. */
export function notesText({ notes }: Parsed): string {
  const told = notes.filter((note) => !note.startsWith('the day is'))
  return told.length === 0 ? '' : ` (${told.join('; ')})`
}

const KIND = { follow_up: 'follow-up', alarm: 'alarm', intent: 'intent', work: 'work' } as const

export function plannedText(plans: readonly Planned[], place: Place): string {
  if (plans.length === 0) return 'Nothing is planned. Say “help” for what I understand.'
  return [
    'Planned:',
    listText(plans, place),
    'Say “cancel 1” to cancel the first, “stop all” to cancel everything.',
  ].join('\n')
}

export function listText(plans: readonly Planned[], place: Place): string {
  const shown = plans
    .slice(0, LISTED_MAX)
    .map((plan, index) => `${index + 1}. ${planText(plan, place)}`)
  const more = plans.length > LISTED_MAX ? [`… and ${plans.length - LISTED_MAX} more`] : []
  return [...shown, ...more].join('\n')
}

export function planText({ kind, title, when, next_at, again }: Planned, place: Place): string {
  const at = next_at === null ? '' : instantText(next_at, place)
  const time = next_at === null ? when : again ? `${when}, next ${at}` : at
  return `${quoted(title)} (${KIND[kind]}): ${time}`
}

/** Oldest first. */
export function whyText(told: readonly Explained[], place: Place): string {
  if (told.length === 0)
    return 'I have not been woken here yet, so there was nothing to write. Say “what is planned?” for what is ahead.'
  const past = told.filter(({ outcome }) => outcome !== 'condition_false')
  const waiting = told.filter(({ outcome }) => outcome === 'condition_false')
  const lines = past.toReversed().map((each) => `- ${occasionText(each, place)}`)
  const stands = waiting.map((each) => `- ${quoted(each.title)}: ${conditionText(each.reason)}`)
  return [
    ...(lines.length === 0 ? [] : ['Each time I could have written unasked recently:', ...lines]),
    ...(stands.length === 0 ? [] : ['What I watch, when I last looked:', ...stands]),
  ].join('\n')
}

const WOKEN: Readonly<Record<string, string>> = { timer: 'follow-up', tool_result: 'tool result' }

function occasionText(told: Explained, { timezone }: Place): string {
  const when = formatLocal(Math.floor(told.at.getTime() / 1000) * 1000, timezone)
  return `${when}, ${WOKEN[told.kind] ?? told.kind} ${quoted(told.title)}: ${outcomeText(told, timezone)}`
}

function outcomeText({ outcome, reason, verdict }: Explained, timezone: string): string {
  if (outcome === 'failed') return `failed: ${reason.slice(0, QUOTED_MAX)}`
  if (outcome === 'silent') return `I said nothing (${reason.slice(0, QUOTED_MAX)})`
  if (outcome === 'cancelled') return 'cancelled before I could write'
  if (outcome === 'postponed') return `held back: ${conditionText(reason.slice(0, QUOTED_MAX))}`
  if (verdict === null) return 'written'
  if (verdict.rule === 'promised') return 'written, as promised'
  if (verdict.rule === 'unbacked') return 'written, with nothing set for what it says will come'
  if (verdict.rule === 'within_limits')
    return `written, unanswered follow-up ${verdict.count} of ${verdict.max}`
  if (verdict.allowed) return 'written'
  if (verdict.rule === 'hard_cap_reached')
    return `held back: ${verdict.count} unanswered follow-ups in a row, and ${verdict.max} is the most I may send`
  const until =
    verdict.until === undefined ? '' : formatLocal(new Date(verdict.until).getTime(), timezone)
  if ('deferred' in verdict)
    return verdict.deferred
      ? `kept for ${until}: ${RULE_WORDS[verdict.rule]}`
      : `not said: ${RULE_WORDS[verdict.rule]}`
  return `held back: too soon after my last message, the gate was closed until ${until}`
}

const CONDITION: Readonly<Record<string, string>> = {
  unknown: 'nothing is known yet; facts come from sources or POST /v1/signals',
  stale: 'what is known is too old',
  false: 'it does not hold',
  condition_not_met: 'it does not hold',
  still_true: 'it has held since I told you; I tell again once it has been otherwise',
  nothing_new: 'nothing new',
}

function conditionText(reason: string): string {
  return CONDITION[reason] ?? reason.replaceAll('_', ' ')
}

/** The zone in which times are read, and whether it is the user's own. */
export function zoneText(timezone: string, known: boolean): string {
  return known
    ? `Times are read in ${timezone}.`
    : `I do not know your time zone: times are read in the server's, ${timezone}, until you say “my time zone is Europe/Berlin”.`
}

/** Confirms the new preferences. */
export function preferencesText(
  { wish, kept, replaced }: ReturnType<typeof besideOthers>,
  { timezone }: Place,
): string {
  const { quiet_hours, most_unasked_per_day: most, paused_until: until } = wish
  if (until === null) return 'I may write again. What waited comes now.'
  if (until !== undefined) {
    return `I will not disturb you until ${formatLocal(Date.parse(until), timezone)}. I answer when you write, and what was to be said comes then.`
  }
  if (quiet_hours === null) return 'You have no quiet hours any more.'
  if (quiet_hours !== undefined) {
    const [window] = quiet_hours
    const others = [
      ...(replaced.length === 0 ? [] : [`That is instead of ${windowsText(replaced)}.`]),
      ...(kept.length === 0 ? [] : [`You have quiet still from ${windowsText(kept)}.`]),
    ]
    const meant =
      'then I only answer, remind you of what you gave a time, and tell what is critical. The rest comes after, in one message.'
    return [`Quiet from ${window?.from} to ${window?.to}, ${timezone}: ${meant}`, ...others].join(
      ' ',
    )
  }
  return `At most ${most} messages a day that you did not ask for, from all agents together. What is beyond comes the next day.`
}

const windowsText = (windows: readonly QuietWindow[]) => windows.map(windowWords).join(' and from ')

export function missedText(deferred: readonly Deferred[], { timezone }: Place): string {
  if (deferred.length === 0) return 'Nothing waits for you.'
  const local = (at: Date) => formatLocal(Math.floor(at.getTime() / 1000) * 1000, timezone)
  const lines = deferred.map(({ name, scheduledFor, why, releaseAt }, index) => {
    const comes = releaseAt === null ? '' : `, comes at ${local(releaseAt)}`
    return `${index + 1}. ${quoted(name)}, due ${local(scheduledFor)} (${why}${comes})`
  })
  return `This waits for its moment:\n${lines.join('\n')}`
}
