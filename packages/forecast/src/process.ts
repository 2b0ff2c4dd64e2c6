/** The entry point of the forecast process: an embedded store in memory, and the stretches that run beside it. */

import {
  answered,
  COMPILED_SOON,
  embeddedStore,
  openMemory,
  PgliteSocket,
} from '../../../src/store/pglite.ts'
import { type Clock, type Played, play, type Stretch, type Trouble } from './play.ts'
import { agentSetOf } from './recorder.ts'

/** What the server tells about a forecast that runs. */
export type Flag = 'broken off' | 'others wait'

export type ToStore =
  | { readonly ask: Uint8Array }
  | { readonly stretch: Stretch; readonly raised: readonly Flag[] }
  | { readonly raise: Flag }

/** Each `ask` gets one `answer`. A stretch ends with `played` or `failed`. */
export type FromStore =
  | { readonly open: true }
  | { readonly answer: Uint8Array }
  | { readonly played: Played }
  | { readonly failed: unknown }
  | { readonly trouble: Parameters<Trouble> }

/** Allocated at the start. The rows of one person fit, and the data directory is in memory anyway. */
const BUFFERS = '8MB'

const say = (said: FromStore) => void process.send?.(said)
// A signal to the whole process group is for the server, which ends this process when it is done.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
process.once('disconnect', () => process.exit())

const lite = await openMemory(BUFFERS, COMPILED_SOON)
const ask = (bytes: Uint8Array) => answered(lite, bytes)
const clock: Clock = { now: new Date(0) }
const store = embeddedStore({ wire: () => new PgliteSocket(ask) }, async () => undefined, {
  now: () => clock.now,
  onError: (error) => say({ trouble: ['forecasts', error] }),
  ordered: true,
  joins: true,
})
let flags = new Set<Flag>()

function begin(stretch: Stretch): void {
  play(stretch, {
    ...{ store, clock, cast: agentSetOf(stretch.roles, null) },
    brokenOff: () => flags.has('broken off'),
    othersWait: () => flags.has('others wait'),
    trouble: (...told) => say({ trouble: told }),
  }).then(
    (played) => say({ played }),
    (failed: unknown) => say({ failed }),
  )
}

process.on('message', (told: ToStore) => {
  if ('ask' in told) void ask(told.ask).then((answer) => say({ answer }))
  else if ('raise' in told) flags.add(told.raise)
  else {
    flags = new Set(told.raised)
    begin(told.stretch)
  }
})
say({ open: true })
