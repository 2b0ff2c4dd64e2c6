/**
 * Signed calls to somebody else's server (Standard Webhooks). The other side is not trusted: the address
 * is checked when the URL is written and again for what its name resolves to at each connection,
 * redirects are not followed, time and what is read of the answer are bounded.
 */
import { lookup } from 'node:dns'
import { Agent, type Dispatcher, request } from 'undici'
import type { RetryAfter } from '../core/backoff.ts'
import {
  type CallFault,
  callError,
  callFault,
  callRefusal,
  checkedLookup,
} from '../core/calls/address.ts'
import { retryAfterOf, webhookSignature } from '../core/calls/signature.ts'
import { traceHeaders } from '../core/trace/context.ts'
import type { Attempt } from '../features/alarms/rules.ts'

const TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 10_000
/** So much of an answer is read, and so long: afterwards its connection is closed. */
const ANSWER_MAX_BYTES = 64 * 1024
const ANSWER_MAX_MS = 5_000
const ERROR_MAX = 2_000

export interface WebhookRequest {
  readonly url: string
  readonly bearer: string | null
  /** The same for all attempts at one delivery. */
  readonly id: string
  /** The database's time of this attempt. */
  readonly at: Date
  readonly body: string
  /** The trace this call belongs to; the receiver may go on with it. */
  readonly traceparent?: string | null
  /** Instead of the configured ones. */
  readonly secrets?: readonly string[]
  /** Beside those of the signature. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A call whose answer is wanted, not only its status. */
export interface WebhookQuestion extends WebhookRequest {
  readonly timeoutMs: number
  readonly answerMaxBytes: number
}

export type WebhookReply =
  | {
      readonly status: number
      readonly text: string
      /** It was longer than asked for. */
      readonly cut: boolean
      readonly retryAfter: RetryAfter | null
    }
  /** No answer at all, and why. */
  | Unanswered

interface Unanswered {
  readonly error: string
  readonly fault?: CallFault
}

export interface WebhookOptions {
  /** `whsec_…`; several while a secret is being changed. */
  readonly secrets: () => readonly string[]
  readonly allowPrivate: boolean
  readonly timeoutMs?: number
  /** For tests: how names are resolved. */
  readonly resolve?: typeof lookup
}

export class Webhooks {
  readonly #options: WebhookOptions
  readonly #agent: Agent

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#agent = new Agent({
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        lookup: checkedLookup(options.allowPrivate, options.resolve ?? lookup),
      },
    })
  }

  /** Never throws: whatever goes wrong is a failed attempt that says why. */
  async call(call: WebhookRequest, signal?: AbortSignal): Promise<Attempt> {
    const timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS
    const limits = { timeoutMs, bodyTimeoutMs: ANSWER_MAX_MS }
    const got = await this.#post(call, limits, judge, signal)
    if ('taken' in got) return got
    const { error, fault } = got
    return fault === undefined ? failed(error) : { ...failed(error), fault }
  }

  /** The same for a call whose answer matters, whatever its status. */
  async ask(call: WebhookQuestion, signal?: AbortSignal): Promise<WebhookReply> {
    const { timeoutMs, answerMaxBytes } = call
    const limits = { timeoutMs, bodyTimeoutMs: timeoutMs }
    const read = (answer: Dispatcher.ResponseData) => replyOf(answer, answerMaxBytes)
    return this.#post(call, limits, read, signal)
  }

  async #post<T>(
    call: WebhookRequest,
    { timeoutMs, bodyTimeoutMs }: { timeoutMs: number; bodyTimeoutMs: number },
    read: (answer: Dispatcher.ResponseData) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T | Unanswered> {
    const refusal = callRefusal(call.url, this.#options.allowPrivate)
    if (refusal !== null) return { error: `not called: ${refusal}` }
    // One controller for both reasons: `AbortSignal.any` and `.timeout` took a tenth of a burst's time.
    const controller = new AbortController()
    const cut = () => controller.abort()
    signal?.addEventListener('abort', cut, { once: true })
    let late = false
    const timer = setTimeout(() => {
      late = true
      cut()
    }, timeoutMs)
    try {
      const answer = await request(call.url, {
        method: 'POST',
        headers: this.#headers(call),
        body: call.body,
        dispatcher: this.#agent,
        signal: controller.signal,
        headersTimeout: timeoutMs,
        bodyTimeout: bodyTimeoutMs,
      })
      return await read(answer)
    } catch (error) {
      if (late) return { error: `no answer within ${timeoutMs} ms`, fault: 'timeout' }
      return { error: `the call failed: ${callError(error)}`, fault: callFault(error) }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cut)
    }
  }

  #headers(request: WebhookRequest): Record<string, string> {
    const { id, at, body, bearer, secrets, traceparent, headers } = request
    const seconds = Math.floor(at.getTime() / 1000)
    return {
      ...headers,
      'content-type': 'application/json',
      'user-agent': 'wakeful',
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': webhookSignature(secrets ?? this.#options.secrets(), id, seconds, body),
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...traceHeaders(traceparent),
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

/** 2xx counts as soon as its status is read; the rest is read only to use the connection again, or to quote it. */
async function judge(answer: Dispatcher.ResponseData): Promise<Attempt> {
  const { statusCode, headers, body } = answer
  if (statusCode >= 200 && statusCode < 300) {
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    body.dump({ limit: ANSWER_MAX_BYTES, signal }).catch(() => body.destroy())
    return { taken: true }
  }
  const text = (await beginningOf(body)).trim()
  const error = text === '' ? `HTTP ${statusCode}` : `HTTP ${statusCode}: ${text}`
  return { ...failed(error), status: statusCode, retryAfter: patienceOf(headers) }
}

function patienceOf(headers: Dispatcher.ResponseData['headers']): RetryAfter | null {
  const header = headers['retry-after']
  return retryAfterOf(Array.isArray(header) ? header[0] : header)
}

/** An answer that breaks off counts as no answer: half of it could pass for a whole one. */
async function replyOf(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<WebhookReply> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) break
  }
  const text = Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8')
  return { status, text, cut: bytes > maxBytes, retryAfter: patienceOf(headers) }
}

function failed(error: string): Attempt & { taken: false } {
  const text = error.length > ERROR_MAX ? `${error.slice(0, ERROR_MAX - 1)}…` : error
  return { taken: false, error: text, terminal: false, retryAfter: null }
}

/** What can be had of the body within bytes and time; a drip that never ends is cut. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => body.destroy(), ANSWER_MAX_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= ANSWER_MAX_BYTES) break
    }
  } catch {
    // It broke off: what came before is still worth quoting.
  } finally {
    clearTimeout(timer)
    body.destroy()
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_MAX_BYTES).toString('utf8')
}
