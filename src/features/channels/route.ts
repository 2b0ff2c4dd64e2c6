/** Which of a person's links takes a message now, if any. Pure. */
import type { Reason } from '../sessions/reason.ts'

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
