/** Health and metrics, of each slice. */
import type { WebSocketChannel } from '../channels/websocket.ts'
import type { Config } from '../config.ts'
import type { Sliced } from '../core/slices/slices.ts'
import type { Engines } from '../engine/engine.ts'
import type { Meter } from '../engine/meter.ts'
import { Health, healthOfSlices, SLICE_LOOK_MS } from '../observe/health.ts'
import type { Metering } from '../observe/meter.ts'
import type { Store } from '../store/db/open.ts'
import { VERSION } from '../version.ts'
import type { Life } from './parts.ts'

interface Watched {
  readonly stores: Sliced<Store>
  readonly metering: Metering
  readonly meter: Meter
  readonly channel: WebSocketChannel
  readonly engine: Engines
}

export function openHealth({ services }: Config, parts: Watched, life: Life) {
  const { stores, metering, meter, channel, engine } = parts
  const { several } = stores
  const slices = stores.each((store, number) => {
    const health = new Health({
      store,
      onError: (error) => meter.trouble('watch', error),
      ready: () => life.slices.has(number),
      version: VERSION,
      services,
      ...(several ? { lookMs: SLICE_LOOK_MS } : {}),
    })
    const gauges = {
      labels: several ? { slice: String(number) } : {},
      pools: () => store.pools(),
      dueLagMs: () => health.dueLagMs(),
      outbox: () => health.outbox(),
      eventsWaiting: () => health.eventsWaiting(),
    }
    return { health, gauges }
  })
  const all = slices.all.map(({ health }) => health)
  metering.watch({
    running: () => engine.running,
    sockets: () => channel.sockets,
    slices: slices.all.map(({ gauges }) => gauges),
  })
  return { all, health: several ? healthOfSlices(all) : () => slices.home.health.health() }
}
