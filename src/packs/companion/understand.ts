/**
 * What a sentence means to the companion. Pure, and plain words only: a sentence is understood exactly or not at all,
 * and one that is not says what was missing. Times go through the same reader as everywhere else.
 */
import type { Operator } from '../../core/intents/intent.ts'
import {
  isZone,
  type Parsed,
  parseFrequency,
  parsePhrase,
  ScheduleError,
} from '../../core/schedule/index.ts'

export type Meaning =
  | {
      readonly is: 'remind'
      readonly phrase: string
      readonly parsed: Parsed
      readonly what: string
    }
  /** `phrase` null: once, now. */
  | { readonly is: 'report'; readonly phrase: string | null; readonly parsed: Parsed | null }
  | {
      readonly is: 'price'
      readonly ticker: string
      readonly operator: Operator
      readonly value: number
      /** Each time it becomes true, not only the first. */
      readonly always: boolean
    }
  | { readonly is: 'silence'; readonly hours: number; readonly span: string }
  | { readonly is: 'news'; readonly keywords: readonly string[] }
  | { readonly is: 'zone'; readonly zone: string }
  | { readonly is: 'cancel'; readonly number: number }
  | { readonly is: 'hello' | 'stop' | 'stop_all' | 'planned' | 'why' | 'help' }
  | { readonly is: 'unclear'; readonly about: 'anything' }
  | {
      readonly is: 'unclear'
      readonly about: 'time' | 'what' | 'zone'
      readonly errors: readonly string[]
    }

export interface Place {
  readonly timezone: string
  readonly now: Date
}

/** Longer texts are talk, not wishes. */
const SENTENCE_MAX = 500
const PHRASE_WORDS_MAX = 12
const KEYWORD_MAX = 100
const KEYWORDS_MAX = 25
const HOURS_MAX = 365 * 24

const UNCLEAR: Meaning = { is: 'unclear', about: 'anything' }

export function understand(text: string, place: Place): Meaning {
  const sentence = text.replaceAll(/\s+/g, ' ').replaceAll('’', "'").trim()
  if (sentence === '' || sentence.length > SENTENCE_MAX) return UNCLEAR
  const plain = sentence
    .replace(/^(?:please|hey|hi|ok|okay),? /i, '')
    .replace(/(?:,? please)?[ .!?]*$/i, '')
  return (
    command(plain.toLowerCase()) ??
    zone(plain) ??
    price(plain) ??
    silence(plain) ??
    news(plain) ??
    report(plain, place) ??
    reminder(plain, place) ??
    UNCLEAR
  )
}

function command(text: string): Meaning | null {
  if (/^(?:help|\?|what can you do|what do you understand)$/.test(text)) return { is: 'help' }
  if (text === '') return { is: 'help' }
  if (/^(?:hello|hi|hey|good (?:morning|day|afternoon|evening))(?: there)?$/.test(text))
    return { is: 'hello' }
  if (/^(?:stop|cancel|delete|forget|end) (?:all(?: of it)?|everything)$/.test(text))
    return { is: 'stop_all' }
  if (/^(?:stop(?: it)?|enough|quiet|be quiet|leave me alone)$/.test(text)) return { is: 'stop' }
  const numbered = /^(?:cancel|delete|stop|remove|forget) (?:#|no\.? ?|number )?(\d{1,3})$/.exec(
    text,
  )
  if (numbered !== null) return { is: 'cancel', number: Number(numbered[1]) }
  if (
    /^(?:planned|plans?|list|(?:show|list)(?: me)?(?: all)? (?:the |my )?(?:plans?|alarms|reminders))$/.test(
      text,
    )
  )
    return { is: 'planned' }
  if (
    /^what(?:'s| is| have you| do you have)? (?:planned|coming|ahead|set|scheduled)(?: up)?$/.test(
      text,
    )
  )
    return { is: 'planned' }
  if (/^what are you (?:watching|waiting for|planning)$/.test(text)) return { is: 'planned' }
  const why =
    /^why\b.*\b(?:write|wrote|written|writing|message|messages|say|said|remind|tell|told|answer|silent|quiet|ping)\b/
  if (why.test(text) || text === 'why' || text === 'why not') return { is: 'why' }
  return null
}

