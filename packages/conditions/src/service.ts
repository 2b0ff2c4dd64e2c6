/**
 * The conditions service: asks the app's own conditions for the intents that are due, each under a lease and a time limit. It
 * writes what was seen; the clock judges and records that as it does with the built-in conditions.
 */
import { errorText } from '../../../src/core/errors.ts'
import { newToken } from '../../../src/core/ids.ts'
import { hasUnstorableJson } from '../../../src/core/text.ts'
import type { Condition, Observed } from '../../../src/features/intents/own.ts'
import { LeasedRuns } from '../../../src/kernel/leased-runs.ts'
import type { Meter } from '../../../src/kernel/meter.ts'
import { IDLE, type Service, type Tick } from '../../../src/kernel/service.ts'
import type { Db } from '../../../src/store/db.ts'
import { CONDITIONS, extendClaims } from '../../../src/store/due.ts'
import {
  claimConditions,
  type DueCondition,
  type Held,
  releaseConditions,
  settleCondition,
} from './rows.ts'

export interface ConditionsOptions {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly db: Db
  readonly leaseMs: number
  readonly meter: Meter
  /** AUTONOMY_ENABLED: false asks nothing. */
  readonly enabled: boolean
  /** Tells the clock that something was seen. */
  readonly seen: () => void
  readonly timeLimitMs?: number
}

interface Running extends Held {
  readonly row: DueCondition
  readonly controller: AbortController
}

const CONCURRENCY = 16
/** A longer poll is aborted and counts as failed. */
const TIME_LIMIT_MS = 30_000
const STOP_GRACE_MS = 2_000
const DATA_MAX_BYTES = 16 * 1024
const ERROR_MAX = 500

export class ConditionsService implements Service {
  readonly name = 'conditions'
  readonly tables = [CONDITIONS]
  /** Called when capacity becomes free. */
  onFree: () => void = () => undefined
  readonly #options: ConditionsOptions
  readonly #running: LeasedRuns<Running>
  #starved = false

  constructor(options: ConditionsOptions) {
    this.#options = options
    this.#running = new LeasedRuns({
      leaseMs: options.leaseMs,
      keyOf: ({ id }) => id,
      extend: (all) =>
        extendClaims(
          options.db,
          CONDITIONS,
          all.map(({ bucket, id: key, token }) => ({ bucket, key, token })),
          options.leaseMs,
        ),
      lost: ({ controller }) => controller.abort(),
      meter: options.meter,
    })
  }

  async tick(): Promise<Tick> {
    const { db, leaseMs, enabled, conditions } = this.#options
    if (!enabled || conditions.size === 0) return IDLE
    const limit = CONCURRENCY - this.#running.size
    this.#starved = limit <= 0
    if (this.#starved) return IDLE
    const token = newToken()
    const names = [...conditions.keys()]
    const { claimed, nextMs } = await claimConditions(db, names, limit, leaseMs, token)
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
    await releaseConditions(this.#options.db, left)
    for (const each of left) each.controller.abort()
    await this.settle()
  }

  #start(row: DueCondition, token: string): void {
    const { bucket, id } = row
    const running = { bucket, id, token, row, controller: new AbortController() }
    this.#running.start(`${id} ${token}`, running, this.#poll(running), () => {
      if (!this.#starved) return
      this.#starved = false
      this.onFree()
    })
  }

  async #poll(running: Running): Promise<void> {
    const { db, meter, seen } = this.#options
    const startedMs = performance.now()
    const observed = await this.#ask(running)
    const outcome = 'error' in observed ? 'failed' : 'ok'
    meter.polled('condition', outcome, performance.now() - startedMs)
    if (await settleCondition(db, running, observed)) seen()
    else meter.leasesLost(1)
  }

  async #ask({ row, controller }: Running): Promise<Observed> {
    const { conditions, timeLimitMs = TIME_LIMIT_MS } = this.#options
    const { type = '', params = {} } = JSON.parse(row.trigger_condition) as {
      type?: string
      params?: Readonly<Record<string, unknown>>
    }
    const condition = conditions.get(type)
    if (condition === undefined) return { error: `there is no condition ${type} here` }
    const { signal } = controller
    const late = setTimeout(
      () => controller.abort(new Error(`the condition took longer than ${timeLimitMs} ms`)),
      timeLimitMs,
    )
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    try {
      // One that ignores its signal is not waited for.
      const answer = await Promise.race([
        (async () => condition({ params, signal, userId: row.user_id }))(),
        aborted,
      ])
      return readAnswer(answer)
    } catch (error) {
      return { error: errorText(error, ERROR_MAX) }
    } finally {
      clearTimeout(late)
    }
  }
}

function readAnswer(answer: unknown): Observed {
  if (typeof answer === 'boolean') return { met: answer }
  const { met, data } = (answer ?? {}) as { met?: unknown; data?: unknown }
  if (typeof met !== 'boolean')
    return { error: 'the condition must answer true, false or { met, data }' }
  if (data === undefined) return { met }
  const text = JSON.stringify(data) as string | undefined
  if (text === undefined || hasUnstorableJson(text) || Buffer.byteLength(text) > DATA_MAX_BYTES)
    return { error: `the data of the condition must be JSON of at most ${DATA_MAX_BYTES} bytes` }
  return { met, data }
}
