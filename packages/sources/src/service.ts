/**
 * The sources service: polls due sources, each under its own lease, and stores new signals. Signals are stored before the
 * poll is settled, so a crash in between stores them again, and they are deduplicated.
 */
import { errorText } from '../../../src/core/errors.ts'
import { newToken } from '../../../src/core/ids.ts'
import { pollWaitMs } from '../../../src/features/intents/polling.ts'
import type { NewSignal } from '../../../src/features/intents/signal.ts'
import type { Source } from '../../../src/features/intents/source.ts'
import { LeasedRuns } from '../../../src/kernel/leased-runs.ts'
import type { Meter } from '../../../src/kernel/meter.ts'
import { IDLE, type Service, type TestSignals, type Tick } from '../../../src/kernel/service.ts'
import type { Db } from '../../../src/store/db.ts'
import { extendClaims, releaseClaims, SOURCES } from '../../../src/store/due.ts'
import { type Fetch, SourceVisit } from './poll.ts'
import {
  awaitedTickers,
  type ClaimedSource,
  claimSources,
  ensureSources,
  type PolledSource,
  settlePoll,
} from './rows.ts'

export interface SourcesOptions {
  readonly sources: readonly Source[]
  readonly fetch: Fetch
  /** Stores signals and evaluates the intents that watch them. */
  readonly take: (signals: readonly NewSignal[]) => Promise<unknown>
  readonly db: Db
  readonly leaseMs: number
  readonly meter: Meter
  readonly moments: TestSignals
  /** AUTONOMY_ENABLED: false polls nothing. */
  readonly enabled: boolean
}

interface Running {
  readonly row: ClaimedSource
  readonly token: string
  readonly controller: AbortController
}

const CONCURRENCY = 4
/** A longer poll is aborted and its result is lost. */
const VISIT_MAX_MS = 120_000
const STOP_GRACE_MS = 2_000

export class SourcesService implements Service {
  readonly name = 'sources'
  /** Called when capacity becomes free. */
  onFree: () => void = () => undefined
  readonly #options: SourcesOptions
  readonly #sources: ReadonlyMap<string, Source>
  readonly #running: LeasedRuns<Running>
  #ensured = false
  #starved = false

  constructor(options: SourcesOptions) {
    this.#options = options
    this.#sources = new Map(options.sources.map((source) => [source.key, source]))
    this.#running = new LeasedRuns({
      leaseMs: options.leaseMs,
      keyOf: ({ row }) => row.key,
      extend: (all) => extendClaims(options.db, SOURCES, all.map(leaseOf), options.leaseMs),
      lost: ({ controller }) => controller.abort(),
      meter: options.meter,
    })
  }

  async tick(): Promise<Tick> {
    const { db, leaseMs, enabled } = this.#options
    if (!enabled || this.#sources.size === 0) return IDLE
    if (!this.#ensured) await ensureSources(db, [...this.#sources.values()])
    this.#ensured = true
    const limit = CONCURRENCY - this.#running.size
    this.#starved = limit <= 0
    if (this.#starved) return IDLE
    const token = newToken()
    const keys = [...this.#sources.keys()]
    const { claimed, nextMs } = await claimSources(db, keys, limit, leaseMs, token)
    for (const row of claimed) this.#start(row, token)
    this.#starved = claimed.length === limit
    return { did: claimed.length, more: false, nextMs }
  }

  settle(): Promise<void> {
    return this.#running.settle()
  }

  /** Waits for running polls; those that take too long are aborted and their leases released. */
  async close(): Promise<void> {
    const left = await this.#running.end(STOP_GRACE_MS)
    if (left.length > 0) await releaseClaims(this.#options.db, SOURCES, left.map(leaseOf))
    for (const each of left) each.controller.abort()
    await this.settle()
  }

  #start(row: ClaimedSource, token: string): void {
    const controller = new AbortController()
    const running: Running = { row, token, controller }
    const late = setTimeout(() => controller.abort(), VISIT_MAX_MS).unref()
    const visit = this.#visit(running).catch((error) =>
      this.#options.meter.trouble('sources', error),
    )
    this.#running.start(`${row.key} ${token}`, running, visit, () => {
      clearTimeout(late)
      if (!this.#starved) return
      this.#starved = false
      this.onFree()
    })
  }

  /** Polls, stores the signals, settles. */
  async #visit({ row, token, controller }: Running): Promise<void> {
    const { db, fetch, take, meter, moments } = this.#options
    const source = this.#sources.get(row.key)
    if (source === undefined) throw new Error(`claimed ${row.key}, which is not set up here`)
    await moments.reach('claimed', row.key)
    const tickers = (limit: number) => awaitedTickers(db, limit)
    const visit = new SourceVisit(source, row, controller.signal, { fetch, tickers })
    const startedMs = performance.now()
    const { known, error } = await asked(source, visit)
    meter.polled(source.kind, error === null ? 'ok' : 'failed', performance.now() - startedMs)
    if (error !== null) meter.trouble('sources', new Error(`${row.key}: ${error}`))
    const news = known === null ? [] : visit.news(known)
    if (news.length > 0) await take(news)
    const ours = await settlePoll(db, settled(source, row, token, visit, known, error))
    if (!ours) meter.leasesLost(1)
    await moments.reach('committed', row.key)
  }
}

interface Asked {
  /** Null when nothing has changed, or when it failed. */
  readonly known: readonly NewSignal[] | null
  readonly error: string | null
}

async function asked(source: Source, visit: SourceVisit): Promise<Asked> {
  try {
    return { known: await source.poll(visit), error: null }
  } catch (error) {
    return { known: null, error: errorText(error, 500) }
  }
}

function settled(
  source: Source,
  row: ClaimedSource,
  token: string,
  visit: SourceVisit,
  known: readonly NewSignal[] | null,
  error: string | null,
): PolledSource {
  const failures = error === null ? 0 : row.failures + 1
  const { freshMs, retryAfter } = visit
  const { everyMs } = source
  return {
    ...{ bucket: row.bucket, key: row.key, token, failures },
    waitMs: pollWaitMs(row.key, { everyMs, failures, freshMs, retryAfter }, row.now),
    error: error ?? visit.warning,
    read: known === null ? null : visit.memory(known),
  }
}

const leaseOf = ({ row, token }: Running) => ({ bucket: row.bucket, key: row.key, token })
