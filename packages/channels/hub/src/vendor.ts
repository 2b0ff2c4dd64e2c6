/** A vendor's API over HTTP, and how a text goes out through it part by part. Keys travel in headers, and are in nothing that is told. */

import { askedMs } from '../../../../src/core/backoff.ts'
import { callError } from '../../../../src/core/calls/address.ts'
import { retryAfterOf } from '../../../../src/core/calls/signature.ts'
import { jsonOf } from '../../../../src/features/channels/request.ts'
import { pushWaitMs, splitText } from '../../../../src/features/channels/text.ts'
import type { Push, PushOutcome } from '../../../../src/kernel/channel.ts'

const TIMEOUT_MS = 20_000

export interface VendorCall {
  readonly url: string
  /** GET without one. */
  readonly body?: unknown
  readonly headers: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export interface VendorAnswer {
  readonly status: number
  /** Undefined where it is no JSON. */
  readonly json: unknown
  /** How long the vendor wants to be left alone; null where it does not say. */
  readonly waitMs: number | null
}

/** Throws where nobody answers; what it says then has no address in it. */
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
  /** `id`: the channel's own name for it. */
  | { readonly type: 'sent'; readonly id: string | null }
  | { readonly type: 'later'; readonly waitMs: number | null; readonly error: string }
  | { readonly type: 'closed' | 'dropped' | 'gone'; readonly error: string }

export interface Part {
  readonly text: string
  /** From 0. */
  readonly number: number
  /** What is offered beside a message stands under its end. */
  readonly last: boolean
}

/** Goes on where the last attempt stopped. Whatever is thrown is trouble that may pass. */
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
