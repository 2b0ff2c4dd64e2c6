/**
 * The tests' only look at the machine's clock: waiting for an event, bounded so that what never comes fails instead of
 * hanging. The bound is far beyond what a busy machine needs, and nothing may be concluded from how long it took.
 */
const BOUND_MS = 120_000
const LOOK_MS = 5

type Answer<T> = T | undefined | null | false

/** The machine's own, also where a test has put a timer of its own in its place. */
const { setTimeout: later } = globalThis
const pause = (ms: number) => new Promise<void>((done) => later(done, ms))

/** Asks until there is an answer, and hands it on. */
export async function until<T>(
  what: string,
  ask: () => Answer<T> | Promise<Answer<T>>,
): Promise<T> {
  const end = performance.now() + BOUND_MS
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== null && answer !== false) return answer
    if (performance.now() > end) throw new Error(`it did not come to be: ${what}`)
    await pause(LOOK_MS)
  }
}

/** Somewhere in between, for callers that are not to come all in one instant; nothing is awaited by it. */
export const jitter = (maxMs: number) => pause(Math.random() * maxMs)

/** Lets everything go on that waits for nothing but its turn. */
export async function breathe(turns = 5): Promise<void> {
  for (let n = 0; n < turns; n++) await new Promise((done) => setImmediate(done))
}
