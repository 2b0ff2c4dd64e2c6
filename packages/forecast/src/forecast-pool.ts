/**
 * Runs forecasts on one in-memory store in its own thread. The first forecast opens it (one second), each one empties it (some
 * milliseconds), and it is closed after a while without forecasts, since it holds about 250 MB. A forecast runs in that thread, unless it
 * runs agents of the main thread. One runs at a time, one per person, and few may wait. While others wait, it ends sooner.
 */
import { Refusal } from '../../../src/core/errors.ts'
import { ensureMigrated } from '../../../src/store/migrate.ts'
import type { Store } from '../../../src/store/open.ts'
import { type Beside, openWorkerStore, type WorkerStore } from '../../../src/store/worker-store.ts'
import { BROKEN_OFF, isRaised, newFlag, OTHERS_WAIT, raise } from './flag.ts'
import type { Clock, Played, Stretch, Trouble } from './play.ts'
import type { Order, Report } from './thread.ts'

const WAITING_MAX = 4
const IDLE_MS = 5 * 60_000
const RETRY_MS = 5_000
export const PLAYER: Beside = {
  source: 'packages/forecast/src/thread.ts',
  bundled: 'dist/forecast-thread.js',
}

/** What a forecast has for itself. */
export interface ForecastRun {
  /** Empty. */
  readonly store: Store
  /** The clock of the store. */
  readonly clock: Clock
  /** Runs in the store's thread, with recorders instead of agents. */
  readonly play: (stretch: Stretch, signal: AbortSignal) => Promise<Played>
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
  /** Another forecast is waiting. */
  readonly othersWait: () => boolean
}

export class ForecastPool {
  readonly #trouble: Trouble
  readonly #clock: Clock = { now: new Date(0) }
  #apart: Promise<WorkerStore> | null = null
  #last: Promise<unknown> = Promise.resolve()
  /** People whose forecast runs or waits, the running one first. */
  readonly #people = new Set<string>()
  #flag = newFlag()
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
    if (this.#people.size > 1) raise(this.#flag, OTHERS_WAIT)
    const before = this.#last
    const mine = before.then(() => this.#hold(work))
    // The caller gets its errors without waiting for the clean-up; the next forecast waits for it.
    this.#last = Promise.allSettled([mine]).then(() => this.#tidy())
    return mine.finally(() => this.#people.delete(userId))
  }

  async #hold<T>(work: (room: ForecastRun) => Promise<T>): Promise<T> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    const apart = await this.#open()
    const flag = newFlag()
    this.#flag = flag
    if (this.#people.size > 1) raise(flag, OTHERS_WAIT)
    return work({
      ...{ store: apart.store, clock: this.#clock, signal: this.#closing.signal },
      play: (stretch, signal) => played(apart, { stretch, flag }, signal, this.#trouble),
      othersWait: () => isRaised(flag, OTHERS_WAIT),
    })
  }

  async #tidy(): Promise<void> {
    if (this.#apart === null) return
    await this.#empty((await this.#apart).store)
    this.#idle = setTimeout(() => void this.#drop(), IDLE_MS).unref()
  }

  #open(): Promise<WorkerStore> {
    this.#apart ??= openHouse(this.#clock, this.#onError).catch((error: unknown) => {
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

async function openHouse(clock: Clock, onError: (error: unknown) => void): Promise<WorkerStore> {
  const apart = await openWorkerStore({ now: () => clock.now, onError }, PLAYER)
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

/** Runs one stretch in the thread. The process may exit while the thread is idle, but not while it runs. */
async function played(
  { port, ended }: WorkerStore,
  order: Order,
  signal: AbortSignal,
  trouble: Trouble,
): Promise<Played> {
  const breakOff = () => raise(order.flag, BROKEN_OFF)
  if (signal.aborted) breakOff()
  signal.addEventListener('abort', breakOff, { once: true })
  const ends: (() => void)[] = [() => signal.removeEventListener('abort', breakOff)]
  try {
    return await new Promise<Played>((resolve, reject) => {
      const heard = (said: Report) => {
        if ('trouble' in said) trouble(...said.trouble)
        else if ('failed' in said) reject(said.failed)
        else resolve(said.played)
      }
      const gone = () => reject(ended.reason)
      ended.addEventListener('abort', gone)
      port.on('message', heard)
      ends.push(() => {
        ended.removeEventListener('abort', gone)
        port.off('message', heard).unref()
      })
      port.ref()
      ended.throwIfAborted()
      port.postMessage(order)
    })
  } finally {
    for (const end of ends) end()
  }
}

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
