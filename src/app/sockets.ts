/** The channel of open sockets: it records receipts on the shard of the session. */
import { backToPending, positionOf } from '../features/sessions/effect-rows.ts'
import { deliveryOf } from '../kernel/outbox.ts'
import { WebSocketChannel } from '../kernel/websocket.ts'
import type { App } from './app.ts'

export function openSocketChannel(app: App): WebSocketChannel {
  const { stores, meter, tracer } = app
  const channel = new WebSocketChannel({
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
