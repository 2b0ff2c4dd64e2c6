/** Which of a person's links takes a message now, if any. Pure. */

import type { Reason } from '../../../../src/features/sessions/gate.ts'
import type { PushOutcome } from '../../../../src/kernel/channel.ts'

/** A link as a claim brings it, in the order in which the person is to be reached. */
export interface Candidate {
  readonly id: string
  readonly channel: string
  readonly address: string
  readonly closed: boolean
  /** Since they last wrote there; null: never. */
  readonly silentMs: number | null
}

/** What matters of a channel: how long its door stays open after they wrote, and whether it has words for a closed one. */
export interface Window {
  /** Null: it is always open. */
  readonly windowMs: number | null
  readonly templated: boolean
}

export type Route =
  /** `passed`: better ones, whose window is closed. */
  | {
      readonly type: 'send'
      readonly link: Candidate
      readonly template: boolean
      readonly passed: readonly Candidate[]
    }
  /** A follow-up does not wait, and does not look for another way. */
  | { readonly type: 'drop'; readonly link: Candidate }
  /** Until somebody links, or writes. `link`: the one whose closed window it waits for. */
  | { readonly type: 'wait'; readonly link: Candidate | null }

export function chooseRoute(
  reason: Reason,
  links: readonly Candidate[],
  windowOf: (channel: string) => Window,
): Route {
  const [first] = links
  if (first === undefined) return { type: 'wait', link: null }
  if (reason === 'follow_up')
    return isOpen(first, windowOf(first.channel))
      ? { type: 'send', link: first, template: false, passed: [] }
      : { type: 'drop', link: first }
  for (const [at, link] of links.entries()) {
    const window = windowOf(link.channel)
    const open = isOpen(link, window)
    if (open || window.templated)
      return { type: 'send', link, template: !open, passed: links.slice(0, at) }
  }
  return { type: 'wait', link: first }
}

function isOpen({ closed, silentMs }: Candidate, { windowMs }: Window): boolean {
  if (closed) return false
  return windowMs === null || (silentMs !== null && silentMs < windowMs)
}

// What becomes of a message, and what is kept of its link, by the way that was chosen and what the channel said. Pure.

export type Told =
  | PushOutcome
  /** The channel is not to be had in this process. */
  | { readonly type: 'elsewhere' }

export interface Settlement {
  /** `waits`: for somebody who links or writes, without a time. */
  readonly outcome: 'sent' | 'later' | 'waits' | 'dropped'
  readonly waitMs: number
  readonly partsSent: number
  readonly error: string | null
  /** False: nothing left this house, so it was no attempt. */
  readonly tried: boolean
  /** What is kept with the link; null where there is nothing to say of it. */
  readonly said: 'sent' | 'later' | 'closed' | 'refused' | 'gone' | null
  readonly ids: readonly string[]
}

export interface Sending {
  readonly reason: Reason
  readonly links: readonly Candidate[]
  readonly partsSent: number
  /** Some link has refused it before. */
  readonly refused: boolean
}

/** The process that has the channel gets this long to take the message. */
const ELSEWHERE_MS = 1_000
export const CLOSED = 'closed: nothing goes there before they write again'

const UNTRIED = { tried: false, waitMs: 0, partsSent: 0, error: null, said: null, ids: [] } as const

/** Where nothing is sent at all. */
export function settleUnsent(
  route: Exclude<Route, { type: 'send' }>,
  message: Sending,
): Settlement {
  if (route.type === 'drop')
    return { ...UNTRIED, outcome: 'dropped', error: CLOSED, said: 'closed' }
  if (route.link !== null) return { ...UNTRIED, outcome: 'waits', error: CLOSED, said: 'closed' }
  // What was refused and has no other way has failed: it does not wait for one.
  return { ...UNTRIED, outcome: message.refused ? 'dropped' : 'waits' }
}

export function settleSent(
  { template }: Extract<Route, { type: 'send' }>,
  told: Told,
  message: Sending,
): Settlement {
  const tried = { tried: true, waitMs: 0, partsSent: 0, ids: [] } as const
  const others = message.links.length > 1
  switch (told.type) {
    case 'elsewhere':
      return { ...UNTRIED, outcome: 'later', waitMs: ELSEWHERE_MS, partsSent: message.partsSent }
    case 'sent': {
      const { ids = [] } = told
      const { partsSent } = message
      return { ...tried, outcome: 'sent', partsSent, error: null, said: 'sent', ids }
    }
    case 'later': {
      const { waitMs, error, partsSent, ids = [] } = told
      return { ...tried, outcome: 'later', waitMs, partsSent, error, said: 'later', ids }
    }
    case 'gone':
      return { ...tried, outcome: others ? 'later' : 'waits', error: told.error, said: 'gone' }
    case 'closed':
      // Chosen again at once: another way, or none until they write.
      if (!template) return { ...tried, outcome: 'later', error: told.error, said: 'closed' }
      break
    case 'dropped':
  }
  const again = others && message.reason !== 'follow_up'
  return { ...tried, outcome: again ? 'later' : 'dropped', error: told.error, said: 'refused' }
}
