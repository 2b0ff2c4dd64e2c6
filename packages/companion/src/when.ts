/**
 * Finds the times in a sentence, each as long as possible, and words of time that belong to none of them, so that no time
 * ends up in the text of a reminder.
 */
import {
  isZone,
  type Parsed,
  parseFrequency,
  parsePhrase,
  ScheduleError,
} from '../../schedule/src/index.ts'
import type { Place } from './meaning.ts'
import { bareWord, isQuoted } from './sentence.ts'

const PHRASE_WORDS_MAX = 14

/** Words `from` up to `to`, exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly phrase: string
  readonly parsed: Parsed
}

const list = (words: string) => words.split(' ')
const NUMBERS = list('one two three four five six seven eight nine ten eleven twelve')
const UNITS = list(
  's sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days w wk wks week weeks month months yr yrs year years',
)
const DAYS = list('sunday monday tuesday wednesday thursday friday saturday')
const SHORT_DAYS = list('sun mon tue tues wed weds thu thur thurs fri sat')
const MONTHS = list(
  'january february march april may june july august september october november december',
)
const SHORT_MONTHS = list('jan feb mar apr jun jul aug sep sept oct nov dec')
const PARTS = list('morning afternoon evening night')
const plural = (words: readonly string[]) => words.map((word) => `${word}s`)
const TOMORROW = list('tomorrow tmrw tmr tomorow tommorow tommorrow')

/** Every word that can be part of a time. */
const VOCABULARY = new Set([
  ...list(
    'every each other once a an per daily weekly monthly hourly yearly annually except excluding',
  ),
  ...list(
    'on for at in of the and & to through thru - next this coming today tonight after from now',
  ),
  ...list(
    'start beginning end last first second third fourth fifth half past quarter noon midday midnight',
  ),
  ...list("am pm a.m p.m o'clock oclock weekday weekdays workday workdays weekend weekends @every"),
  ...[...NUMBERS, ...UNITS, ...TOMORROW, ...PARTS, ...plural(PARTS)],
  ...[...DAYS, ...plural(DAYS), ...SHORT_DAYS, ...plural(SHORT_DAYS), ...MONTHS, ...SHORT_MONTHS],
])
const NUMERIC = /^(?:\d[\dtz:.+-]*[a-z]*|[\d*/,?-]+)$/i

/** A time right after one of these words belongs to something else. */
const LEANING = new Set([
  ...list('the a an my our your his her their its this of with from by until till before'),
  ...list(
    'after since around about for to than between per every each other not except and or but at on in',
  ),
  ...list('next last past near under over like during within no without as plus'),
])
/** Short day names that are also other words. */
const HOMONYMS = new Set(list('sun sat mon wed'))

/** The times in the words, from left to right, without overlaps. */
export function spansOf(words: readonly string[], place: Place, recurring = false): Span[] {
  const spans: Span[] = []
  for (let from = 0; from < words.length; ) {
    const span = spanFrom(words, from, place, recurring)
    const previous = words[from - 1]
    const leans =
      previous !== undefined && LEANING.has(bareWord(previous)) && !/[,:;.]$/.test(previous)
    if (span === null || leans) {
      from = span === null ? from + 1 : span.to
      continue
    }
    spans.push(span)
    from = span.to
  }
  return spans
}

/** "buy sun cream", "every hour sun …": a short day name between other words is a day only after a word such as "on". */
function isHomonym(words: readonly string[], from: number, to: number): boolean {
  if (to === words.length || !HOMONYMS.has(bareWord(words[to - 1] ?? ''))) return false
  if (to - from === 1) return from > 0
  return !/^(?:on|every|each|and|to|through|thru|-|next|this|coming)$|,$/i.test(words[to - 2] ?? '')
}

function spanFrom(
  words: readonly string[],
  from: number,
  place: Place,
  recurring: boolean,
): Span | null {
  let end = from
  while (end < words.length && end - from < PHRASE_WORDS_MAX) {
    const word = words[end] ?? ''
    if (isQuoted(word) || !(VOCABULARY.has(bareWord(word)) || NUMERIC.test(bareWord(word)))) break
    end += 1
    if (/[:;!?]$/.test(word) || (/\.$/.test(word) && !/^[\d:]*[ap]\.m\.$/i.test(word))) break
  }
  for (let to = end; to > from; to--) {
    if (isHomonym(words, from, to)) continue
    const phrase = ended(words.slice(from, to).join(' '))
    const parsed = timeOf(phrase, place, recurring)
    if (parsed !== null) return { from, to, phrase, parsed }
  }
  return null
}

/** Removes trailing punctuation, except of "a.m.". */
function ended(phrase: string): string {
  return /[ap]\.m\.$/i.test(phrase) ? phrase : phrase.replace(/[,:;.!?]+$/, '')
}

