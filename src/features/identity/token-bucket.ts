/** A bucket of tokens that refills with time: `perSecond` on average, `burst` at once. */

export interface Rate {
  readonly perSecond: number
  readonly burst: number
  /** A draw from an empty bucket waits from then on: asking again does not bring the next token nearer. */
  readonly restarts?: boolean
}

export interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

export interface Draw {
  readonly bucket: Bucket
  readonly allowed: boolean
  /** Whole tokens left. */
  readonly left: number
  /** Until the next token; 0 while there are some. */
  readonly waitMs: number
}

/** Takes one token if there is one. A clock that goes back refills nothing. */
export function draw(before: Bucket | undefined, rate: Rate, nowMs: number): Draw {
  const full = before === undefined ? rate.burst : refilled(before, rate, nowMs)
  const allowed = full >= 1
  const tokens = allowed ? full - 1 : rate.restarts ? 0 : full
  const waitMs = tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1000) / rate.perSecond)
  return { bucket: { tokens, atMs: nowMs }, allowed, left: Math.floor(tokens), waitMs }
}

/** How many there would be now. */
function refilled(bucket: Bucket, rate: Rate, nowMs: number): number {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs)
  return Math.min(rate.burst, bucket.tokens + (elapsedMs * rate.perSecond) / 1000)
}
