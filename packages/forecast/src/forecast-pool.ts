/**
 * Runs forecasts on one in-memory store in its own process. The first forecast opens it (one second), each one empties it (some
 * milliseconds), and it is closed after a minute without forecasts, since it holds about 300 MB. A forecast runs in that process, unless it
 * runs agents of the server. One runs at a time, one per person, and few may wait. While others wait, it ends sooner.
 */
import { Refusal } from '../../../src/core/errors.ts'
import { ensureMigrated } from '../../../src/store/migrate.ts'
import type { Store } from '../../../src/store/open.ts'
import type { Clock, Played, Stretch, Trouble } from './play.ts'
import { openStoreProcess, type StoreProcess } from './store-process.ts'

const WAITING_MAX = 4
const IDLE_MS = 60_000
const RETRY_MS = 5_000

/** What a forecast has for itself. */
export interface ForecastRun {
  /** Empty. */
  readonly store: Store
  /** The clock of the store. */
  readonly clock: Clock
  /** Runs in the store's process, with recorders instead of agents. */
  readonly play: (stretch: Stretch, signal: AbortSignal) => Promise<Played>
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
  /** Another forecast is waiting. */
  readonly othersWait: () => boolean
}

export class ForecastPool {
  readonly #trouble: Trouble
  readonly #clock: Clock = { now: new Date(0) }
  #apart: Promise<StoreProcess> | null = null
  #last: Promise<unknown> = Promise.resolve()
  /** People whose forecast runs or waits, the running one first. */
  readonly #people = new Set<string>()
  /** Aborted when another forecast waits for the running one. */
  #others = new AbortController()
  #idle: NodeJS.Timeout | null = null
  readonly #closing = new AbortController()

  constructor(trouble: Trouble) {
    this.#trouble = trouble
  }

  /** Resolves when the earlier forecasts have ended. */
  async forecast<T>(userId: string, work: (room: ForecastRun) => Promise<T>): Promise<T> {
    if (this.#closing.signal.aborted)
      throw new Refusal('unavailable', 'this process is about to stop')
    if (this.#people.has(userId))
      throw busy(`a forecast of ${userId} is running or waits; try again when it has ended`)
    if (this.#people.size > WAITING_MAX)
      throw busy(`${WAITING_MAX} forecasts wait already, and one is held at a time; try again soon`)
    this.#people.add(userId)
    if (this.#people.size > 1) this.#others.abort()
    const before = this.#last
    const mine = before.then(() => this.#hold(work))
    // The caller gets its errors without waiting for the clean-up; the next forecast waits for it.
    this.#last = Promise.allSettled([mine]).then(() => this.#tidy())
    return mine.finally(() => this.#people.delete(userId))
  }

  async #hold<T>(work: (room: ForecastRun) => Promise<T>): Promise<T> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    const apart = await this.#open()
    this.#others = new AbortController()
    if (this.#people.size > 1) this.#others.abort()
    const others = this.#others.signal
    return work({
      ...{ store: apart.store, clock: this.#clock, signal: this.#closing.signal },
      play: (stretch, signal) =>
        apart.play(stretch, { 'broken off': signal, 'others wait': others }),
      othersWait: () => others.aborted,
    })
  }

  async #tidy(): Promise<void> {
    if (this.#apart === null) return
    await this.#empty((await this.#apart).store)
    this.#idle = setTimeout(() => void this.#drop(), IDLE_MS).unref()
  }

  #open(): Promise<StoreProcess> {
    this.#apart ??= openHouse(this.#clock, this.#trouble).catch((error: unknown) => {
      this.#apart = null
      throw error
    })
    return this.#apart
  }

  readonly #onError = (error: unknown) => this.#trouble('forecasts', error)

  /** A store that cannot be emptied is discarded. */
  async #empty(store: Store): Promise<void> {
    try {
      const filled = await filledTables(store)
      if (filled.length > 0) await store.db.exec(`truncate ${filled} cascade`)
    } catch (error) {
      this.#onError(error)
      await this.#drop()
    }
  }

  async #drop(): Promise<void> {
    const apart = this.#apart
    this.#apart = null
    await (await apart)?.store.close().catch(this.#onError)
  }

  /** Reported to the caller of the forecast. */
  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#idle !== null) clearTimeout(this.#idle)
    await this.#last
    await this.#drop()
  }
}

const busy = (text: string) => new Refusal('rate_limited', text, { retryAfterMs: RETRY_MS })

async function openHouse(clock: Clock, trouble: Trouble): Promise<StoreProcess> {
  const onError = (error: unknown) => trouble('forecasts', error)
  const apart = await openStoreProcess({ now: () => clock.now, onError }, trouble)
  await ensureMigrated(apart.store.migrations, 'auto')
  await apart.store.db.exec(UNCHECKED)
  return apart
}

/** PostgreSQL prepares check constraints for every statement, a seventh of its time; rows here are temporary, so drop them. */
const UNCHECKED = `do $$ declare t record; begin
  for t in select c.conrelid::regclass as name, string_agg('drop constraint ' || quote_ident(c.conname), ', ') as checks
    from pg_constraint c where c.contype = 'c' and c.connamespace = 'wakeful'::regnamespace and c.conislocal and c.conparentid = 0
    group by c.conrelid
  loop execute format('alter table %s %s', t.name, t.checks); end loop;
end $$`

async function filledTables({ db }: Store): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'wakeful' and c.relkind in ('r', 'p') and c.relname <> 'migrations'`,
  )
  const looks = tables.map(
    ({ name }) => `select 'wakeful.${name}' as name where exists (select 1 from wakeful.${name})`,
  )
  const filled = await db.query<{ name: string }>(looks.join(' union all '))
  return filled.map(({ name }) => name)
}
