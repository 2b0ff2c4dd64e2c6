/**
 * Reads somebody else's server: the same checks of addresses as for webhooks, no redirects, bounded in time
 * and in bytes (also after unpacking), and with the questions that spare both sides an unchanged answer.
 */
import { lookup } from 'node:dns'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { Agent, type Dispatcher, request } from 'undici'
import type { RetryAfter } from '../core/backoff.ts'
import {
  BodyTooLong,
  callError,
  callRefusal,
  checkedLookup,
  type Resolve,
  readBody,
} from '../core/calls/address.ts'
import { retryAfterOf } from '../core/calls/signature.ts'
import { freshMsOf } from '../features/intents/polling.ts'
import { type Got, SourceError } from '../features/intents/source.ts'

const TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
export const ANSWER_MAX_BYTES = 2 * 1024 * 1024
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 5_000
/** An ETag or date longer than this is not remembered. */
const VALIDATOR_MAX = 512

export interface FetcherOptions {
  readonly allowPrivate: boolean
  readonly timeoutMs?: number
  /** For tests: how names are resolved. */
  readonly resolve?: Resolve
}

/** What makes an answer recognisable as unchanged. */
export interface Validators {
  readonly etag: string | null
  readonly lastModified: string | null
}

export interface Fetched extends Validators {
  /** Null for an answer that has not changed. */
  readonly got: Got | null
  readonly freshMs: number
}

/** A refusal to answer now, with the server's wish when to ask again. */
export class FetchError extends SourceError {
  readonly retryAfter: RetryAfter | null

  constructor(message: string, status: number | null = null, retryAfter: RetryAfter | null = null) {
    super(message, status)
    this.retryAfter = retryAfter
  }
}

export interface FetchRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly since?: Validators
  readonly signal: AbortSignal
}

export class Fetcher {
  readonly #options: FetcherOptions
  readonly #agent: Agent

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#agent = new Agent({
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        lookup: checkedLookup(options.allowPrivate, options.resolve ?? lookup),
      },
    })
  }

  async get({ url, headers, since, signal }: FetchRequest): Promise<Fetched> {
    const refusal = callRefusal(url, this.#options.allowPrivate)
    if (refusal !== null) throw new FetchError(`not called: ${refusal}`)
    const timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS
    const late = AbortSignal.timeout(timeoutMs)
    try {
      const answer = await request(url, {
        method: 'GET',
        headers: { ...headersFor(since), ...headers },
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, late]),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      })
      return await read(answer)
    } catch (error) {
      if (error instanceof SourceError) throw error
      if (late.aborted) throw new FetchError(`no answer within ${timeoutMs} ms`)
      if (signal.aborted) throw new FetchError('the call was broken off')
      throw new FetchError(`the call failed: ${callError(error)}`)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

function headersFor(since: Validators | undefined): Record<string, string> {
  return {
    'user-agent': 'wakeful',
    accept: '*/*',
    'accept-encoding': 'gzip',
    ...(since?.etag == null ? {} : { 'if-none-match': since.etag }),
    ...(since?.lastModified == null ? {} : { 'if-modified-since': since.lastModified }),
  }
}

async function read(answer: Dispatcher.ResponseData): Promise<Fetched> {
  const { statusCode: status, body } = answer
  const header = (name: string) => one(answer.headers[name])
  const validators = {
    etag: validator(header('etag')),
    lastModified: validator(header('last-modified')),
  }
  const freshMs = freshMsOf(header('cache-control'), header('age'))
  if (status >= 200 && status < 300 && status !== 206) {
    const packed = await bytesOf(body)
    const bytes = await unpacked(packed, header('content-encoding'))
    const contentType = header('content-type') ?? ''
    return { ...validators, freshMs, got: { body: bytes, contentType } }
  }
  discard(body)
  if (status === 304) return { ...validators, freshMs, got: null }
  throw new FetchError(
    problem(status, header('location')),
    status,
    retryAfterOf(header('retry-after')),
  )
}

/** A small rest is read, so that the connection can be used again; a body cut off has an error nobody waits for. */
function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => body.destroy())
  const signal = AbortSignal.timeout(DISCARD_MS)
  body.dump({ limit: DISCARD_BYTES, signal }).catch(() => body.destroy())
}

const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header)

function validator(header: string | undefined): string | null {
  return header !== undefined && header.length <= VALIDATOR_MAX && /^[\x20-\x7e]+$/.test(header)
    ? header
    : null
}

/** Where a redirect leads is worth saying, but not its query, which may hold a key. */
function problem(status: number, location: string | undefined): string {
  if (status < 300 || status >= 400) return `HTTP ${status}`
  const to = location !== undefined && URL.canParse(location) ? new URL(location) : null
  const where = to === null ? 'elsewhere' : `${to.origin}${to.pathname}`
  return `HTTP ${status}: it has moved to ${where}, and redirects are not followed: set that address`
}

async function bytesOf(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  return readBody(body, ANSWER_MAX_BYTES).catch((error: unknown) => {
    throw error instanceof BodyTooLong ? tooLarge() : error
  })
}

const UNPACK: Readonly<Record<string, (bytes: Buffer, options: object) => Promise<Buffer>>> = {
  gzip: promisify<Buffer, object, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, object, Buffer>(gunzip),
  deflate: promisify<Buffer, object, Buffer>(inflate),
  br: promisify<Buffer, object, Buffer>(brotliDecompress),
}

async function unpacked(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return bytes
  const unpack = UNPACK[name]
  if (unpack === undefined)
    throw new SourceError(
      `the answer is packed as ${JSON.stringify(name.slice(0, 40))}, which is not known`,
    )
  try {
    return await unpack(bytes, { maxOutputLength: ANSWER_MAX_BYTES })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    throw new SourceError(`the answer is packed as ${name}, but cannot be unpacked`)
  }
}

function tooLarge(): SourceError {
  return new SourceError(`the answer is larger than ${ANSWER_MAX_BYTES / 1024 / 1024} MiB`)
}
