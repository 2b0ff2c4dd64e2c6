/**
 * The sources service: polls due sources, each under its own lease, and stores new signals. Signals are stored before the
 * poll is settled, so a crash in between stores them again, and they are deduplicated.
 */
import { errorText } from '../../../src/core/errors.ts'
import { pollWaitMs } from '../../../src/features/intents/polling.ts'
import type { NewSignal } from '../../../src/features/intents/signal.ts'
import type { Source } from '../../../src/features/intents/source.ts'
import type { Meter } from '../../../src/kernel/meter.ts'
import { type Poll, PollService } from '../../../src/kernel/polls.ts'
import type { TestSignals } from '../../../src/kernel/service.ts'
import type { Db } from '../../../src/store/db.ts'
import { releaseClaims, SOURCES } from '../../../src/store/due.ts'
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

const CONCURRENCY = 4
/** A longer poll is aborted and its result is lost. */
const VISIT_MAX_MS = 120_000

export class SourcesService extends PollService<ClaimedSource> {
  readonly #options: SourcesOptions
  readonly #sources: ReadonlyMap<string, Source>
  #ensured = false

  constructor(options: SourcesOptions) {
    const { db, leaseMs, meter, enabled, sources } = options
    super({
      name: 'sources',
      table: SOURCES,
      db,
      leaseMs,
      meter,
      enabled: enabled && sources.length > 0,
      concurrency: CONCURRENCY,
      limitMs: VISIT_MAX_MS,
      keyOf: ({ key }) => key,
    })
    this.#options = options
    this.#sources = new Map(sources.map((source) => [source.key, source]))
  }

  protected async claim(limit: number, token: string) {
    const { db, leaseMs } = this.#options
    if (!this.#ensured) await ensureSources(db, [...this.#sources.values()])
    this.#ensured = true
    return claimSources(db, [...this.#sources.keys()], limit, leaseMs, token)
  }

  protected release(polls: readonly Poll<ClaimedSource>[]): Promise<void> {
    return releaseClaims(this.#options.db, SOURCES, polls)
  }

  /** Polls, stores the signals, settles. */
  protected async poll({ row, token, controller }: Poll<ClaimedSource>): Promise<void> {
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
