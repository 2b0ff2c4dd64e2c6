/**
 * Files in an S3-compatible store (AWS, MinIO, R2, Ceph …). Requests use path-style addresses, which all of them support.
 * Responses are bounded and redirects are not followed. Every request is idempotent, so failed ones are retried.
 */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, request } from 'undici'
import { readBody } from '../core/calls/address.ts'
import { errorText } from '../core/errors.ts'
import { ownerOfKey } from '../features/work/file.ts'
import type { FileKeeper, KeptFile, ListedFile } from './keeper.ts'

const TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const ATTEMPTS_MAX = 3
const RETRY_BASE_MS = 200
/** A page of a thousand keys is about 400 KB of XML. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024
const PAGE_MAX = 1000

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | null
}

export interface S3Options {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Prefix of every key, without slashes at its ends. Read at each call. */
  readonly prefix: () => string
  readonly credentials: Credentials
  /** Accepts a key. Default: keys made by `fileKey`. */
  readonly isKey?: (key: string) => boolean
  /** Wall-clock time: the store rejects signatures whose time is off by minutes. */
  readonly now: () => Date
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly signal?: AbortSignal | undefined
}

export class S3Keeper implements FileKeeper {
  readonly #options: S3Options
  readonly #agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } })

  constructor(options: S3Options) {
    this.#options = options
  }

  async put(key: string, bytes: Uint8Array, mediaType: string, signal?: AbortSignal) {
    const headers = { 'content-type': mediaType }
    const url = this.#url(key)
    const answer = await this.#ask({ method: 'PUT', url, headers, body: bytes, signal })
    await answer.body.dump({ limit: ANSWER_MAX_BYTES })
  }

  async open(key: string, signal?: AbortSignal): Promise<KeptFile | null> {
    const answer = await this.#ask({ method: 'GET', url: this.#url(key), signal }, [404])
    if (answer.statusCode === 404) {
      await answer.body.dump({ limit: ANSWER_MAX_BYTES })
      return null
    }
    const size = Number(answer.headers['content-length'])
    if (Number.isSafeInteger(size)) return { size, stream: answer.body }
    answer.body.destroy()
    throw new Error('the file store sent no content-length')
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const answer = await this.#ask({ method: 'DELETE', url: this.#url(key) }, [404])
      await answer.body.dump({ limit: ANSWER_MAX_BYTES })
    }
  }

  async removeUnder(prefix: string): Promise<void> {
    if (ownerOfKey(`${prefix}1-00000000-0000-7000-8000-000000000000`) === null)
      throw new Error('removeUnder needs a prefix made by workPrefix')
    for (let after: string | null = null; ; ) {
      const { files, next } = await this.#page(prefix, after, PAGE_MAX)
      await this.remove(files.map((file) => file.key))
      if (next === null) return
      after = next
    }
  }

  list(after: string | null, limit: number) {
    return this.#page('', after, Math.min(limit, PAGE_MAX))
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #page(under: string, after: string | null, limit: number) {
    const base = `${this.#options.prefix()}/`
    const url = this.#bucketUrl()
    url.searchParams.set('list-type', '2')
    url.searchParams.set('max-keys', String(limit))
    url.searchParams.set('prefix', `${base}${under}`)
    if (after !== null) url.searchParams.set('start-after', `${base}${after}`)
    const answer = await this.#ask({ method: 'GET', url })
    const text = await textOf(answer)
    const listed = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map((match) => {
      const entry = match[1] ?? ''
      return { name: tag(entry, 'Key'), modifiedAt: new Date(tag(entry, 'LastModified')) }
    })
    const files: ListedFile[] = []
    for (const { name, modifiedAt } of listed) {
      const key = name.startsWith(base) ? name.slice(base.length) : ''
      if (ownerOfKey(key) !== null && !Number.isNaN(modifiedAt.getTime()))
        files.push({ key, modifiedAt })
    }
    const last = listed.at(-1)?.name
    const more = tag(text, 'IsTruncated') === 'true' && last !== undefined
    return { files, next: more ? last.slice(base.length) : null }
  }

  /** Returns a 2xx or `expected` response; otherwise throws an error that quotes the store's answer. */
  async #ask(ask: S3Request, expected: readonly number[] = []): Promise<Dispatcher.ResponseData> {
    for (let attempt = 1; ; attempt++) {
      let failure: Error
      try {
        const answer = await this.#send(ask)
        const { statusCode } = answer
        if ((statusCode >= 200 && statusCode < 300) || expected.includes(statusCode)) return answer
        failure = new Error(`the file store answered ${statusCode}${saidBy(await textOf(answer))}`)
        if (statusCode < 500 && statusCode !== 429) throw new Final(failure)
      } catch (error) {
        if (error instanceof Final) throw error.failure
        ask.signal?.throwIfAborted()
        failure = new Error(`the file store could not be reached: ${errorText(error, 300)}`)
      }
      if (attempt >= ATTEMPTS_MAX) throw failure
      await new Promise((done) => setTimeout(done, RETRY_BASE_MS * 2 ** (attempt - 1)))
    }
  }

  /** Signs every attempt again, because a signature expires after minutes. */
  async #send({ signal, ...ask }: S3Request) {
    const { region, credentials, now } = this.#options
    const headers = await signedHeaders(ask, { ...credentials, region }, now())
    const { url, method, body } = ask
    return request(url, {
      method,
      headers,
      body: body ?? null,
      dispatcher: this.#agent,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      signal: signal ?? null,
    })
  }

  #bucketUrl(): URL {
    const { endpoint, bucket } = this.#options
    return new URL(`${endpoint.replace(/\/+$/, '')}/${encoded(bucket)}`)
  }

  #url(key: string): URL {
    const isKey = this.#options.isKey ?? ((each: string) => ownerOfKey(each) !== null)
    if (!isKey(key)) throw new Error(`not a file key: "${key}"`)
    const path = `${this.#options.prefix()}/${key}`.split('/').map(encoded).join('/')
    return new URL(`${this.#bucketUrl().href}/${path}`)
  }
}

/** The request's headers with its time, the hash of its body and an AWS Signature Version 4. */
export async function signedHeaders(
  { method, url, headers, body }: Omit<S3Request, 'signal'>,
  { sessionToken, ...account }: Credentials & { readonly region: string },
  at: Date,
): Promise<Record<string, string>> {
  const hash = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  const signer = new AwsV4Signer({
    ...account,
    ...(sessionToken === null ? {} : { sessionToken }),
    method,
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': hash },
    service: 's3',
    datetime: at.toISOString().replaceAll(/[-:]|\.\d{3}/g, ''),
    allHeaders: true,
  })
  return Object.fromEntries((await signer.sign()).headers)
}

/** Not retried. */
class Final extends Error {
  readonly failure: Error

  constructor(failure: Error) {
    super(failure.message)
    this.failure = failure
  }
}

async function textOf({ body }: Dispatcher.ResponseData): Promise<string> {
  return (await readBody(body, ANSWER_MAX_BYTES)).toString('utf8')
}

/** Our keys and timestamps contain no XML entities; text with entities is not one of our keys. */
function tag(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
}

function saidBy(xml: string): string {
  const said = [tag(xml, 'Code'), tag(xml, 'Message')].filter((text) => text !== '').join(': ')
  return said === '' ? '' : ` (${said.slice(0, 300)})`
}

/** `encodeURIComponent` leaves five characters bare that S3 signs encoded. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
