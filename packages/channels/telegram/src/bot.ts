/** The bot, put together: its name for the operations, the channel that pushes to chats, the service that reads them. */
import type { OpenPack, PackApp } from '../../../../src/app/pack.ts'
import { ChannelReader } from '../../hub/src/reader.ts'
import { CHANNEL, TelegramChannel, type TelegramOptions } from './channel.ts'
import { readUpdates } from './inbox.ts'
import type { Bot } from './operations.ts'

const POLL_SECONDS = 25
const POLL_PAUSE_MS = 200

export interface BotOptions extends TelegramOptions {
  readonly agentId: string | null
  readonly leaseMs: number
  /** This process reads what chats write. */
  readonly reads: boolean
}

export function openBot(options: BotOptions, app: PackApp): OpenPack {
  const channel = new TelegramChannel(options)
  const own: Bot = { agentId: options.agentId }
  const trouble = (error: unknown) => app.meter.trouble('telegram', error)
  const updates = {
    channel,
    inbox: app.inbox,
    pollSeconds: app.waits ? POLL_SECONDS : 0,
    trouble,
  }
  const reader = new ChannelReader({
    account: { channel: CHANNEL, account: String(channel.botId) },
    db: app.store.commits,
    leaseMs: options.leaseMs,
    read: (reading) => readUpdates(reading, updates),
    trouble,
  })
  const services = options.reads ? [{ service: reader, pollMs: POLL_PAUSE_MS }] : []
  return { own, pushChannels: [channel], services }
}
