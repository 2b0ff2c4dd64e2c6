/** The one place that reads the machine's time of day; only for what happens without a database. */
export function wallClock(): number {
  return Date.now()
}

/** A clock that is moved by hand, from one instant at which something is due to the next. */
export class HandClock {
  #now: Date

  constructor(startAt: Date) {
    this.#now = startAt
  }

  readonly now = (): Date => this.#now

  /** Without anything happening on the way; back, too. */
  set(instant: Date): void {
    this.#now = instant
  }

  /** `run` does what is due, and answers in how many milliseconds the next thing is; null: nothing waits. */
  async advanceTo(targetMs: number, run: () => Promise<number | null>): Promise<void> {
    for (;;) {
      const nextMs = await run()
      const nowMs = this.#now.getTime()
      if (nextMs === null || nowMs + nextMs > targetMs) break
      // Whole milliseconds, never early, always forward.
      this.#now = new Date(Math.min(targetMs, nowMs + Math.max(1, Math.ceil(nextMs - 1e-6))))
    }
    // Where two advance it side by side, the nearer end does not turn it back.
    if (targetMs > this.#now.getTime()) this.#now = new Date(targetMs)
    await run()
  }
}
