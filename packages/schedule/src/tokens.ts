/**
 * Phrases as tokens. The text, capped by the caller, is cut character by character, and read through a
 * cursor; no expression here can backtrack. Nothing is skipped: a character that fits nowhere is refused.
 */

import type { Clock } from './calendar.ts'
import { DAY_NAMES, MONTH_NAMES } from './field.ts'
import { quoted, ScheduleError } from './schedule.ts'

export type Token =
  | { kind: 'word'; text: string }
  | { kind: 'number'; text: string; value: number }
  | { kind: 'ordinal'; text: string; value: number }
  /** `8:30`, `9am`, `9:30pm`; `half` is missing without am or pm. */
  | { kind: 'clock'; text: string; hour: number; minute: number; half?: 'am' | 'pm' }
  /** `20m`, `90sec`. */
  | { kind: 'amount'; text: string; value: number; unit: Unit }
  | { kind: 'date'; text: string; year: number; month: number; day: number }
  | { kind: 'mark'; text: string }

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

const UNIT_NAMES: Record<Unit, string> = {
  second: 's sec secs second seconds',
  minute: 'm min mins minute minutes',
  hour: 'h hr hrs hour hours',
  day: 'd day days',
  week: 'w wk wks week weeks',
  month: 'month months',
  year: 'yr yrs year years',
}
const UNITS = new Map(
  Object.entries(UNIT_NAMES).flatMap(([unit, names]) =>
    names.split(' ').map((name) => [name, unit as Unit] as const),
  ),
)

export function unitOf(word: string): Unit | null {
  return UNITS.get(word) ?? null
}

/** Spellings that can mean nothing else. */
const TOMORROW = new Set('tmrw tmr tomorow tommorow tommorrow'.split(' '))

const PIECE = /^([a-z]+(?:'[a-z]+)?|[0-9:]+[a-z]*|[,&-])/
const DATE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9a-z:-])/

function clockToken(text: string, digits: string, suffix: string): Token | null {
  const [hourText = '', minuteText, ...rest] = digits.split(':')
  const half = { a: 'am', am: 'am', p: 'pm', pm: 'pm' }[suffix] as 'am' | 'pm' | undefined
  if (rest.length > 0 || hourText.length > 2 || hourText === '') return null
  if (suffix !== '' && half === undefined) return null
  if (minuteText !== undefined && minuteText.length !== 2) return null
  const hour = Number(hourText)
  const minute = Number(minuteText ?? 0)
  return { kind: 'clock', text, hour, minute, ...(half === undefined ? {} : { half }) }
}

function numericToken(text: string): Token | null {
  let cut = 0
  while (cut < text.length && /[0-9:]/.test(text[cut] ?? '')) cut += 1
  const head = text.slice(0, cut)
  const suffix = text.slice(cut)
  if (!head.includes(':') && head.length <= 6) {
    if (suffix === '') return { kind: 'number', text, value: Number(head) }
    if (['st', 'nd', 'rd', 'th'].includes(suffix)) {
      return { kind: 'ordinal', text, value: Number(head) }
    }
    const unit = unitOf(suffix)
    if (unit !== null) return { kind: 'amount', text, value: Number(head), unit }
  }
  return clockToken(text, head, suffix)
}

/** The tokens of a phrase, lower case. Throws for characters and numbers that cannot belong to one. */
export function tokenize(text: string): Token[] {
  // "a.m." loses its points, "wed." and a final full stop too.
  // "at 8.30" is a time; without "at" it might be a date.
  const lower = text
    .toLowerCase()
    .replaceAll('a.m.', 'am')
    .replaceAll('p.m.', 'pm')
    .replaceAll(/\bat ([0-9]{1,2})\.([0-9]{2})(?![0-9.])/g, 'at $1:$2')
    .replaceAll(/\.(?=[\s,]|$)/g, '')
  const tokens: Token[] = []
  let rest = lower.trim()
  while (rest !== '') {
    const date = DATE.exec(rest)
    const piece = date?.[0] ?? PIECE.exec(rest)?.[0]
    const token = piece === undefined ? null : toToken(piece, date)
    if (piece === undefined || token === null) {
      throw new ScheduleError(`${quoted(rest.split(/\s/)[0] ?? rest)} is not understood`)
    }
    tokens.push(token)
    rest = rest.slice(piece.length).trimStart()
  }
  return tokens
}

