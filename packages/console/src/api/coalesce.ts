/** Many calls, few runs: a run serves every call before it, and one that comes during a run gets another. */

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

export interface Coalesced {
  (): void
  stop(): void
}

/** `gatherMs`: calls in a burst share a run. `gapMs`: runs under steady calls keep this distance. */
export function coalesce(
  work: () => Promise<void>,
  { gatherMs, gapMs }: { gatherMs: number; gapMs: number },
): Coalesced {
  let running = false
  let called = false
  let stopped = false
  const run = async () => {
    running = true
    await pause(gatherMs)
    while (called && !stopped) {
      called = false
      await work()
      if (called) await pause(gapMs)
    }
    running = false
  }
  const call = () => {
    called = true
    if (!running) void run()
  }
  return Object.assign(call, {
    stop() {
      stopped = true
    },
  })
}
