/** What people write on a channel, how a long message is cut for one, and how long one that did not go waits. Pure. */
import { createHash } from 'node:crypto'
import { ladderMs } from '../../../../src/core/backoff.ts'
import type { Reason } from '../../../../src/features/sessions/gate.ts'

const WAIT_BASE_MS = 1_000
const WAIT_MAX_MS = 300_000
const RETRY_AFTER_MAX_MS = 3_600_000
/** A part that would end before this share of its length is cut in the middle of a word instead. */
const EARLIEST_CUT = 0.5

/** NUL and halves of surrogate pairs: no text of a person's has them, and none could be kept. */
const UNSTORABLE = /\0|\p{Surrogate}/gu

/** For one person. Each unprompted message may be tried on every link, and nobody has more phones and accounts. */
export const LINKS_MAX = 20
export const LINKS_FULL = `a person has at most ${LINKS_MAX} links: end one first (DELETE /v1/links/{id})`

export type ChatInput =
  | { readonly type: 'start'; readonly code: string | null }
  | { readonly type: 'stop' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'none' }

/**
 * `/start <code>` (also as `/start@the_bot`), or `link <code>` where no slash can be typed, and `/stop` or `unlink` are ours;
 * all else is for the agent.
 */
export function readChat(text: string | undefined): ChatInput {
  const kept = (text ?? '').replaceAll(UNSTORABLE, '')
  if (kept.trim() === '') return { type: 'none' }
  const said = kept.trim()
  const [, command, rest = ''] = /^\/(start|stop)(?:@\w+)?(?:\s+(.*))?$/s.exec(said) ?? []
  if (command === 'stop' || /^unlink$/i.test(said)) return { type: 'stop' }
  if (command === 'start') return { type: 'start', code: rest.trim() || null }
  const [, code] = /^link\s+([\w-]{32})$/i.exec(said) ?? []
  if (code !== undefined) return { type: 'start', code }
  return { type: 'text', text: kept }
}

/** Only this is kept of a link code. */
export function codeHash(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}

/** Cuts at a line's end, else at a space, else anywhere but within a character. Nothing is lost but the white space cut at. */
export function splitText(text: string, max: number): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > max) {
    const end = cutAt(rest, max)
    const part = rest.slice(0, end).trimEnd()
    if (part !== '') parts.push(part)
    rest = rest.slice(end).trimStart()
  }
  if (rest.trim() !== '') parts.push(rest)
  return parts
}

function cutAt(text: string, max: number): number {
  for (const mark of ['\n', ' ']) {
    const end = text.lastIndexOf(mark, max)
    if (end >= max * EARLIEST_CUT) return end
  }
  const code = text.charCodeAt(max - 1)
  return code >= 0xd800 && code <= 0xdbff ? max - 1 : max
}

/** How long a message that did not go waits: what the channel asks for, or a ladder of its own. */
export function pushWaitMs(attempt: number, retryAfterMs: number | null): number {
  if (retryAfterMs !== null) return Math.min(Math.max(retryAfterMs, 0), RETRY_AFTER_MAX_MS)
  return ladderMs(WAIT_BASE_MS, WAIT_MAX_MS, Math.max(0, attempt - 1))
}

// What a person can say to a message that nobody asked for, and is answered without asking the agent. Pure.

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
