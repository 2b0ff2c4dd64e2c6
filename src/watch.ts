/** What health and metrics read from the database. */
import { tzDataVersion } from './core/schedule/index.ts'
import { isUnavailable } from './store/db.ts'
import { ALARMS, dueLagMs, INTENTS, SESSIONS, TIMERS, WAKES, WORK } from './store/due.ts'
import { outboxDepth } from './store/effects.ts'
import type { Store } from './store/open.ts'

export interface WatchOptions {
  readonly store: Store
  /** The database is there and migrated. */
  readonly ready: () => boolean
  readonly version: string
  readonly services: readonly string[]
}

const DUE = {
  sessions: SESSIONS,
  timers: TIMERS,
  alarms: ALARMS,
  wakes: WAKES,
  intents: INTENTS,
  work: WORK,
} as const

export class Watch {
  readonly #options: WatchOptions

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** How long the oldest due row of each table has waited. */
  async dueLagMs(): Promise<Record<string, number>> {
    const { store, ready } = this.#options
    if (!ready()) return {}
    const lags: Record<string, number> = {}
    for (const [name, table] of Object.entries(DUE))
      lags[name] = await dueLagMs(store.engine, table)
    return lags
  }

  async outbox() {
    const { store, ready } = this.#options
    if (!ready()) return []
    const rows = await outboxDepth(store.engine)
    return rows.map(({ status, depth, oldest_ms }) => ({ status, depth, oldestMs: oldest_ms }))
  }

  async health() {
    const { store, ready, version, services } = this.#options
    const body = { version, database: store.kind, tz_data: tzDataVersion() }
    if (!ready()) return { ok: false, body: { status: 'waiting for the database', ...body } }
    try {
      return {
        ok: true,
        body: { status: 'ok', ...body, due_lag_ms: await this.dueLagMs(), services },
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return { ok: false, body: { status: 'the database is away', ...body } }
    }
  }
}