function toToken(piece: string, date: RegExpExecArray | null): Token | null {
  if (date !== null) {
    const [, year, month, day] = date
    return { kind: 'date', text: piece, year: Number(year), month: Number(month), day: Number(day) }
  }
  if (/^[0-9:]/.test(piece)) return numericToken(piece)
  if (!/^[a-z]/.test(piece)) return { kind: 'mark', text: piece }
  return { kind: 'word', text: TOMORROW.has(piece) ? 'tomorrow' : piece }
}

/** Reads tokens from left to right; `back` lets one alternative give way to the next. */
export class Cursor {
  readonly tokens: readonly Token[]
  at = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  get done(): boolean {
    return this.at >= this.tokens.length
  }

  peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead]
  }

  peekWord(ahead = 0): string {
    const token = this.peek(ahead)
    return token?.kind === 'word' ? token.text : ''
  }

  /** Takes the words if all of them follow. */
  take(...texts: string[]): boolean {
    if (!texts.every((text, i) => this.peek(i)?.text === text)) return false
    this.at += texts.length
    return true
  }

  /** Takes one of the words and returns it. */
  takeOne(...texts: string[]): string | null {
    const next = this.peek()
    if (next === undefined || !texts.includes(next.text)) return null
    this.at += 1
    return next.text
  }

  /** Takes what joins two entries of a list. */
  takeAnd(): boolean {
    return this.take(',', 'and') || this.takeOne(',', 'and', '&') !== null
  }

  /** Takes what `read` accepts, or nothing. */
  attempt<T>(read: () => T | null): T | null {
    const start = this.at
    const result = read()
    if (result === null) this.at = start
    return result
  }
}

/** Any spelling of a name that starts with its three letters and is a prefix in use: mon, tues, thurs, sept. */
function nameIndex(word: string, short: readonly string[], full: readonly string[]): number {
  const index = short.indexOf(word.slice(0, 3))
  const name = full[index]
  if (name === undefined) return -1
  const known = [name, name.slice(0, 3), name.slice(0, 4), name.slice(0, 5)]
  return known.includes(word) ? index : -1
}

const FULL_DAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const FULL_MONTHS =
  'january february march april may june july august september october november december'.split(' ')

/** 0 to 6 and whether it was a plural ("mondays"), or null. */
export function weekdayOf(word: string): { weekday: number; plural: boolean } | null {
  const single = nameIndex(word, DAY_NAMES, FULL_DAYS)
  if (single >= 0) return { weekday: single, plural: false }
  if (!word.endsWith('s')) return null
  const many = nameIndex(word.slice(0, -1), DAY_NAMES, FULL_DAYS)
  return many >= 0 ? { weekday: many, plural: true } : null
}

/** 1 to 12, or null. */
export function monthOf(word: string): number | null {
  const index = nameIndex(word, MONTH_NAMES, FULL_MONTHS)
  return index >= 0 ? index + 1 : null
}

const ORDINAL_WORDS = ['first', 'second', 'third', 'fourth', 'fifth']

/** 1 to 31 for `1st` or `first`, or null. */
export function ordinalOf(token: Token | undefined): number | null {
  if (token?.kind === 'ordinal') return token.value >= 1 && token.value <= 31 ? token.value : null
  const index = token?.kind === 'word' ? ORDINAL_WORDS.indexOf(token.text) : -1
  return index >= 0 ? index + 1 : null
}

const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(
  ' ',
)

/** A count: `20`, `two`, or null. */
export function countOf(token: Token | undefined): number | null {
  if (token?.kind === 'number') return token.value
  const index = token?.kind === 'word' ? NUMBER_WORDS.indexOf(token.text) : -1
  return index >= 0 ? index : null
}

export interface ReadClock extends Clock {
  /** A bare number such as `7`, read on the 24-hour clock. */
  bare: boolean
  /** Said with am, pm, noon or midnight. */
  half: boolean
}
