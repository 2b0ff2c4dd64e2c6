/** A test clock and the door to drive Wakeful with it: nothing sleeps, everything due on the way happens in order. */

import type { App } from './app/app.ts'
import { callsOf, openApp, type Wakeful, type WakefulOptions } from './index.ts'

export interface TestWakeful extends Pick<Wakeful, 'call' | 'door' | 'db'> {
  readonly app: App
  now(): Date
  /** Runs everything that becomes due up to and including `instant`, in order. */
  advanceTo(instant: Date | string | number): Promise<void>
  advanceBy(ms: number): Promise<void>
  /** Runs what is due at the present instant. */
  settle(): Promise<void>
  listen(): Promise<string>
  stop(): Promise<void>
}

export async function testWakeful(
  options: WakefulOptions & { startAt?: Date | string },
): Promise<TestWakeful> {
  let now = new Date(options.startAt ?? '2026-01-01T00:00:00Z')
  const app = await openApp(options, { now: () => now })
  await app.start()
  const advanceTo = async (instant: Date | string | number) => {
    const target = new Date(instant).getTime()
    if (Number.isNaN(target)) throw new TypeError('advanceTo: takes an instant')
    for (;;) {
      const nextMs = await app.engine.quiesce()
      if (nextMs === null || now.getTime() + nextMs > target) break
      // Whole milliseconds, never early, always forward.
      now = new Date(Math.min(target, now.getTime() + Math.max(1, Math.ceil(nextMs - 1e-6))))
    }
    if (target > now.getTime()) now = new Date(target)
    await app.engine.quiesce()
  }
  return {
    app,
    ...callsOf(app),
    now: () => now,
    advanceTo,
    advanceBy: (ms) => advanceTo(now.getTime() + ms),
    settle: async () => {
      await app.engine.quiesce()
    },
    listen: () => app.listen(),
    stop: () => app.stop(),
  }
}
