/**
 * How much one key may ask, and how fast strangers may ask and guess. Counted in this process: with several behind one
 * address each gives its own share. What is remembered is bounded.
 */
import ipaddr from 'ipaddr.js'
import type { Actor } from '../api/contract.ts'
import { plainAddress } from '../core/calls/address.ts'
import { Refusal } from '../core/errors.ts'
import { keepNewest } from '../core/newest.ts'
import { type Bucket, draw, type Rate } from '../features/identity/token-bucket.ts'

const KEPT_MAX = 10_000
/** Wrong keys from one address: nineteen a minute get 401, further ones 429. */
const GUESSES: Rate = { perSecond: 19 / 60, burst: 19, restarts: true }
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
    keepNewest(this.#kept, key, drawn.bucket, KEPT_MAX)
    return drawn
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
      refusal: allowed ? null : tooMuch(`this key may ask ${perSecond} times a second`, waitMs),
    }
  }
}

/**
 * What an address that has just shown something wrong is told beyond that; null: nothing. It is asked after the look,
 * never before: a right key is let in whatever wrong ones came from its address.
 */
export function guessBrake(elapsedMs: () => number): (address: string) => Refusal | null {
  return addressLimits(GUESSES, 'too many wrong keys came from this address', elapsedMs)
}

/** For operations that need no key: the refusal of an address that asks too much. */
export function strangerLimits(elapsedMs: () => number): (address: string) => Refusal | null {
  const why = `without a key an address may ask ${STRANGERS.perSecond} times a second`
  return addressLimits(STRANGERS, why, elapsedMs)
}

function addressLimits(rate: Rate, why: string, elapsedMs: () => number) {
  const buckets = new Buckets(rate, elapsedMs)
  return (address: string): Refusal | null => {
    const { allowed, waitMs } = buckets.take(neighbourhood(address))
    return allowed ? null : tooMuch(why, waitMs)
  }
}

function tooMuch(why: string, retryAfterMs: number): Refusal {
  return new Refusal('rate_limited', `${why}; slow down`, { retryAfterMs })
}

/** One customer has a /64 of IPv6 addresses, so all of those count as one; so does all that is no address. */
function neighbourhood(address: string): string {
  const plain = plainAddress(address)
  if (plain === null) return 'unknown'
  const parsed = ipaddr.parse(plain)
  return parsed.kind() === 'ipv4' ? plain : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':')
}
