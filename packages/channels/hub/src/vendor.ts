/** What channels share: calls to a vendor's HTTP API, sending a text in parts, and checks of signatures. Secrets are sent in headers and never logged. */
import { createHmac, timingSafeEqual } from 'node:crypto'

import { askedMs } from '../../../../src/core/backoff.ts'
import { callError } from '../../../../src/core/calls/address.ts'
import { retryAfterOf } from '../../../../src/core/calls/signature.ts'
import { jsonOf, type Push, type PushOutcome } from '../../../../src/kernel/channel.ts'
import { pushWaitMs, splitText } from './text.ts'

const TIMEOUT_MS = 20_000

export interface VendorCall {
  readonly url: string
  /** Without a body the request is a GET. */
  readonly body?: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export interface VendorAnswer {
  readonly status: number
  /** Undefined if the answer is not JSON. */
  readonly json: unknown
  /** From `Retry-After`; null without one. */
  readonly waitMs: number | null
}

/** Throws if there is no answer; the error names no URL, which may hold a secret. */
export async function askVendor({ url, body, headers, signal }: VendorCall): Promise<VendorAnswer> {
  const late = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const answer = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      redirect: 'error',
      signal: signal === undefined ? late : AbortSignal.any([signal, late]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const json = jsonOf(await answer.text())
    const asked = retryAfterOf(answer.headers.get('retry-after') ?? undefined)
    const waitMs = asked === null ? null : askedMs(asked, new Date(answer.headers.get('date') ?? 0))
    return { status: answer.status, json, waitMs }
  } catch (error) {
    throw new Error(callError(error))
  }
}

export type PartOutcome =
  /** `id`: the vendor's message id. */
  | { readonly type: 'sent'; readonly id: string | null }
  | { readonly type: 'later'; readonly waitMs: number | null; readonly error: string }
  | { readonly type: 'closed' | 'dropped' | 'gone'; readonly error: string }

export interface Part {
  readonly text: string
  /** From 0. */
  readonly number: number
  /** Buttons go under the last part. */
  readonly last: boolean
}

/** Continues after the parts that an earlier attempt sent. A thrown error is retried. */
export async function sendParts(
  { content, partsSent: from, attempt }: Push,
  max: number,
  send: (part: Part) => Promise<PartOutcome>,
): Promise<PushOutcome> {
  const parts = splitText(content, max)
  const ids: string[] = []
  for (let number = from; number < parts.length; number++) {
    const part = { text: parts[number] ?? '', number, last: number === parts.length - 1 }
    const outcome = await send(part).catch(
      (error: unknown): PartOutcome => ({ type: 'later', waitMs: null, error: callError(error) }),
    )
    if (outcome.type === 'later') {
      const waitMs = pushWaitMs(attempt, outcome.waitMs)
      return { type: 'later', waitMs, error: outcome.error, partsSent: number, ids }
    }
    if (outcome.type !== 'sent') return outcome
    if (outcome.id !== null) ids.push(outcome.id)
  }
  return { type: 'sent', ids }
}

/** A signed request may be this old, or this far in the future: clocks differ. */
const YOUNG_MS = 5 * 60_000

/** For texts of the channel itself, which are not retried. */
export function assertSent(outcome: PartOutcome): void {
  if (outcome.type !== 'sent') throw new Error(outcome.error)
}

const CONVERSATIONS_MAX = 10_000

/** The vendor's conversation id for each user, opened at first use. */
export class Conversations {
  readonly #ids = new Map<string, string>()

  async of(user: string, open: () => Promise<PartOutcome>): Promise<string | PartOutcome> {
    const known = this.#ids.get(user)
    if (known !== undefined) return known
    const opened = await open()
    if (opened.type !== 'sent' || opened.id === null) return opened
    if (this.#ids.size >= CONVERSATIONS_MAX) this.#ids.clear()
    this.#ids.set(user, opened.id)
    return opened.id
  }
}

export function hmacHex(secret: string, ...signed: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret)
  for (const each of signed) hmac.update(each)
  return hmac.digest('hex')
}

/** Compares in constant time. */
export function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** `seconds`: the vendor's timestamp header. */
export function isYoung(seconds: string, now: Date): boolean {
  if (!/^\d{1,12}$/.test(seconds)) return false
  return Math.abs(now.getTime() - Number(seconds) * 1000) <= YOUNG_MS
}
