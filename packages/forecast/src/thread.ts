/** The entry point of the forecast thread: runs stretches beside its store. */

import { embeddedStore, PgliteSocket } from '../../../src/store/pglite.ts'
import type { Begin } from '../../../src/store/worker-store.ts'
import { BROKEN_OFF, isRaised, OTHERS_WAIT } from './flag.ts'
import { type Clock, type Played, play, type Stretch, type Trouble } from './play.ts'
import { agentSetOf } from './recorder.ts'

export interface Order {
  readonly stretch: Stretch
  /** `BROKEN_OFF`, `OTHERS_WAIT`. Shared memory, since the thread cannot receive messages while it runs. */
  readonly flag: Int32Array
}

/** Messages of one stretch; any but `trouble` ends it. */
export type Report =
  | { readonly played: Played }
  | { readonly failed: unknown }
  | { readonly trouble: Parameters<Trouble> }

export const begin: Begin = (port, ask) => {
  const clock: Clock = { now: new Date(0) }
  const report = (said: Report) => port.postMessage(said)
  const store = embeddedStore({ wire: () => new PgliteSocket(ask) }, async () => undefined, {
    now: () => clock.now,
    onError: (error) => report({ trouble: ['forecasts', error] }),
    ordered: true,
    joins: true,
  })
  port.on('message', ({ stretch, flag }: Order) => {
    play(stretch, {
      ...{ store, clock, cast: agentSetOf(stretch.roles, null) },
      brokenOff: () => isRaised(flag, BROKEN_OFF),
      othersWait: () => isRaised(flag, OTHERS_WAIT),
      trouble: (...said) => report({ trouble: said }),
    }).then(
      (played) => report({ played }),
      (failed: unknown) => report({ failed }),
    )
  })
}
