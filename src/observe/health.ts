/**
 * What health and metrics know of the database. Health asks it nothing while it is well: that it answers is known from
 * whatever was asked of it last, by any caller, and how late things are from a look every few seconds.
 */
import { tzDataVersion } from '../../packages/schedule/src/index.ts'
import { outboxDepth } from '../features/sessions/effect-rows.ts'
import { eventsWaiting } from '../features/sessions/rows.ts'
import { IDLE, Loop } from '../kernel/service.ts'
import { stampedAheadMs } from '../store/ahead.ts'
import { isUnavailable } from '../store/db.ts'
import { ALARMS, dueLagMs, INTENTS, SESSIONS, TIMERS, WAKES, WORK } from '../store/due.ts'
import type { Store } from '../store/open.ts'

export interface HealthOptions {
  readonly store: Store
  /** The database is there and migrated. */
  readonly ready: () => boolean
  readonly version: string
  readonly services: readonly string[]
  readonly onError: (error: unknown) => void
  /** How often the loop looks. */
  readonly lookMs?: number
}

const LOOK_MS = 3_000
/** So long somebody who asks for health waits for the database. */
const ANSWER_MS = 2_000
/** While it is away it is asked no more often than this, however many ask us. */
const ASK_AGAIN_MS = 1_000

type Lags = Readonly<Record<string, number>>

const DUE = {
  sessions: SESSIONS,
  timers: TIMERS,
  alarms: ALARMS,
  wakes: WAKES,
  intents: INTENTS,
  work: WORK,
} as const

export class Health {
  readonly #options: HealthOptions
  readonly #lookMs: number
  readonly #loop: Loop
  #lags: Lags | null = null
  /** How far the newest stamp is ahead of the clock. */
  #aheadMs = 0
  #looking: Promise<Lags> | null = null
  #awayMs = Number.NEGATIVE_INFINITY

  constructor(options: HealthOptions) {
    this.#options = options
    this.#lookMs = options.lookMs ?? LOOK_MS
    const tick = async () => {
      await this.#look()
      return IDLE
    }
    const onError = (_name: string, error: unknown) => options.onError(error)
    this.#loop = new Loop({ name: 'watch', tick }, { pollMs: this.#lookMs, onError })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** How long the oldest due row of each table has waited. */
  async dueLagMs(): Promise<Lags> {
    return this.#options.ready() ? this.#look() : {}
  }

  async outbox() {
    const { store, ready } = this.#options
    if (!ready()) return []
    const rows = await outboxDepth(store.engine)
    return rows.map(({ status, depth, oldest_ms }) => ({ status, depth, oldestMs: oldest_ms }))
  }

  /** Events whose turn has not been yet. */
  async eventsWaiting(): Promise<number | null> {
    const { store, ready } = this.#options
    return ready() ? eventsWaiting(store.engine) : null
  }

  async health() {
    const { store, ready, version, services } = this.#options
    const body = { version, database: store.kind, tz_data: tzDataVersion() }
    if (!ready()) return { ok: false, body: { status: 'waiting for the database', ...body } }
    // An older answer proves nothing: then it is asked. Longer than the loop's pause, so that its look is enough.
    const lags = store.pulse.beats(2 * this.#lookMs) ? this.#lags : null
    const due_lag_ms = lags ?? (await this.#ask())
    if (due_lag_ms === null)
      return { ok: false, body: { status: 'the database is unreachable', ...body } }
    const rest = { ...body, due_lag_ms, services }
    if (this.#aheadMs === 0) return { ok: true, body: { status: 'ok', ...rest } }
    // Still 200: this process serves, and a restart would mend nothing.
    const status = `the clock was set back by ${Math.round(this.#aheadMs / 1000)} s`
    return { ok: true, body: { status, ...rest, clock_ahead_ms: this.#aheadMs } }
  }

  /** Null when it does not answer in time. */
  async #ask(): Promise<Lags | null> {
    if (performance.now() - this.#awayMs < ASK_AGAIN_MS) return null
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<null>((done) => {
      timer = setTimeout(() => done(null), ANSWER_MS)
    })
    const look = this.#look().catch((error: unknown) => {
      if (isUnavailable(error)) return null
      throw error
    })
    try {
      const lags = await Promise.race([look, patience])
      if (lags === null) this.#awayMs = performance.now()
      return lags
    } finally {
      clearTimeout(timer)
    }
  }

  /** One look at a time, shared by all who want it. */
  #look(): Promise<Lags> {
    this.#looking ??= this.#read().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #read(): Promise<Lags> {
    const lags: Record<string, number> = {}
    for (const [name, table] of Object.entries(DUE))
      lags[name] = await dueLagMs(this.#options.store.engine, table)
    this.#aheadMs = await stampedAheadMs(this.#options.store.engine)
    this.#lags = lags
    return lags
  }
}

/** How often each of several shards is looked at. */
export const SHARD_LOOK_MS = 10_000

/** The health of several shards: one that is away takes nothing from the others, so the process is well while any answers. */
export function healthOfShards(shards: readonly Pick<Health, 'health'>[]) {
  return async () => {
    const each = await Promise.all(shards.map((shard) => shard.health()))
    const [home] = each
    const ok = each.some((shard) => shard.ok)
    const shown = each.map(({ body }, shard) => {
      const { status, due_lag_ms } = body as { status: string; due_lag_ms?: Lags }
      return { shard, status, ...(due_lag_ms === undefined ? {} : { due_lag_ms }) }
    })
    const away = shown.filter((_, shard) => !each[shard]?.ok).map(({ shard }) => shard)
    const status = away.length === 0 ? 'ok' : `away: shard ${away.join(', ')}`
    const due_lag_ms = worstOf(shown.map((shard) => shard.due_lag_ms ?? {}))
    return { ok, body: { ...home?.body, status, due_lag_ms, shards: shown } }
  }
}

function worstOf(all: readonly Lags[]): Lags {
  const worst: Record<string, number> = {}
  for (const lags of all)
    for (const [table, ms] of Object.entries(lags)) worst[table] = Math.max(worst[table] ?? 0, ms)
  return worst
}
