/**
 * The time of day is the database's, and reaches every statement as its first parameter: no statement calls `now()`, which
 * distributed databases refuse inside expressions, and which would cost a round trip wherever a process wants to know it.
 *
 * A transaction has the instant of its beginning, asked for in the round trip that begins it. A single statement has the instant
 * last heard plus what has passed since by the steady clock: never ahead of the database, so that nothing is early, and behind it
 * by no more than a round trip. After a second without hearing it is asked for again, so that a clock which was set is followed.
 */
const TRUST_MS = 1_000

/** Answers with one row, `now`: seconds since 1970 with their microseconds, as text. */
export const ASK_TIME = 'select extract(epoch from now()) as now'

interface Heard {
  /** The database's time minus `performance.now()`, at most. */
  readonly offsetMs: number
  readonly atMs: number
}

export class StoreTime {
  /** The instant a test clock dictates, or null. */
  readonly dictated: () => Date | null
  #heard: Heard | null = null
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(dictated: () => Date | null) {
    this.dictated = dictated
  }

  /**
   * Takes note of an answer; gives back its instant. How long it was under way is unknown, so of the answers within a
   * second the one that came soonest after it was given counts: the others were only slower.
   */
  heard(seconds: string): number {
    const atMs = performance.now()
    const instant = Number(seconds) * 1000
    const offsetMs = instant - atMs
    const best = this.#heard
    if (best === null || offsetMs >= best.offsetMs || atMs - best.atMs >= TRUST_MS)
      this.#heard = { offsetMs, atMs }
    this.#lastMs = atMs
    return instant
  }

  /** Milliseconds since 1970; null where it must be asked for. */
  reckoned(): number | null {
    const nowMs = performance.now()
    if (this.#heard === null || nowMs - this.#lastMs >= TRUST_MS) return null
    return nowMs + this.#heard.offsetMs
  }
}

/** As a parameter: to the microsecond, in UTC. */
export function instantText(ms: number): string {
  const micros = Math.round(ms * 1000)
  const whole = Math.floor(micros / 1000)
  const rest = String(micros - whole * 1000).padStart(3, '0')
  return new Date(whole).toISOString().replace('Z', `${rest}Z`)
}
