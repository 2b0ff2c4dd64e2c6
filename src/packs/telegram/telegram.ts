/** Telegram, put together: the bot's name for the API, and the services that read and answer chats. */
import type { AppServices } from '../../api/contract.ts'
import type { Config } from '../../config.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { SessionRef } from '../../core/sessions/session.ts'
import type { ExtraService } from '../../engine/engine.ts'
import type { Meter } from '../../engine/meter.ts'
import type { Moments } from '../../engine/moments.ts'
import { PushesService } from '../../engine/pushes.ts'
import type { Store } from '../../store/db/open.ts'
import { TelegramChannel, telegramError } from './channel.ts'
import { TelegramInbox } from './inbox.ts'

const POLL_SECONDS = 25
const POLL_PAUSE_MS = 200
const PUSHES_POLL_MS = 1_000
const AWAY_MS = 5_000

export interface ChatsOptions {
  readonly store: Store
  readonly meter: Meter
  readonly moments: Moments
  /** A poll waits for something to happen; a test clock asks, and does not wait. */
  readonly waits: boolean
  readonly append: AppServices['append']
  readonly knows: (session: SessionRef) => boolean
  readonly changed: () => void
}

export interface Chats {
  readonly bot: NonNullable<AppServices['telegram']>
  readonly services: readonly ExtraService[]
  /** Before the services are stopped: a poll that waits ends. */
  halt(): void
}

export function openChats(config: Config, options: ChatsOptions): Chats | null {
  if (config.telegram === null) return null
  const channel = new TelegramChannel(config.telegram)
  const { agentId } = config.telegram
  const bot = { agentId, username: () => botName(channel) }
  if (!config.services.includes('outbox')) return { bot, services: [], halt: () => undefined }
  const { store, meter, moments, append, knows, changed } = options
  const { leaseMs } = config
  const inbox = new TelegramInbox({
    ...{ channel, leaseMs, changed, db: store.commits },
    pollSeconds: options.waits ? POLL_SECONDS : 0,
    trouble: (error) => meter.trouble('telegram', error),
    async append(session, text, clientId) {
      if (!knows(session)) return false
      const payload = JSON.stringify({ text })
      await append({ session, id: newId(), type: 'user_message', payload, clientId })
      return true
    },
  })
  const pushes = new PushesService({
    ...{ channel, leaseMs, meter, moments, claims: store.engine, commits: store.commits },
  })
  const services: ExtraService[] = [
    { service: inbox, pollMs: POLL_PAUSE_MS },
    { service: pushes, pollMs: PUSHES_POLL_MS, topic: 'outbox' },
  ]
  return { bot, services, halt: () => inbox.halt() }
}

/** Asked of Telegram, which may be away. */
async function botName(channel: TelegramChannel): Promise<string> {
  try {
    return await channel.username()
  } catch (error) {
    throw new Refusal('unavailable', telegramError(error), { retryAfterMs: AWAY_MS })
  }
}
