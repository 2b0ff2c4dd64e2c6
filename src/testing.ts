/** A test clock and the door to drive Wakeful with it: nothing sleeps, everything due on the way happens in order. */

import type { App } from './app/app.ts'
import { HandClock } from './clock.ts'
import { callsOf, openApp, type Wakeful, type WakefulOptions } from './index.ts'

export interface TestWakeful extends Pick<Wakeful, 'call' | 'door' | 'db' | 'schedule'> {
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
  const clock = new HandClock(new Date(options.startAt ?? '2026-01-01T00:00:00Z'))
  // Not the environment of the process: a test must not write into a database that it does not name.
  const env = { DATABASE_URL: 'memory:', ...options.env }
  const app = await openApp({ ...options, env }, { now: clock.now })
  await app.start()
  const advanceTo = async (instant: Date | string | number) => {
    const target = new Date(instant).getTime()
    if (Number.isNaN(target)) throw new TypeError('advanceTo: takes an instant')
    await clock.advanceTo(target, () => app.engine.quiesce())
  }
  return {
    app,
    ...callsOf(app),
    now: clock.now,
    advanceTo,
    advanceBy: (ms) => advanceTo(clock.now().getTime() + ms),
    settle: async () => {
      await app.engine.quiesce()
    },
    listen: () => app.listen(),
    stop: () => app.stop(),
  }
}
