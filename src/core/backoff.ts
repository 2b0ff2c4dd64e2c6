/** How long to wait before trying again. */

export const TURN_ATTEMPTS_MAX = 4
export const TURN_DEATHS_MAX = 10
const TURN_BASE_MS = 1000

/** A turn on a user's message or a timer: 1 s, 2 s, 4 s. `failures` counts those before this wait, from 1. */
export function turnRetryMs(failures: number, atLeastMs = 0): number {
  return Math.max(TURN_BASE_MS * 2 ** (failures - 1), atLeastMs)
}

/** min(base · 2^k, max), k being the failures before this one. */
export function ladderMs(baseMs: number, maxMs: number, k: number): number {
  return Math.min(baseMs * 2 ** Math.min(k, 40), maxMs)
}

/** Attempts at one wake of an alarm that does not say, where no setting does; and the most there can be. */
export const MAX_FAILURES = 5
export const MAX_FAILURES_MAX = 100

// How long another side wants to be left alone.

/** A wait that the other side asked for: so long from now, or until an instant. */
export type RetryAfter = { readonly afterMs: number } | { readonly at: Date }

/** From `now` on; 0 where nothing was asked for, or it has passed. */
export function askedMs(retryAfter: RetryAfter | null, now: Date): number {
  if (retryAfter === null) return 0
  if ('afterMs' in retryAfter) return retryAfter.afterMs
  return Math.max(0, retryAfter.at.getTime() - now.getTime())
}
