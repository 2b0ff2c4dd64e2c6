/** Health and metrics, of each shard. */

import type { Config } from '../config.ts'
import type { Engines } from '../kernel/engine.ts'
import type { Meter } from '../kernel/meter.ts'
import type { WebSocketChannel } from '../kernel/websocket.ts'
import { Health, healthOfShards, SHARD_LOOK_MS } from '../observe/health.ts'
import type { Metering } from '../observe/meter.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { VERSION } from '../version.ts'
import type { Life } from './parts.ts'

interface Watched {
  readonly stores: PerShard<Store>
  readonly metering: Metering
  readonly meter: Meter
  readonly channel: WebSocketChannel
  readonly engine: Engines
}

export function openHealth({ services }: Config, parts: Watched, life: Life) {
  const { stores, metering, meter, channel, engine } = parts
  const { several } = stores
  const shards = stores.each((store, number) => {
    const health = new Health({
      store,
      onError: (error) => meter.trouble('watch', error),
      ready: () => life.shards.has(number),
      version: VERSION,
      services,
      ...(several ? { lookMs: SHARD_LOOK_MS } : {}),
    })
    const gauges = {
      labels: several ? { shard: String(number) } : {},
      pools: () => store.pools(),
      dueLagMs: () => health.dueLagMs(),
      outbox: () => health.outbox(),
      eventsWaiting: () => health.eventsWaiting(),
    }
    return { health, gauges }
  })
  const all = shards.all.map(({ health }) => health)
  metering.watch({
    running: () => engine.running,
    sockets: () => channel.sockets,
    shards: shards.all.map(({ gauges }) => gauges),
  })
  return { all, health: several ? healthOfShards(all) : () => shards.home.health.health() }
}
