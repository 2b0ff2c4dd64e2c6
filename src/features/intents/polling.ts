/** When a source of facts is asked again: politely, later after errors, and never sooner than its server wishes. */
import { createHash } from 'node:crypto'
import { askedMs, ladderMs, type RetryAfter } from '../../core/backoff.ts'

export const POLL_MIN_MS = 60_000
export const POLL_MAX_MS = 86_400_000
/** However long a server asks us to wait, after this we look again. */
const WISH_MAX_MS = 86_400_000
const BACKOFF_MAX_MS = 3_600_000
/** Sources with the same interval drift apart by up to this share of it. */
const JITTER = 0.1

export interface PollOutcome {
  readonly everyMs: number
  /** Failures in a row, this one included; 0 after a success. */
  readonly failures: number
  /** How long the answer stays fresh by its server's word. */
  readonly freshMs: number
  readonly retryAfter: RetryAfter | null
}

/** How long to wait from `now`. The spread is drawn from `key` and `now`, so that it can be told in advance. */
export function pollWaitMs(key: string, outcome: PollOutcome, now: Date): number {
  const { everyMs, failures, freshMs } = outcome
  const ownMs =
    failures === 0 ? everyMs : ladderMs(everyMs, Math.max(everyMs, BACKOFF_MAX_MS), failures - 1)
  const wishMs = Math.max(freshMs, askedMs(outcome.retryAfter, now))
  const waitMs = Math.max(ownMs, Math.min(wishMs, WISH_MAX_MS))
  return Math.round(waitMs + everyMs * JITTER * share(`${key} ${now.getTime()}`))
}

/** From 0 to 1, the same for the same text. */
function share(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 0xffff_ffff
}

/** What `Cache-Control` and `Age` leave of an answer's freshness, in ms; 0 where they say nothing or forbid keeping it. */
export function freshMsOf(cacheControl: string | undefined, age: string | undefined): number {
  const directives = (cacheControl ?? '').toLowerCase().split(',')
  const names = directives.map((each) => each.trim())
  if (names.includes('no-store') || names.includes('no-cache')) return 0
  const maxAge = names.map((each) => /^max-age="?(\d{1,12})"?$/.exec(each)?.[1]).find(Boolean)
  const passed = /^\d{1,12}$/.test(age?.trim() ?? '') ? Number(age) : 0
  return maxAge === undefined ? 0 : Math.max(0, Number(maxAge) - passed) * 1000
}

/** Names a source for as long as its settings stay: readable, and without the secrets a URL may hold. */
export function sourceKey(kind: string, url: string, ...rest: readonly string[]): string {
  const hash = createHash('sha256')
    .update([url, ...rest].join('\n'))
    .digest('hex')
    .slice(0, 12)
  return `${kind}:${new URL(url).hostname}:${hash}`
}
