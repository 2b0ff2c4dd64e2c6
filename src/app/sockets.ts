/** The channels of open sockets: that of people records receipts on the shard of the session, that of watchers records nothing. */
import type { SessionRef } from '../core/session.ts'
import {
  backToPending,
  positionOf,
  type Receipt,
  type Undelivered,
} from '../features/sessions/effect-rows.ts'
import type { Wire } from '../kernel/frames.ts'
import type { LiveFrame } from '../kernel/live.ts'
import { deliveryOf } from '../kernel/outbox.ts'
import { type SocketOptions, WebSocketChannel } from '../kernel/websocket.ts'
import type { App } from './app.ts'

type Hooks = ConstructorParameters<typeof WebSocketChannel>[0]

/** Sends the frames of a session and writes no receipts. */
class Watchers extends WebSocketChannel {
  constructor({ wake, live }: Pick<Hooks, 'wake' | 'live'>) {
    super({
      wake,
      ...(live === undefined ? {} : { live }),
      record: async () => false,
      positionOf: async () => null,
      backToPending: () => undefined,
    })
  }

  override offer(rows: readonly Undelivered[]): Receipt[] {
    super.offer(rows)
    return []
  }
}

export class SocketChannel extends WebSocketChannel {
  readonly watchers: WebSocketChannel

  constructor(hooks: Hooks) {
    super(hooks)
    this.watchers = new Watchers(hooks)
  }

  /** `watch`: receives all frames without marking anything as attempted or delivered. */
  override join(
    session: SessionRef,
    wire: Wire,
    { watch = false, ...options }: SocketOptions & { watch?: boolean },
  ): () => void {
    return watch ? this.watchers.join(session, wire, options) : super.join(session, wire, options)
  }

  override watches(key: string): boolean {
    return super.watches(key) || this.watchers.watches(key)
  }

  override showLive(frame: LiveFrame): void {
    super.showLive(frame)
    this.watchers.showLive(frame)
  }
}

export function openSocketChannel(app: App): SocketChannel {
  const { stores, meter, tracer } = app
  const channel = new SocketChannel({
    // Async: while a shard is split, finding it throws, and the sender must get a rejected promise.
    record: async (receipt) => app.kernels.ofBucket(receipt.bucket).engine.outbox.record(receipt),
    positionOf: async (session, id) => positionOf(stores.ofBucket(session.bucket).db, session, id),
    backToPending: async (session, error) => {
      if (app.closing) return
      try {
        const { commits } = stores.ofBucket(session.bucket)
        const unheard = await backToPending(commits, [session], error)
        for (const { channel, waited_ms: durationMs, attempt_count: attempt, ...row } of unheard)
          meter.delivery(
            deliveryOf(row, { channel, result: 'failed', durationMs, error }, { attempt }),
          )
      } catch (failure) {
        meter.trouble('outbox', failure)
      }
    },
    wake: (key) => {
      for (const { hints } of app.kernels.all) hints.deliver('outbox', [key])
    },
    live: ({ bucket, key }) => app.kernels.ofBucket(bucket).engine.turns.live(key),
    arrived: ({ row, durationMs, traceparent }) =>
      meter.delivery(
        deliveryOf(
          row,
          { channel: channel.name, result: 'acknowledged', durationMs, error: null },
          { traceparent },
        ),
      ),
    tracer,
  })
  return channel
}
