/** From what was typed to what the server takes. Pure. */
import type { Preview } from '../api/shapes.ts'

export type WaitKind = 'time' | 'price' | 'silence' | 'news' | 'event' | 'calendar'

export const WAIT_KINDS: readonly (readonly [WaitKind, string])[] = [
  ['time', 'A time'],
  ['price', 'A price'],
  ['silence', 'A silence'],
  ['news', 'News'],
  ['event', 'An event'],
  ['calendar', 'The calendar'],
]

export const EXAMPLES = [
  'in 20 seconds',
  'tomorrow at 9am',
  'every weekday at 8:30',
  'every 6 hours',
]

/** The fields of a request that say when. */
export const TIME_FIELDS = ['in', 'at', 'every', 'when', 'schedule'] as const

export interface Waits {
  readonly ticker: string
  readonly side: 'below' | 'above'
  readonly value: string
  readonly hours: string
  readonly keywords: string
  readonly minutes: string
}

export const NO_WAITS: Waits = {
  ticker: '',
  side: 'below',
  value: '',
  hours: '48',
  keywords: '',
  minutes: '15',
}

/** Text that is no number goes as it is: the server then says that one is wanted. */
function numberIn(text: string): number | string {
  const number = Number(text.trim().replace(',', '.'))
  return text.trim() === '' || Number.isNaN(number) ? text.trim() : number
}

export function whenOf(kind: Exclude<WaitKind, 'time'>, waits: Waits): object {
  switch (kind) {
    case 'price':
      return { price: waits.ticker.trim(), [waits.side]: numberIn(waits.value) }
    case 'silence':
      return { silent_for: `${waits.hours.trim()} hours` }
    case 'calendar':
      return { calendar: true, before: `${waits.minutes.trim()} minutes` }
    default:
      return { [kind]: keywordsIn(waits.keywords) }
  }
}

function keywordsIn(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** A phrase means one time, or times that recur. */
export function timeOf({ kind }: Pick<Preview, 'kind'>, phrase: string): object {
  return kind === 'once' ? { at: phrase.trim() } : { every: phrase.trim() }
}

const NAME_MAX = 60

/** The name of a schedule that was given none: made from its words, and unlike the names that exist. */
export function nameFor(words: string, taken: readonly string[]): string {
  const plain = words.trim().split('\n', 1)[0]?.slice(0, NAME_MAX).trim() || 'Schedule'
  if (!taken.includes(plain)) return plain
  for (let count = 2; ; count++) {
    const name = `${plain} ${count}`
    if (!taken.includes(name)) return name
  }
}
