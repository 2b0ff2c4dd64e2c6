/** Runs under leases: those under way, the heartbeat that keeps their leases, and how they end when a service stops. */

import { isUnavailable } from '../store/db.ts'
import type { Meter } from './meter.ts'

export interface LeasedRunsOptions<R> {
  readonly leaseMs: number
  readonly keyOf: (run: R) => string
  /** One statement extends the leases of all; answers with the keys that are still held. */
  readonly extend: (runs: readonly R[]) => Promise<ReadonlySet<string>>
  /** Its lease went to somebody else: what it does is for nothing. */
  readonly lost: (run: R) => void
  /** What else is looked at with every heartbeat. */
  readonly also?: (runs: readonly R[]) => Promise<void>
  readonly meter: Meter
}

interface Entry<R> {
  readonly run: R
  done: Promise<void>
}

export class LeasedRuns<R> {
  readonly #options: LeasedRunsOptions<R>
  readonly #entries = new Map<string, Entry<R>>()
  #heartbeat: NodeJS.Timeout | null = null

  constructor(options: LeasedRunsOptions<R>) {
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): R | undefined {
    return this.#entries.get(key)?.run
  }

  /** In the order they began. */
  *runs(): Generator<R> {
    for (const { run } of this.#entries.values()) yield run
  }

  start(key: string, run: R, work: Promise<void>, ended: () => void): void {
    const entry: Entry<R> = { run, done: work }
    this.#entries.set(key, entry)
    this.#heartbeat ??= setInterval(() => this.#beat(), this.#options.leaseMs / 3).unref()
    // The next holder of the lease retries it. An unhandled rejection would end the process.
    const heard = work.catch((error: unknown) => this.#options.meter.trouble('run', error))
    entry.done = heard.finally(() => {
      // A row whose lease was lost may be claimed again under the same key while its old run still goes on.
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
      ended()
    })
  }

  async settle(): Promise<void> {
    while (this.#entries.size > 0)
      await Promise.all([...this.#entries.values()].map(({ done }) => done))
  }

  /** Those under way may finish; answers with the ones that did not in time. Their leases are extended no more. */
  async end(graceMs: number): Promise<R[]> {
    let timer: NodeJS.Timeout | undefined
    const grace = new Promise((done) => {
      timer = setTimeout(done, graceMs)
    })
    await Promise.race([this.settle(), grace])
    clearTimeout(timer)
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat)
    this.#heartbeat = null
    return [...this.runs()]
  }

  #beat(): void {
    const runs = [...this.runs()]
    if (runs.length === 0) return
    const { keyOf, extend, lost, also, meter } = this.#options
    extend(runs)
      .then((held) => {
        for (const run of runs) if (!held.has(keyOf(run))) lost(run)
        return also?.(runs)
      })
      .catch((error) => meter.trouble('heartbeat', error))
  }
}

/** A call to the outside that has begun. */
export interface Call {
  readonly startedMs: number
  /** It took longer than most, so its place is given to the next one. */
  slow: boolean
}

/** After so long without an answer a call no longer holds back others. */
const SLOW_MS = 250
export const SLOW_SWEEP_MS = 50

/** Marks the calls that have become slow, and answers with them: one sweep instead of a timer for each. They stand in the order they began in. */
export function markSlow<C extends Call>(calls: Iterable<C>): C[] {
  const before = performance.now() - SLOW_MS
  const marked: C[] = []
  for (const call of calls) {
    if (call.startedMs > before) break
    if (call.slow) continue
    call.slow = true
    marked.push(call)
  }
  return marked
}

const RETRY_MS = 200

export interface RetryOptions<T> {
  readonly trouble: (error: unknown) => void
  /** Nobody waits for it any more. */
  readonly over: () => boolean
  /** The database does not take it, and never will. */
  readonly refused?: (error: unknown) => Promise<T | null>
}

/**
 * Tried until the database answers; null when nobody waits any more. Trying again after an unknown outcome is
 * safe for writes that are fenced by a token: if the first did happen, the token is gone and the second writes nothing.
 */
export async function retryWhileUnavailable<T>(
  write: () => Promise<T>,
  { trouble, over, refused = async () => null }: RetryOptions<T>,
): Promise<T | null> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      trouble(error)
      if (!isUnavailable(error)) return refused(error)
      if (over()) return null
      await new Promise((done) => setTimeout(done, RETRY_MS))
    }
  }
}
