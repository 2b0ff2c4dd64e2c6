/** One stretch of a forecast: moves the clock from instant to instant until its end or a limit, in either process. */

import { setImmediate as nextLoop } from 'node:timers/promises'
import type { Store } from '../../../src/store/open.ts'
import { skipIdleChecks } from './copy.ts'
import type { AgentRoles, AgentSet } from './recorder.ts'
import { openSandboxEngine, type Setting } from './sandbox-engine.ts'

export type Trouble = (service: string, error: unknown) => void

export interface Clock {
  now: Date
}

/** Plain data, so that it can be sent to another process. */
export interface Stretch {
  readonly from: Date
  readonly to: Date
  readonly roles: AgentRoles
  readonly setting: Setting
  /** Limits: slots that become events, and milliseconds of real time. */
  readonly promotedMax: number
  readonly timeMaxMs: number
  /** Milliseconds while other forecasts wait. */
  readonly sharedMaxMs: number
}

export interface Played {
  /** How far it came. */
  readonly to: Date
  readonly promoted: number
  readonly cut: 'occurrences' | 'time' | 'broken off' | null
}

/** The engine that runs it. */
export interface Scene {
  readonly store: Store
  /** The clock of the store. */
  readonly clock: Clock
  readonly cast: AgentSet
  readonly brokenOff: () => boolean
  readonly othersWait: () => boolean
  readonly trouble: Trouble
}

export async function play(
  { from, to, setting, promotedMax, timeMaxMs, sharedMaxMs }: Stretch,
  { store, clock, cast, brokenOff, othersWait, trouble }: Scene,
): Promise<Played> {
  const begunMs = performance.now()
  clock.now = from
  const services = openSandboxEngine({
    store,
    setting,
    trouble,
    agents: cast,
    now: () => clock.now,
  })
  let promoted = 0
  const ended = (cut: Played['cut']): Played => ({ to: clock.now, promoted, cut })
  try {
    for (;;) {
      await skipIdleChecks(store.engine, to)
      const { promoted: more, next } = await services.step()
      promoted += more
      // Statements of the embedded store never leave the thread idle; let messages in.
      await nextLoop()
      if (brokenOff()) return ended('broken off')
      if (next === null || next > to) break
      if (promoted >= promotedMax) return ended('occurrences')
      if (performance.now() - begunMs > (othersWait() ? sharedMaxMs : timeMaxMs))
        return ended('time')
      clock.now = next
    }
    if (to > clock.now) clock.now = to
    return ended(null)
  } finally {
    await services.close()
  }
}
