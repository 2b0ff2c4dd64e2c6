/**
 * Group commit: calls that arrive while a commit is under way share the next one. One batch costs
 * little more than one call, so throughput grows with load and latency at rest stays that of one call.
 */
import { isContention, isUnavailable } from './db.ts'

interface Waiting<I, O> {
  readonly item: I
  readonly resolve: (output: O) => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions<I, O> {
  /** Commits all items together and answers in their order. */
  readonly commit: (items: I[]) => Promise<O[]>
  readonly batchMax: number
  /** Commits under way at once. */
  readonly lanes: number
  /** Refuse beyond this, instead of queueing without end. */
  readonly queueMax: number
  readonly onFull: () => Error
  readonly onBatch?: (size: number) => void
}

export class GroupCommit<I, O> {
  readonly #options: GroupCommitOptions<I, O>
  #queue: Waiting<I, O>[] = []
  #running = 0
  #idle: (() => void)[] = []

  constructor(options: GroupCommitOptions<I, O>) {
    this.#options = options
  }

  get depth(): number {
    return this.#queue.length
  }

  submit(item: I): Promise<O> {
    if (this.#queue.length >= this.#options.queueMax) return Promise.reject(this.#options.onFull())
    return new Promise<O>((resolve, reject) => {
      this.#queue.push({ item, resolve, reject })
      if (this.#running < this.#options.lanes) this.#startLane()
    })
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await new Promise<void>((done) => this.#idle.push(done))
  }

  #startLane(): void {
    this.#running++
    // Let the calls of this event-loop turn gather before the first batch leaves.
    setImmediate(() => void this.#lane())
  }

  async #lane(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.batchMax)
      this.#options.onBatch?.(batch.length)
      await this.#commit(batch)
    }
    this.#running--
    if (this.#running === 0) for (const done of this.#idle.splice(0)) done()
  }

  /** One poison item must not fail its neighbours: a refused batch is halved until the culprit stands alone. */
  async #commit(batch: Waiting<I, O>[]): Promise<void> {
    try {
      const outputs = await this.#options.commit(batch.map((waiting) => waiting.item))
      batch.forEach((waiting, index) => {
        waiting.resolve(outputs[index] as O)
      })
    } catch (error) {
      if (batch.length === 1 || !blamesContent(error)) {
        for (const waiting of batch) waiting.reject(error)
        return
      }
      const half = batch.length >> 1
      await this.#commit(batch.slice(0, half))
      await this.#commit(batch.slice(half))
    }
  }
}

/** True unless the database was away or contended: then some item caused the error. */
function blamesContent(error: unknown): boolean {
  return !isUnavailable(error) && !isContention(error)
}
