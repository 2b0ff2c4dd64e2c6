/** Sentences about when, and how often, the user wants messages. */
import type { PreferenceRequest } from '../../../src/agents/reads.ts'
import { type QuietWindow, WEEKDAYS } from '../../../src/features/people/quiet.ts'
import { parsePhrase, ScheduleError } from '../../schedule/src/index.ts'
import { type Meaning, type Place, unclear } from './meaning.ts'

const NUMBERS = 'no one two three four five six seven eight nine ten eleven twelve'.split(' ')

const HUSH =
  /^(?:(?:please )?(?:do not|don't|dont|never) (?:disturb|bother|ping|message|text|write(?: to)?) me(?: any ?more)?|(?:be )?quiet|leave me (?:alone|in peace)) (?:(?:un)?till?|before|for) (.+)$/
const QUIET =
  /^(?:(?:be |keep |stay |i want (?:it )?)?quiet(?: hours)?|do not disturb me|don't disturb me)(?: (?:every (?:day|night)|daily))?(?: (?:are|is))? (?:between|from) (\S+(?: ?[ap]m)?) (?:and|to|until|till) (\S+(?: ?[ap]m)?)(?: (?:every (?:day|night)|daily))?$/
const NO_QUIET = /^(?:no (?:more )?quiet hours|(?:end|forget|clear|stop) (?:my |the )?quiet hours)$/
const MOST =
  /^(?:(?:send|write) (?:me )?)?(?:at most|no more than|not more than|max(?:imum)?|up to) (\w+) (?:unasked )?(?:messages?|reminders?|pings?|texts?) (?:a|per|each|every) day$/
const MISSED =
  /^(?:what (?:did|have) i miss(?:ed)?|did i miss (?:anything|something)|what(?:'s| is) deferred)$/
const AGAIN =
  /^(?:you (?:can|may) (?:write|disturb me|message me|talk)(?: to me)? again|(?:end|stop) (?:the|my) pause|i(?:'m| am) back)$/

/** "do not disturb me until tomorrow", "quiet between 22:00 and 7:30", "at most five messages a day", "what did I miss?". */
export function preferenceAsked(text: string, place: Place): Meaning | null {
  const lower = text.toLowerCase().replace(/[.!?]+$/, '')
  if (MISSED.test(lower)) return { is: 'missed' }
  if (AGAIN.test(lower)) return { is: 'preferences', wish: { paused_until: null } }
  if (NO_QUIET.test(lower)) return { is: 'preferences', wish: { quiet_hours: null } }
  const most = MOST.exec(lower)?.[1]
  if (most !== undefined) return atMost(most)
  const quiet = QUIET.exec(lower)
  if (quiet !== null) return quietHours(quiet[1] ?? '', quiet[2] ?? '')
  const hush = HUSH.exec(lower)?.[1]
  return hush === undefined ? null : paused(hush, / for /.test(lower), place)
}

function atMost(word: string): Meaning {
  const count = /^\d{1,4}$/.test(word) ? Number(word) : NUMBERS.indexOf(word)
  return count < 0
    ? unclear('other', `"${word}" is not a number; write “at most five messages a day”`)
    : { is: 'preferences', wish: { most_unasked_per_day: count } }
}

function quietHours(begin: string, end: string): Meaning {
  const [from, to] = [clockOf(begin), clockOf(end)]
  return from === null || to === null
    ? unclear('time', 'write hours such as “quiet between 22:00 and 7:30”')
    : { is: 'preferences', wish: { quiet_hours: [{ from, to }] } }
}

/**
 * New quiet hours replace those that apply to every day. Windows of single days stay. `kept` and `replaced`
 * are for the answer.
 */
export function besideOthers(wish: PreferenceRequest, known: readonly QuietWindow[]) {
  const { quiet_hours: asked } = wish
  if (asked === undefined || asked === null) return { wish, kept: [], replaced: [] }
  const ofDays = ({ days = WEEKDAYS }: QuietWindow) => days.length < WEEKDAYS.length
  const kept = known.filter(ofDays)
  const same = (window: QuietWindow) =>
    asked.some(({ from, to }) => from === window.from && to === window.to)
  const replaced = known.filter((window) => !ofDays(window) && !same(window))
  return { wish: { ...wish, quiet_hours: [...asked, ...kept] }, kept, replaced }
}

/** `22:00`, `7:30`, `22`, `10pm`. */
function clockOf(text: string): string | null {
  const [, hours = '', minutes = '00', half] =
    /^(\d{1,2})(?::(\d{2}))? ?([ap]m)?$/.exec(text.trim()) ?? []
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === 'pm' ? 12 : 0)
  if (hours === '' || hour > 23 || Number(minutes) > 59) return null
  return `${String(hour).padStart(2, '0')}:${minutes}`
}

function paused(phrase: string, lasts: boolean, { timezone, now }: Place): Meaning {
  try {
    const said = lasts ? `in ${phrase}` : phrase
    const { schedule } = parsePhrase(said, { timezone, now: now.getTime() })
    if (schedule.kind === 'once' && schedule.at !== null)
      return { is: 'preferences', wish: { paused_until: new Date(schedule.at).toISOString() } }
    return unclear('time', 'a pause ends once: write “do not disturb me until tomorrow at 9”')
  } catch (error) {
    if (error instanceof ScheduleError) return unclear('time', ...error.errors)
    throw error
  }
}
