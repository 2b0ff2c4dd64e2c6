/** How long another side wants to be left alone. */

/** A wait that the other side asked for: so long from now, or until an instant. */
export type RetryAfter = { readonly afterMs: number } | { readonly at: Date }

/** From `now` on; 0 where nothing was asked for, or it has passed. */
export function askedMs(retryAfter: RetryAfter | null, now: Date): number {
  if (retryAfter === null) return 0
  if ('afterMs' in retryAfter) return retryAfter.afterMs
  return Math.max(0, retryAfter.at.getTime() - now.getTime())
}
