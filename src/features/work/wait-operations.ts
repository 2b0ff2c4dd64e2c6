/**
 * Waiting for outputs to end. All who wait in this process share one look at the database at a time: a run may
 * end in another process, and the database is the one place that knows of it.
 */
import type { Db } from '../../store/db.ts'
import { liveOutputs } from './rows.ts'

const LOOK_MS = 100

interface Waiter {
  readonly bucket: number
  readonly id: string
  readonly untilMs: number
  readonly done: () => void
}

export class OutputWaits {
  readonly #db: Db
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Set<Waiter>()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(db: Db, onError: (error: unknown) => void) {
    this.#db = db
    this.#onError = onError
  }

  /** Resolves when the output has ended or is gone, the time is up, nobody waits any more, or we stop. */
  ended(
    output: { readonly bucket: number; readonly id: string },
    ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (ms <= 0 || signal.aborted || this.#closed) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done)
        this.#waiting.delete(waiter)
        resolve()
      }
      const waiter = { ...output, untilMs: performance.now() + ms, done }
      this.#waiting.add(waiter)
      signal.addEventListener('abort', done, { once: true })
      this.#plan(0)
    })
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const waiter of this.#waiting) waiter.done()
  }

  #plan(ms: number): void {
    if (this.#closed || this.#timer !== null || this.#waiting.size === 0) return
    this.#timer = setTimeout(() => {
      this.#look()
        .catch(this.#onError)
        .finally(() => {
          this.#timer = null
          this.#plan(LOOK_MS)
        })
    }, ms)
  }

  async #look(): Promise<void> {
    const asked = [...this.#waiting]
    const live = await liveOutputs(this.#db, asked)
    const now = performance.now()
    for (const waiter of asked) {
      if (!live.has(waiter.id) || now >= waiter.untilMs) waiter.done()
    }
  }
}
