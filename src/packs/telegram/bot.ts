/** The bot, put together: its name for the operations, the channel that pushes to chats, the service that reads them. */
import type { OpenPack, PackApp } from '../../app/pack.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { TelegramChannel, type TelegramOptions, telegramError } from './channel.ts'
import { TelegramInbox } from './inbox.ts'
import type { Bot } from './operations.ts'

const POLL_SECONDS = 25
const POLL_PAUSE_MS = 200
const AWAY_MS = 5_000

export interface BotOptions extends TelegramOptions {
  readonly agentId: string | null
  readonly leaseMs: number
  /** This process reads what chats write. */
  readonly reads: boolean
}

export function openBot(options: BotOptions, app: PackApp): OpenPack {
  const channel = new TelegramChannel(options)
  const own: Bot = { agentId: options.agentId, username: () => botName(channel) }
  const inbox = new TelegramInbox({
    channel,
    db: app.store.commits,
    leaseMs: options.leaseMs,
    pollSeconds: app.waits ? POLL_SECONDS : 0,
    changed: () => app.changed('outbox'),
    trouble: (error) => app.meter.trouble('telegram', error),
    async append(session, text, clientId) {
      if (!app.knowsAgent(session.agentId, session.userId)) return false
      const payload = JSON.stringify({ text })
      await app.append({ session, id: newId(), type: 'user_message', payload, clientId })
      return true
    },
  })
  const services = options.reads ? [{ service: inbox, pollMs: POLL_PAUSE_MS }] : []
  return { own, pushChannels: [channel], services }
}

/** Asked of Telegram, which may be away. */
async function botName(channel: TelegramChannel): Promise<string> {
  try {
    return await channel.username()
  } catch (error) {
    throw new Refusal('unavailable', telegramError(error), { retryAfterMs: AWAY_MS })
  }
}
