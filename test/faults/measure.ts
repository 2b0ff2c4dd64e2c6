/** The fault suite's look at the machine's clock: figures for its report, and bounds that a fault must not exceed. */
export class Stopwatch {
  readonly #began = performance.now()

  get ms(): number {
    return Math.round(performance.now() - this.#began)
  }

  get text(): string {
    return `${(this.ms / 1000).toFixed(1)} s`
  }
}

/** Reproducible randomness (mulberry32): the same seed is the same run. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function must(what: string, holds: boolean): void {
  if (!holds) throw new Error(`did not hold: ${what}`)
}
