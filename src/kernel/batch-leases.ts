/**
 * Batches of sessions that this process has leased together, and the look for those of processes that died. The row of a batch goes
 * when all of its turns were committed; where one was not, it stays, and is found when its time is over.
 */

import { endLeases, markHeld } from '../features/sessions/lease-rows.ts'
import type { Db } from '../store/db.ts'

/** How many times within a lease it is looked for batches whose time is over. */
const LOOKS = 3

export interface BatchLeasesOptions {
  readonly db: Db
  readonly leaseMs: number
  readonly onError: (error: unknown) => void
}

export class BatchLeases {
  readonly #options: BatchLeasesOptions
  /** By token, how many turns have not ended, and when it began by the monotonic clock. */
  readonly #open = new Map<string, { left: number; readonly begunMs: number }>()
  #lookedMs = Number.NEGATIVE_INFINITY
  #nextMs: number | null = null
  #ending: Promise<void> = Promise.resolve()

  constructor(options: BatchLeasesOptions) {
    this.#options = options
  }

  begin(token: string, turns: number): void {
    if (turns > 0) this.#open.set(token, { left: turns, begunMs: performance.now() })
  }

  /** A turn under this token was committed. */
  ended(token: string): void {
    const batch = this.#open.get(token)
    if (batch === undefined || --batch.left > 0) return
    this.#open.delete(token)
    const end = () => endLeases(this.#options.db, [token])
    // A row that stays is looked at once more when its time is over, and nothing is found to be held.
    this.#ending = this.#ending.then(end).catch(this.#options.onError)
  }

  settle(): Promise<void> {
    return this.#ending
  }

  /** A test clock is told when the next is over; else there is always one look within the next third of a lease. */
  async look(): Promise<number | null> {
    const { db, leaseMs } = this.#options
    const dictatedMs = db.now()?.getTime()
    const nowMs = dictatedMs ?? performance.now()
    if (
      dictatedMs === undefined ? nowMs - this.#lookedMs < leaseMs / LOOKS : nowMs === this.#lookedMs
    )
      return this.#nextMs
    this.#lookedMs = nowMs
    this.#forget()
    const { nextMs } = await markHeld(db)
    this.#nextMs = dictatedMs === undefined ? null : nextMs
    return this.#nextMs
  }
  /** A turn that was lost never ends here: the row of its batch is gone when its time is over, and so is this. */
  #forget(): void {
    const sinceMs = performance.now() - 2 * this.#options.leaseMs
    for (const [token, { begunMs }] of this.#open) if (begunMs < sinceMs) this.#open.delete(token)
  }
}
