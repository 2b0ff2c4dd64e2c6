/** One poll of one source: the request, the server's caching headers, and the state to store. */
import { createHash } from 'node:crypto'
import {
  FetchError,
  type Fetched,
  type FetchRequest,
  type Validators,
} from '../../../src/calls/fetcher.ts'
import type { RetryAfter } from '../../../src/core/backoff.ts'
import type { NewSignal } from '../../../src/features/intents/signal.ts'
import type { Got, Source, Visit } from '../../../src/features/intents/source.ts'
import type { ClaimedSource, PolledSource } from './rows.ts'

export type Fetch = (request: FetchRequest) => Promise<Fetched>

const WARNING_MAX = 2000
const NOTHING: Validators = { etag: null, lastModified: null }

export class SourceVisit implements Visit {
  readonly now: Date
  readonly signal: AbortSignal
  readonly told: ReadonlyMap<string, Date> | null
  warning: string | null = null
  freshMs = 0
  retryAfter: RetryAfter | null = null
  readonly #tokens: ReadonlyMap<string, string>
  readonly #since: Validators
  readonly #fetch: Fetch
  readonly #tickers: (limit: number) => Promise<readonly string[]>
  #validators: Validators | null = null

  constructor(
    source: Source,
    row: ClaimedSource,
    signal: AbortSignal,
    doors: { fetch: Fetch; tickers: (limit: number) => Promise<readonly string[]> },
  ) {
    this.now = row.now
    this.signal = signal
    this.#tokens = new Map(Object.entries((JSON.parse(row.told ?? '{}') ?? {}) as object))
    this.told =
      row.told === null
        ? null
        : new Map(
            [...this.#tokens].map(([fact, token]) => [fact, new Date(token.split(' ')[0] ?? '')]),
          )
    const age = row.now.getTime() - (row.read_at?.getTime() ?? Number.NEGATIVE_INFINITY)
    const whole = source.wholeEveryMs !== undefined && age >= source.wholeEveryMs
    this.#since = whole ? NOTHING : { etag: row.etag, lastModified: row.last_modified }
    this.#fetch = doors.fetch
    this.#tickers = doors.tickers
  }

  async getIfChanged(url: string, headers?: Readonly<Record<string, string>>): Promise<Got | null> {
    const fetched = await this.#ask({ url, ...(headers && { headers }), since: this.#since })
    if (fetched.got !== null) this.#validators = fetched
    return fetched.got
  }

  async get(url: string, headers?: Readonly<Record<string, string>>): Promise<Got> {
    const { got } = await this.#ask({ url, ...(headers && { headers }) })
    if (got === null) throw new FetchError('HTTP 304 to a question without conditions', 304)
    return got
  }

  async #ask(request: Omit<FetchRequest, 'signal'>): Promise<Fetched> {
    try {
      const fetched = await this.#fetch({ ...request, signal: this.signal })
      this.freshMs = Math.max(this.freshMs, fetched.freshMs)
      return fetched
    } catch (error) {
      if (error instanceof FetchError) this.retryAfter ??= error.retryAfter
      throw error
    }
  }

  tickers(limit: number): Promise<readonly string[]> {
    return this.#tickers(limit)
  }

  warn(text: string): void {
    const all = this.warning === null ? text : `${this.warning}; ${text}`
    this.warning = all.slice(0, WARNING_MAX)
  }

  /** The new signals among all that the source returned. */
  news(signals: readonly NewSignal[]): NewSignal[] {
    return signals.filter((each) => this.#tokens.get(each.fact) !== tokenOf(each))
  }

  /** State of sources that return everything each time; prices are always new and need none. */
  memory(signals: readonly NewSignal[]): PolledSource['read'] {
    if (this.#validators === null) return null
    const { etag, lastModified } = this.#validators
    const kept = signals.filter((each) => each.gone !== true)
    const told = JSON.stringify(Object.fromEntries(kept.map((each) => [each.fact, tokenOf(each)])))
    return { etag, lastModified, told }
  }
}

/** Changes when the fact does. */
function tokenOf({ at, payload, gone }: NewSignal): string {
  const hash = createHash('sha256')
    .update(`${payload}${gone === true}`)
    .digest('base64url')
  return `${at.toISOString()} ${hash.slice(0, 10)}`
}
