/** A service that polls something outside, each poll under its own lease and time limit: sources, and conditions of the app. */
import { newToken } from '../core/ids.ts'
import type { Db } from '../store/db.ts'
import { type DueTable, extendClaims } from '../store/due.ts'
import { LeasedRuns } from './leased-runs.ts'
import type { Meter } from './meter.ts'
import { IDLE, type Service, type Tick } from './service.ts'

export interface Poll<Row> {
  readonly bucket: number
  readonly key: string
  readonly token: string
  readonly row: Row
  readonly controller: AbortController
}

export interface PollsOptions<Row> {
  readonly name: string
  readonly table: DueTable
  readonly db: Db
  readonly leaseMs: number
  readonly meter: Meter
  /** False polls nothing. */
  readonly enabled: boolean
  readonly concurrency: number
  /** A longer poll is aborted. */
  readonly limitMs: number
  readonly keyOf: (row: Row) => string
}

const STOP_GRACE_MS = 2_000

export abstract class PollService<Row extends { readonly bucket: number }> implements Service {
  readonly name: string
  /** Called when capacity becomes free. */
  onFree: () => void = () => undefined
  readonly #options: PollsOptions<Row>
  readonly #running: LeasedRuns<Poll<Row>>
  #starved = false

  constructor(options: PollsOptions<Row>) {
    const { name, db, table, leaseMs, meter } = options
    this.name = name
    this.#options = options
    this.#running = new LeasedRuns({
      leaseMs,
      keyOf: ({ key }) => key,
      extend: (polls) => extendClaims(db, table, polls, leaseMs),
      lost: ({ controller }) => controller.abort(),
      meter,
    })
  }

  protected abstract claim(
    limit: number,
    token: string,
  ): Promise<{ readonly claimed: readonly Row[]; readonly nextMs: number | null }>
  protected abstract poll(poll: Poll<Row>): Promise<void>
  protected abstract release(polls: readonly Poll<Row>[]): Promise<void>

  async tick(): Promise<Tick> {
    const { enabled, concurrency } = this.#options
    if (!enabled) return IDLE
    const limit = concurrency - this.#running.size
    this.#starved = limit <= 0
    if (this.#starved) return IDLE
    const token = newToken()
    const { claimed, nextMs } = await this.claim(limit, token)
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
    if (left.length > 0) await this.release(left)
    for (const { controller } of left) controller.abort()
    await this.settle()
  }

  #start(row: Row, token: string): void {
    const { name, keyOf, limitMs, meter } = this.#options
    const key = keyOf(row)
    const controller = new AbortController()
    const poll = { bucket: row.bucket, key, token, row, controller }
    const late = setTimeout(
      () => controller.abort(new Error(`the poll took longer than ${limitMs} ms`)),
      limitMs,
    ).unref()
    const work = this.poll(poll).catch((error) => meter.trouble(name, error))
    this.#running.start(`${key} ${token}`, poll, work, () => {
      clearTimeout(late)
      if (!this.#starved) return
      this.#starved = false
      this.onFree()
    })
  }
}
