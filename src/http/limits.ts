/**
 * How much one key may ask, and how fast strangers may guess. Counted in this process: with several behind one address
 * each gives its own share.
 */
import ipaddr from 'ipaddr.js'
import type { Actor } from '../api/contract.ts'
import { Refusal } from '../core/errors.ts'
import { type Bucket, draw, type Rate, refilled } from '../core/token-bucket.ts'

const KEPT_MAX = 10_000
/** Wrong keys from one address: twenty at once, then one each second. */
const GUESSES: Rate = { perSecond: 1, burst: 20 }
/** What needs no key (challenges and their proofs), from one address. */
const STRANGERS: Rate = { perSecond: 5, burst: 50 }

class Buckets {
  readonly #kept = new Map<string, Bucket>()
  readonly #rate: Rate
  readonly #elapsedMs: () => number

  constructor(rate: Rate, elapsedMs: () => number) {
    this.#rate = rate
    this.#elapsedMs = elapsedMs
  }

  take(key: string) {
    const drawn = draw(this.#kept.get(key), this.#rate, this.#elapsedMs())
    // Moved to the end, so that the one nobody asked for longest goes first.
    this.#kept.delete(key)
    this.#kept.set(key, drawn.bucket)
    if (this.#kept.size > KEPT_MAX) {
      const oldest = this.#kept.keys().next().value
      if (oldest !== undefined) this.#kept.delete(oldest)
    }
    return drawn
  }

  /** Until there is a token; 0 when there is one. */
  waitMs(key: string): number {
    const bucket = this.#kept.get(key)
    if (bucket === undefined) return 0
    const tokens = refilled(bucket, this.#rate, this.#elapsedMs())
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / this.#rate.perSecond)
  }
}

export interface Limited {
  readonly headers: Readonly<Record<string, string>>
  readonly refusal: Refusal | null
}

/** One bucket for each key. Callers without one (open access on loopback) are not limited. */
export function keyLimits(
  perSecond: number,
  elapsedMs: () => number,
): (actor: Actor) => Limited | null {
  const rate = { perSecond, burst: perSecond * 2 }
  const buckets = new Buckets(rate, elapsedMs)
  const policy = `"key";q=${rate.burst};w=2`
  return ({ keyId }) => {
    if (keyId === null) return null
    const { allowed, left, waitMs } = buckets.take(keyId)
    const seconds = Math.ceil(waitMs / 1000)
    return {
      headers: { 'ratelimit-policy': policy, ratelimit: `"key";r=${left};t=${seconds}` },
      refusal: allowed
        ? null
        : new Refusal('rate_limited', `this key may ask ${perSecond} times a second; slow down`, {
            retryAfterMs: waitMs,
          }),
    }
  }
}

/** For strangers: each wrong key costs its address a token; without tokens it is not even looked at. */
export function guessBrake(elapsedMs: () => number) {
  const buckets = new Buckets(GUESSES, elapsedMs)
  return {
    check(address: string): void {
      const retryAfterMs = buckets.waitMs(neighbourhood(address))
      if (retryAfterMs === 0) return
      const why = 'too many wrong keys came from this address; try again soon'
      throw new Refusal('rate_limited', why, { retryAfterMs })
    },
    failed(address: string): void {
      buckets.take(neighbourhood(address))
    },
  }
}

/** For operations that need no key. Throws when an address asks too much. */
export function strangerLimits(elapsedMs: () => number): (address: string) => void {
  const buckets = new Buckets(STRANGERS, elapsedMs)
  return (address) => {
    const { allowed, waitMs } = buckets.take(neighbourhood(address))
    if (allowed) return
    const why = `without a key an address may ask ${STRANGERS.perSecond} times a second; slow down`
    throw new Refusal('rate_limited', why, { retryAfterMs: waitMs })
  }
}

/** One customer has a /64 of IPv6 addresses, so all of those count as one. */
function neighbourhood(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':')
}
