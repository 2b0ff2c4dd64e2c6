/** A subscription of somebody outside: what makes it the same one, how long it lasts, and what becomes of a delivery. Pure. */
import { createHash } from 'node:crypto'
import { askedMs } from '../../../src/core/backoff.ts'
import type { Attempt } from '../../../src/features/alarms/rules.ts'
import { canonicalJson } from '../../exact-json/src/index.ts'
import type { EventArguments } from './event-types.ts'

/** Of one person. */
export const SUBSCRIPTIONS_MAX = 100
export const URL_MAX = 2048
/** A subscription that does not say how long it lasts. */
const TTL_MS = 24 * 3_600_000
const TTL_MIN_MS = 60_000
const TTL_MAX_MS = 30 * 24 * 3_600_000
/** So long a changed secret signs beside its successor. */
export const OLD_SECRET_MS = 10 * 60_000
/** A receiver that took nothing for so long is gone. */
export const FAILING_MAX_MS = 3 * 24 * 3_600_000
/** The largest call. */
export const BODY_MAX_BYTES = 256 * 1024

/** Attempts at one delivery, within a quarter of an hour: at once and after each of these. */
const RETRY_MS = [10_000, 60_000, 180_000, 600_000] as const
const RETRY_AFTER_MAX_MS = 600_000
/** A process that dies at a call counts, too: one that kills its process ends. */
const ATTEMPTS_MAX = 10
/** Answers after which nothing is gained by sending the same thing again. */
const NEVER_AGAIN: ReadonlySet<number> = new Set([410, 413])

export interface SubscriptionKey {
  readonly principal: string
  readonly url: string
  readonly name: string
  readonly arguments: EventArguments
}

/** Who subscribes: a person, one agent of theirs, or those who may act for everybody. */
export function principalOf(who: {
  readonly userId: string | null
  readonly agentId: string | null
  readonly role: string
}): string {
  return `${who.userId ?? `:${who.role}`}${who.agentId === null ? '' : `:${who.agentId}`}`
}

/** The agent whose rows alone a subscriber may see; null: all of the person's. */
export function agentOf(principal: string): string | null {
  const [userId, agentId] = principal.split(':')
  return userId === '' ? null : (agentId ?? null)
}

/** The same for the same request in every process: a UUID out of a hash. */
export function subscriptionId(key: SubscriptionKey): string {
  const parts = [key.principal, key.url, key.name, canonicalJson(key.arguments)]
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  const [a, b, c, d, e] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ]
  return `${a}-${b}-${c}-${d}-${e}`
}

/** Null: it does not expire. Undefined where nothing was said. */
export function expiryOf(ttlMs: number | null | undefined, now: Date): Date | null {
  if (ttlMs === null) return null
  const ms = Math.min(Math.max(ttlMs ?? TTL_MS, TTL_MIN_MS), TTL_MAX_MS)
  return new Date(now.getTime() + ms)
}

/** Words for `deliveryStatus.lastError`. */
export const DELIVERY_ERRORS = [
  'connection_refused',
  'timeout',
  'tls_error',
  'http_4xx',
  'http_5xx',
  'challenge_failed',
] as const
export type DeliveryError = (typeof DELIVERY_ERRORS)[number]

/** Anything that is neither an answer, nor late, nor about certificates is a connection that did not come about. */
export function deliveryError({ status, fault }: Failure): DeliveryError {
  if (status === undefined) return fault ?? 'connection_refused'
  return status >= 500 ? 'http_5xx' : 'http_4xx'
}

type Failure = Pick<Attempt & { taken: false }, 'status' | 'fault'>

export interface DeliveryState {
  /** Counted when it was claimed. */
  readonly attempt: number
  readonly failureCount: number
}

export type DeliveryOutcome =
  | { readonly type: 'taken' }
  | { readonly type: 'later'; readonly waitMs: number; readonly error: DeliveryError }
  | { readonly type: 'given_up'; readonly error: DeliveryError }

export function settleDelivery(state: DeliveryState, attempt: Attempt, now: Date): DeliveryOutcome {
  if (attempt.taken) return { type: 'taken' }
  const error = deliveryError(attempt)
  const wait = RETRY_MS[state.failureCount]
  const never = attempt.terminal || NEVER_AGAIN.has(attempt.status ?? 0)
  if (wait === undefined || never || state.attempt >= ATTEMPTS_MAX)
    return { type: 'given_up', error }
  const asked = Math.min(askedMs(attempt.retryAfter, now), RETRY_AFTER_MAX_MS)
  return { type: 'later', waitMs: Math.max(wait, asked), error }
}
