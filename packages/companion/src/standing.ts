/** Sentences that create intents (price, silence, news) or set the time zone. */
import type { Operator } from '../../../src/features/intents/rules.ts'
import { isZone } from '../../schedule/src/index.ts'
import { type Meaning, unclear } from './meaning.ts'
import { wordsOf } from './sentence.ts'
import { timeWordIn } from './when.ts'

const KEYWORD_MAX = 100
const KEYWORDS_MAX = 25
const HOURS_MAX = 365 * 24

export function standing(text: string): Meaning | null {
  return zone(text) ?? price(text) ?? silence(text) ?? news(text)
}

function zone(text: string): Meaning | null {
  const found = /^(?:my |use |set (?:my )?)?time ?zone(?: is| to)?:? (\S+)$/i.exec(text)
  const named = found ?? /^(?:i am|i'm) in ([a-z_]+\/[a-z_/+-]+)$/i.exec(text)
  const name = named?.[1]
  if (name === undefined) return null
  if (isZone(name)) return { is: 'zone', zone: name }
  return unclear('zone', `"${name.slice(0, 64)}" is not an IANA time zone`)
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
  /^(?:check in(?: (?:on|with) me)?|check on me|write(?: to)?(?: me)?|ping me|message me|tell me|ask me),? (?:if|when) (?:i am|i'm|i have been|i've been|i stay|i go|i remain) (?:silent|quiet|away)(?: for)? (.+)$/i
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const UNIT_HOURS: Readonly<Record<string, number>> = { minute: 1 / 60, hour: 1, day: 24, week: 168 }

function silence(text: string): Meaning | null {
  const span = SILENT.exec(text)?.[1]
  if (span === undefined) return null
  const hours = hoursOf(span.toLowerCase())
  if (hours !== null && hours <= HOURS_MAX) return { is: 'silence', hours, span }
  return unclear('time', `"${span.slice(0, 80)}" is not a duration; write one such as "two days"`)
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
  const left = timeWordIn(wordsOf(said))
  if (left !== null) {
    return unclear(
      'other',
      `"${left.word}" may be a time, and news are told whenever they come; put the words to watch for in quotes`,
    )
  }
  const keywords = said
    .split(/,| or /i)
    .map((word) => word.replaceAll(/["“”']/g, '').trim())
    .filter((word) => word !== '')
  const fit = keywords.every((word) => /[\p{L}\p{N}]/u.test(word) && word.length <= KEYWORD_MAX)
  return !fit || keywords.length === 0 || keywords.length > KEYWORDS_MAX
    ? null
    : { is: 'news', keywords }
}
