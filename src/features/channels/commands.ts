/** What a person can say to a message that nobody asked for, and is answered without asking the agent. Pure. */
import type { Reason } from '../sessions/reason.ts'

export type Word =
  | { readonly type: 'snooze'; readonly seconds: number }
  | { readonly type: 'stop' }
  | { readonly type: 'why' }

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 }
const SNOOZE_MAX_SECONDS = 31 * 86_400
const SNOOZE = /^snooze (\d{1,4}) ?(m|min|minutes?|h|hours?|d|days?)$/

/** Only the whole message: "why did you stop this?" is for the agent. */
export function readWord(text: string): Word | null {
  const said = text.trim().toLowerCase().replaceAll(/\s+/g, ' ').replace(/[.!]$/, '')
  if (said === 'stop this') return { type: 'stop' }
  if (/^why( did you write)?\??$/.test(said)) return { type: 'why' }
  if (said === 'snooze') return { type: 'snooze', seconds: 3_600 }
  if (said === 'snooze until tomorrow' || said === 'snooze tomorrow')
    return { type: 'snooze', seconds: 86_400 }
  const [, count = '', unit = ''] = SNOOZE.exec(said) ?? []
  const seconds = Number(count) * (UNITS[unit.charAt(0)] ?? 0)
  return seconds > 0 && seconds <= SNOOZE_MAX_SECONDS ? { type: 'snooze', seconds } : null
}

/** The most wanted first: some channels show three. A value is what a person would write. */
const BUTTONS = [
  { label: 'Snooze 1 h', value: 'snooze 1h' },
  { label: 'Stop this', value: 'stop this' },
  { label: 'Why?', value: 'why?' },
  { label: '10 min', value: 'snooze 10m' },
  { label: 'Tomorrow', value: 'snooze tomorrow' },
] as const

export function buttonsFor(reason: Reason) {
  return reason === 'answer' ? [] : BUTTONS
}

type Options = { readonly options: readonly string[] }

/** Of a question: what is pressed is what a person would write. */
export function optionButtons({ options }: Options) {
  return options.map((option) => ({ label: option, value: option }))
}

/** For channels that have no buttons. */
export function withOptions(text: string, { options }: Options): string {
  return `${text}\n\n(${options.join(' / ')})`
}
