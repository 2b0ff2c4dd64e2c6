/** Socket Mode: the same payloads over a connection of ours. An envelope is answered after what it says is durable. */
import { z } from 'zod'
import type { PackApp } from '../../../../src/app/pack.ts'
import { ChannelLine } from '../../hub/src/line.ts'
import type { SlackChannel } from './channel.ts'
import { CHANNEL } from './payload.ts'

const envelope = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
})
const opened = z.object({ ok: z.literal(true), url: z.string() })

export function socketMode(
  channel: SlackChannel,
  { appToken, leaseMs }: { readonly appToken: string; readonly leaseMs: number },
  { store, meter, inbox }: PackApp,
): ChannelLine {
  return new ChannelLine({
    // Whichever process reads: an app has one line.
    account: { channel: CHANNEL, account: 'socket-mode' },
    db: store.commits,
    leaseMs,
    trouble: (error) => meter.trouble('slack', error),
    async dial() {
      const { answer, told } = await channel.ask('apps.connections.open', {}, undefined, appToken)
      const open = opened.safeParse(answer.json)
      if (!open.success) throw new Error(`Slack: ${told?.error ?? `answered ${answer.status}`}`)
      return {
        url: open.data.url,
        async take(frame, wire) {
          const { type, envelope_id: id, payload } = envelope.parse(frame)
          if (type === 'disconnect') wire.end()
          if (id === undefined) return
          await channel.take(payload, inbox)
          wire.send({ envelope_id: id })
        },
      }
    },
  })
}
