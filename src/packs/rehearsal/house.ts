/**
 * Where rehearsals happen: one store in memory, in a thread of its own, opened by the first of them (a second), emptied after each (some
 * milliseconds), and closed when nobody has rehearsed for a while, since it holds some 250 MB. One at a time, and few wait.
 */
import { Refusal } from '../../core/errors.ts'
import { openApart } from '../../store/db/apart.ts'
import { ensureMigrated } from '../../store/db/migrate.ts'
import type { Store } from '../../store/db/open.ts'

const WAITING_MAX = 4
const IDLE_MS = 5 * 60_000
const RETRY_MS = 5_000

/** What a rehearsal has for itself. */
export interface Room {
  /** Empty. */
  readonly store: Store
  /** Its time is the store's. */
  readonly clock: Clock
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
}

export interface Clock {
  now: Date
}

export class House {
  readonly #onError: (error: unknown) => void
  readonly #clock: Clock = { now: new Date(0) }
  #store: Promise<Store> | null = null
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #idle: NodeJS.Timeout | null = null
  readonly #closing = new AbortController()

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** When those before have ended. */
  async rehearse<T>(work: (room: Room) => Promise<T>): Promise<T> {
    if (this.#closing.signal.aborted)
      throw new Refusal('unavailable', 'this process is about to stop')
    if (this.#waiting > WAITING_MAX) {
      const text = `${WAITING_MAX} rehearsals wait already, and one is held at a time; try again soon`
      throw new Refusal('unavailable', text, { retryAfterMs: RETRY_MS })
    }
    this.#waiting++
    const before = this.#last
    const mine = before.then(() => this.#hold(work))
    // Whoever asked hears of its errors, and need not wait until it is tidy; the next one does.
    this.#last = Promise.allSettled([mine]).then(() => this.#tidy())
    return mine.finally(() => this.#waiting--)
  }

  async #hold<T>(work: (room: Room) => Promise<T>): Promise<T> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    const store = await this.#open()
    return work({ store, clock: this.#clock, signal: this.#closing.signal })
  }

  async #tidy(): Promise<void> {
    if (this.#store === null) return
    await this.#empty(await this.#store)
    this.#idle = setTimeout(() => void this.#drop(), IDLE_MS).unref()
  }

  #open(): Promise<Store> {
    this.#store ??= openHouse(this.#clock, this.#onError).catch((error: unknown) => {
      this.#store = null
      throw error
    })
    return this.#store
  }

  /** One that cannot be emptied is not used again. */
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
    const store = this.#store
    this.#store = null
    await (await store)?.close().catch(this.#onError)
  }

  /** Whoever rehearses is told so. */
  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#idle !== null) clearTimeout(this.#idle)
    await this.#last
    await this.#drop()
  }
}

async function openHouse(clock: Clock, onError: (error: unknown) => void): Promise<Store> {
  const store = await openApart({ now: () => clock.now, onError })
  await ensureMigrated(store.migrations, 'auto')
  return store
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