/** The time a whole text says, or null. */
export function timeOf(phrase: string, place: Place, recurring = false): Parsed | null {
  const known = tried.get(place) ?? new Map<string, Parsed | null>()
  tried.set(place, known)
  const key = `${recurring}\n${phrase}`
  let parsed = known.get(key)
  if (parsed === undefined) {
    parsed = readTime(phrase, place, recurring)
    if (known.size >= TRIED_MAX) known.clear()
    known.set(key, parsed)
  }
  return parsed
}

/** Cache: a sentence is tried in several ways, which mostly parse the same words. */
const tried = new WeakMap<Place, Map<string, Parsed | null>>()
const TRIED_MAX = 2000

function readTime(phrase: string, place: Place, recurring: boolean): Parsed | null {
  const parsed = attempt(phrase, place, recurring)
  if (Array.isArray(parsed)) return null
  const { schedule } = parsed
  return schedule.kind === 'once' && (recurring || schedule.at === null) ? null : parsed
}

/** Why the phrase is not a time, with phrases that work. */
export function whyNot(phrase: string, place: Place, recurring = false): string[] {
  const parsed = attempt(phrase, place, recurring)
  return Array.isArray(parsed) ? parsed : ['say when, for example "tomorrow at 9"']
}

function attempt(phrase: string, { timezone, now }: Place, recurring: boolean): Parsed | string[] {
  try {
    if (recurring) return parseFrequency(phrase, timezone)
    return parsePhrase(phrase, { timezone, now: now.getTime() })
  } catch (error) {
    if (error instanceof ScheduleError) return error.errors
    throw error
  }
}

/** Words of a schedule, a limit, a zone or a change: never part of a task. */
const RHYTHM = new Set([
  ...list(
    'every each daily weekly monthly yearly annually hourly nightly biweekly fortnightly twice weekdays',
  ),
  ...list(
    'weekends mornings afternoons evenings nights until till except excluding instead rather earlier later',
  ),
  ...list('utc gmt cet cest est edt cst cdt mst mdt pst pdt bst ist jst sharp'),
  ...plural(DAYS),
])
const MOMENT = new Set([
  ...list(
    "today tonight yesterday noon midday midnight o'clock oclock weekday weekend soon asap now pm a.m p.m",
  ),
  ...list('tue tues weds thu thur thurs fri jan feb apr jun jul aug sep sept oct nov dec'),
  ...[
    ...TOMORROW,
    ...PARTS,
    ...DAYS,
    ...MONTHS.filter((month) => month !== 'may' && month !== 'march'),
  ],
])
const CLOCK = /^(?:\d{1,2}(?:ish)|\d{1,2}[:.]\d{2}(?:am|pm)?|\d{1,2}(?:am|pm)|\d{4}-\d\d-\d\d.*)$/
const AMOUNT = /^\d+(?:s|secs?|m|mins?|h|hrs?|d|days?|w|wks?|weeks?)$/
const COUNT = new Set([...NUMBERS, ...list('a an half few couple some several')])

export interface Leftover {
  readonly word: string
  /** A schedule or a limit; otherwise a moment that may be part of the task. */
  readonly rhythm: boolean
}

/** The first unquoted word of time; words of schedules take precedence. */
export function timeWordIn(text: readonly string[]): Leftover | null {
  const words = text.map((word) => (isQuoted(word) ? '' : bareWord(word).replace(/'s$/, '')))
  const rhythm = words.find((word) => RHYTHM.has(word) || (word.includes('/') && isZone(word)))
  if (rhythm !== undefined) return { word: rhythm, rhythm: true }
  for (const [i, word] of words.entries()) {
    const next = words[i + 1] ?? ''
    if (MOMENT.has(word) || CLOCK.test(word) || AMOUNT.test(word)) return { word, rhythm: false }
    if (isPair(word, next)) return { word: `${word} ${next}`, rhythm: false }
  }
  return null
}

/** "at 8", "may 5", "10 minutes", "next week", "5 pm". */
function isPair(word: string, next: string): boolean {
  const isNumber = /^\d{1,3}(?:st|nd|rd|th)?$/.test(next)
  if (word === 'at') return isNumber || NUMBERS.includes(next)
  if (word === 'may' || word === 'march' || word === 'mar') return isNumber
  if (/^\d{1,2}$/.test(word) && (next === 'am' || next === 'pm' || next === 'times')) return true
  if (/^\d+$/.test(word) || COUNT.has(word)) return next.length > 2 && UNITS.includes(next)
  return (
    /^(?:next|this|last|coming|past)$/.test(word) && /^(?:week|month|year|time|day)$/.test(next)
  )
}
