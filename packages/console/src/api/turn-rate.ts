/** Turns per minute, from the counters that the server shows to machines. Of this process alone. */

export interface Sample {
  readonly atMs: number
  readonly turns: number
}

const WINDOW_MS = 60_000
const APART_MIN_MS = 1_500

/** The turns that have ended, of all agents. */
export function countTurns(metrics: string): number {
  let turns = 0
  for (const [, value] of metrics.matchAll(/^wakeful_turns_total(?:\{[^}]*\})? ([\d.e+]+)$/gm))
    turns += Number(value)
  return turns
}

/** Keeps what is needed for the rate over the last minute. A counter that fell was begun again: so do we. */
export function withSample(before: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = before.at(-1)
  if (last !== undefined && sample.turns < last.turns) return [sample]
  const kept = before.filter(({ atMs }) => sample.atMs - atMs <= WINDOW_MS)
  return [...kept, sample]
}

/** Null until there are two looks far enough apart. */
export function perMinute(samples: readonly Sample[]): number | null {
  const first = samples[0]
  const last = samples.at(-1)
  if (first === undefined || last === undefined || last.atMs - first.atMs < APART_MIN_MS)
    return null
  return ((last.turns - first.turns) / (last.atMs - first.atMs)) * 60_000
}
