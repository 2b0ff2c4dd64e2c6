/**
 * One request, tried again where that is safe: after a network error or a server that is away, and only if a second
 * try cannot do the thing twice (by its method, or by an Idempotency-Key).
 */
import { errorOf, WakefulError } from './error.ts'

const TIMEOUT_MS = 30_000
const RETRIES = 3
const RETRY_MS = 200
const RETRY_MAX_MS = 5_000
/** A server that asks for more patience than this is told to the caller instead. */
const RETRY_AFTER_MAX_MS = 30_000
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE'])
/** Away, or a proxy before it found it away. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])
const TOO_MANY = 429
/** To a repetition: the first try is still being worked on. */
const IN_FLIGHT = 409

export interface TransportOptions {
  /** Such as `http://127.0.0.1:8787`. */
  readonly baseUrl: string
  /** Sent as a bearer key. */
  readonly key?: string
  /** The owner to act for, where the key may: a user id or a DID. */
  readonly actAs?: string
  readonly fetch?: typeof fetch
  /** Of each try; 30 s by default. */
  readonly timeoutMs?: number
  /** Tries after the first; 3 by default. */
  readonly retries?: number
  /** How answers are read and bodies written, instead of `JSON.parse` and `JSON.stringify`, which lose digits beyond 2^53. */
  readonly parse?: (text: string) => unknown
  readonly stringify?: (value: unknown) => string
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly retries?: number
}

export interface Request extends RequestOptions {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** A repetition does no harm, whatever the method. */
  readonly repeatable?: boolean
}

export type Transport = (request: Request) => Promise<unknown>

export function transport(options: TransportOptions): Transport {
  return async (request) => {
    const retries = request.retries ?? options.retries ?? RETRIES
    for (let attempt = 0; ; attempt++) {
      try {
        return await once(options, request)
      } catch (error) {
        const wait = attempt < retries ? waitBefore(error, request, attempt) : null
        if (wait === null) throw error
        await pause(wait, request.signal)
      }
    }
  }
}

/** How long to wait before the next try; null when there should be none. */
function waitBefore(error: unknown, request: Request, attempt: number): number | null {
  if (!(error instanceof WakefulError)) return null
  const { status, retryAfterMs } = error
  const keyed = request.idempotencyKey !== undefined
  const safe = keyed || request.repeatable === true || REPEATABLE.has(request.method)
  const again =
    status === TOO_MANY ||
    (safe && (status === 0 || AWAY.has(status))) ||
    (keyed && attempt > 0 && status === IN_FLIGHT)
  if (!again || (retryAfterMs ?? 0) > RETRY_AFTER_MAX_MS) return null
  return Math.max(retryAfterMs ?? 0, backoffMs(attempt, RETRY_MS, RETRY_MAX_MS))
}

/** Doubles up to the maximum; half of it is chance, so that many clients do not come back at once. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** attempt, maxMs) * (0.5 + Math.random() / 2)
}

async function once(options: TransportOptions, request: Request): Promise<unknown> {
  request.signal?.throwIfAborted()
  const given = new AbortController()
  const giveUp = () => given.abort(request.signal?.reason)
  request.signal?.addEventListener('abort', giveUp)
  const timeoutMs = request.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS
  let late = false
  const timer = setTimeout(() => {
    late = true
    given.abort()
  }, timeoutMs)
  try {
    const answer = await (options.fetch ?? fetch)(`${baseOf(options)}${request.path}`, {
      method: request.method,
      headers: headersOf(options, request),
      signal: given.signal,
      ...(request.body === undefined
        ? {}
        : { body: (options.stringify ?? JSON.stringify)(request.body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw errorOf(answer.status, text, answer.headers)
    return text === '' ? undefined : read(answer.status, text, options.parse ?? JSON.parse)
  } catch (error) {
    request.signal?.throwIfAborted()
    if (error instanceof WakefulError) throw error
    if (late) throw new WakefulError(0, `No answer within ${timeoutMs} ms`, [], { cause: error })
    throw new WakefulError(0, 'The server cannot be reached', [reasonOf(error)], { cause: error })
  } finally {
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', giveUp)
  }
}

export function baseOf(options: TransportOptions): string {
  return options.baseUrl.replace(/\/+$/, '')
}

export function headersOf(
  options: TransportOptions,
  request: { body?: unknown; idempotencyKey?: string } = {},
): Record<string, string> {
  const { key, actAs } = options
  return {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(actAs === undefined ? {} : { 'wakeful-act-as': actAs }),
    ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
  }
}

function read(status: number, text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (cause) {
    throw new WakefulError(status, 'The answer is no JSON: is this a Wakeful server?', [], {
      cause,
    })
  }
}

/** What fetch hides in its cause: ECONNREFUSED, a name that does not resolve. */
function reasonOf(error: unknown): string {
  const { cause, message } = (error ?? {}) as { cause?: unknown; message?: unknown }
  const inner = (cause ?? {}) as { code?: unknown; message?: unknown }
  return String(inner.message || inner.code || message || error)
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer)
      fail(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      done()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Random and of the caller's own making: it makes a repetition of a message or a request harmless. */
export function newClientId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