function zone(text: string): Meaning | null {
  const found = /^(?:my |use |set (?:my )?)?time ?zone(?: is| to)?:? (\S+)$/i.exec(text)
  const named = found ?? /^(?:i am|i'm) in ([a-z_]+\/[a-z_/+-]+)$/i.exec(text)
  const name = named?.[1]
  if (name === undefined) return null
  if (isZone(name)) return { is: 'zone', zone: name }
  return { is: 'unclear', about: 'zone', errors: [`"${name.slice(0, 64)}" is no IANA time zone`] }
}

const TELL = '(?:please )?(?:tell|alert|notify|ping|message|warn) me'
const PRICE = new RegExp(
  `^${TELL} (when|if|once|as soon as|whenever|every time) \\$?([a-z0-9.^=-]{1,15})(?:'s price)? ` +
    '(?:is |goes |falls |drops |rises |climbs |gets |trades )?(?:at )?' +
    '(at or below|at or above|at most|at least|below|under|less than|above|over|more than|<=|>=|<|>) ?\\$?(\\d{1,12}(?:[.,]\\d{1,6})?)$',
  'i',
)
const OPERATOR: Readonly<Record<string, Operator>> = {
  below: '<',
  under: '<',
  'less than': '<',
  above: '>',
  over: '>',
  'more than': '>',
  'at most': '<=',
  'at or below': '<=',
  'at least': '>=',
  'at or above': '>=',
  '<': '<',
  '>': '>',
  '<=': '<=',
  '>=': '>=',
}

function price(text: string): Meaning | null {
  const found = PRICE.exec(text)
  if (found === null) return null
  const [, when = '', ticker = '', words = '', value = ''] = found
  const operator = OPERATOR[words.toLowerCase()]
  if (operator === undefined) return null
  const always = /whenever|every time/i.test(when)
  const number = Number(value.replace(',', '.'))
  return { is: 'price', ticker: ticker.toUpperCase(), operator, value: number, always }
}

const SILENT =
  /\b(?:if|when) (?:i am|i'm|i have been|i've been|i stay|i go|i remain) (?:silent|quiet|away)(?: for)? (.+)$/i
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const UNIT_HOURS: Readonly<Record<string, number>> = { minute: 1 / 60, hour: 1, day: 24, week: 168 }

function silence(text: string): Meaning | null {
  if (!/^(?:check in|check on me|write|ping me|message me|tell me|ask me)\b/i.test(text))
    return null
  const span = SILENT.exec(text)?.[1]
  if (span === undefined) return null
  const hours = hoursOf(span.toLowerCase())
  if (hours !== null && hours <= HOURS_MAX) return { is: 'silence', hours, span }
  const errors = [`"${span.slice(0, 80)}" is no span of time; write one such as "two days"`]
  return { is: 'unclear', about: 'time', errors }
}

/** "two days", "36 hours", "an hour", "a week". */
function hoursOf(span: string): number | null {
  const found = /^(a|an|\d{1,5}(?:\.\d{1,2})?|[a-z]{3,6}) (minute|hour|day|week)s?$/.exec(span)
  if (found === null) return null
  const [, count = '', unit = ''] = found
  const word = NUMBERS.indexOf(count)
  const number = count === 'a' || count === 'an' ? 1 : word >= 0 ? word : Number(count)
  return number > 0 ? number * (UNIT_HOURS[unit] ?? Number.NaN) : null
}

const NEWS = new RegExp(
  `^${TELL} (?:when|whenever|if|once) (?:there (?:is|are) )?(?:the |a |any )?(?:news|headlines?)(?: items?)? (?:mentions?|about|says?|on) (.+)$`,
  'i',
)

function news(text: string): Meaning | null {
  const said = NEWS.exec(text)?.[1]
  if (said === undefined) return null
  const keywords = said
    .split(/,| or /i)
    .map((word) => word.replaceAll(/["“”']/g, '').trim())
    .filter((word) => /[\p{L}\p{N}]/u.test(word) && word.length <= KEYWORD_MAX)
  return keywords.length === 0 || keywords.length > KEYWORDS_MAX ? null : { is: 'news', keywords }
}

const REPORT =
  /^(?:(?:send|give|write)(?: me)? )?(?:a |the |my )?(?:(daily|weekly|monthly|hourly) )?(?:report|summary)\b/i

function report(text: string, place: Place): Meaning | null {
  const lead = REPORT.exec(text)
  if (lead !== null) {
    const rest = `${lead[1] ?? ''} ${text.slice(lead[0].length)}`.trim()
    if (rest === '' || /^now$/i.test(rest)) return { is: 'report', phrase: null, parsed: null }
    const found = split(rest, place, true)
    if (found !== null) return { is: 'report', phrase: found.phrase, parsed: found.parsed }
    return { is: 'unclear', about: 'time', errors: refusal(rest, place, true) }
  }
  const found = split(text, place, true)
  if (found === null || !REPORT.test(found.rest)) return null
  return { is: 'report', phrase: found.phrase, parsed: found.parsed }
}

const REMIND = /^(?:remind|wake|tell|ping|message|write) me\b,?/i

function reminder(text: string, place: Place): Meaning | null {
  const lead = REMIND.exec(text)
  const said = (lead === null ? text : text.slice(lead[0].length)).trim()
  const found = split(said, place, false)
  if (found === null) {
    if (lead === null && !/^(?:every|daily|weekly|in \S+ (?:sec|min|hour|day))/i.test(said))
      return null
    const what = 'say when, for example "remind me in 10 seconds to stretch"'
    const part = /^(?:to|that|about)\b/i.test(said)
      ? ''
      : (said.split(/ (?:to|that|about) /i)[0] ?? '')
    return {
      is: 'unclear',
      about: 'time',
      errors: part === '' ? [what] : refusal(part, place, false),
    }
  }
  const { phrase, parsed } = found
  const what = found.rest.replace(/^(?:(?:to|that|about|of)\b|[,:;-])\s*/i, '').trim()
  if (what !== '') return { is: 'remind', phrase, parsed, what }
  if (lead !== null && /^wake/i.test(lead[0]))
    return { is: 'remind', phrase, parsed, what: 'wake up' }
  return { is: 'unclear', about: 'what', errors: [`what shall I say, ${parsed.description}?`] }
}

/** Words that go on with a time: what stands before them is only part of what was meant, so it is no time of its own. */
const GOES_ON =
  /^(?:and|or|but|except|excluding|without|unless|at|on|in|from|until|till|through|between|starting|beginning|before|after|for|every|other|not)\b/i
const BEGAN = /^(?:every|each|daily|weekly|monthly|hourly|in|at|on|tomorrow|today|next)\b/i

interface Split {
  readonly phrase: string
  readonly parsed: Parsed
  readonly rest: string
}

/** The longest beginning that is a time, else the longest end that is one; the rest is what is wanted then. */
function split(text: string, place: Place, recurring: boolean): Split | null {
  const words = text.split(' ')
  const most = Math.min(PHRASE_WORDS_MAX, words.length)
  for (let count = most; count > 0; count--) {
    const phrase = words
      .slice(0, count)
      .join(' ')
      .replace(/[,:;]$/, '')
    const parsed = timeOf(phrase, place, recurring)
    const rest = words.slice(count).join(' ')
    if (parsed !== null) return GOES_ON.test(rest) ? null : { phrase, parsed, rest }
  }
  for (let count = most; count > 0; count--) {
    const phrase = words.slice(-count).join(' ')
    const parsed = timeOf(phrase, place, recurring)
    const rest = words.slice(0, -count).join(' ').replace(/,$/, '')
    if (parsed !== null) return BEGAN.test(rest) ? null : { phrase, parsed, rest }
  }
  return null
}

function timeOf(phrase: string, { timezone, now }: Place, recurring: boolean): Parsed | null {
  try {
    const parsed = recurring
      ? parseFrequency(phrase, timezone)
      : parsePhrase(phrase, { timezone, now: now.getTime() })
    const { schedule } = parsed
    return schedule.kind === 'once' && (recurring || schedule.at === null) ? null : parsed
  } catch (error) {
    if (error instanceof ScheduleError) return null
    throw error
  }
}

/** Why it is no time, with phrases that work. */
function refusal(phrase: string, { timezone, now }: Place, recurring: boolean): readonly string[] {
  try {
    if (recurring) parseFrequency(phrase, timezone)
    else parsePhrase(phrase, { timezone, now: now.getTime() })
  } catch (error) {
    if (error instanceof ScheduleError) return error.errors
    throw error
  }
  return ['say when, for example "tomorrow at 9"']
}
