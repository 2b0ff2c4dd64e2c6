/** From what was typed to what the server takes. Pure. */
import type { Preview } from '../api/shapes.ts'
import type { TriggerType } from './shapes.ts'

/** `time` stands for once, interval and cron: the phrase says which. */
export type Kind = Exclude<TriggerType, 'cron' | 'interval' | 'once'> | 'time'

export const KINDS: readonly (readonly [Kind, string])[] = [
  ['time', 'A time'],
  ['price', 'A price'],
  ['silence', 'A silence'],
  ['news', 'News'],
  ['event', 'An event'],
  ['calendar', 'The calendar'],
]

export const OPERATORS = [
  ['<', 'is below'],
  ['<=', 'is at or below'],
  ['>', 'is above'],
  ['>=', 'is at or above'],
  ['==', 'is exactly'],
  ['!=', 'is not'],
] as const
export type Operator = (typeof OPERATORS)[number][0]

export interface Waits {
  readonly ticker: string
  readonly operator: Operator
  readonly value: string
  readonly hours: string
  readonly keywords: string
  readonly minutes: string
}

export const NO_WAITS: Waits = {
  ticker: '',
  operator: '<',
  value: '',
  hours: '48',
  keywords: '',
  minutes: '15',
}

/** Undefined for what is no number: the server then says that one is wanted. */
function numberIn(text: string): number | undefined {
  const number = Number(text.trim().replace(',', '.'))
  return text.trim() === '' || Number.isNaN(number) ? undefined : number
}

export function conditionOf(kind: Exclude<Kind, 'time'>, waits: Waits): object {
  switch (kind) {
    case 'price':
      return {
        ticker: waits.ticker.trim(),
        operator: waits.operator,
        value: numberIn(waits.value),
      }
    case 'silence':
      return { threshold_hours: numberIn(waits.hours) }
    case 'calendar':
      return { value: numberIn(waits.minutes) }
    default:
      return { keywords: keywordsIn(waits.keywords) }
  }
}

function keywordsIn(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

const MINUTE_MS = 60_000

/** A phrase means one time, an even interval, or a calendar of times; each is an intent of its own type. */
export function scheduleOf({ kind, canonical, next }: Preview): {
  trigger_type: TriggerType
  trigger_schedule: object
} {
  const [first, second] = next
  if (kind === 'once')
    return { trigger_type: 'once', trigger_schedule: { datetime: first ?? canonical } }
  const minutes =
    kind === 'every' && first !== undefined && second !== undefined
      ? (Date.parse(second) - Date.parse(first)) / MINUTE_MS
      : Number.NaN
  if (Number.isInteger(minutes))
    return { trigger_type: 'interval', trigger_schedule: { interval_minutes: minutes } }
  return { trigger_type: 'cron', trigger_schedule: { cron: canonical } }
}
