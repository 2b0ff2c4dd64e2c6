/** Telegram: chats linked to sessions. Without a bot the operations exist and name the missing setting. */
import type { Pack } from '../../../../src/app/pack.ts'
import { KEY_PART } from '../../../../src/core/session.ts'
import { HTTP_URL, isHttpUrl, type Reader } from '../../../../src/core/variables.ts'
import { operations } from './operations.ts'

const API_ROOT = 'https://api.telegram.org'

export interface TelegramSettings {
  /** Null unless a bot's token is set. */
  readonly telegram: {
    readonly token: string
    readonly apiRoot: string
    /** The agent of links without a session; null: the only agent. */
    readonly agentId: string | null
  } | null
}

export const telegramPack = {
  name: 'telegram',
  operations,
  readSettings(read: Reader): TelegramSettings {
    const isBot = (value: string) => /^\d{1,15}:[\w-]{20,100}$/.test(value)
    const token = read.checked('TELEGRAM_BOT_TOKEN', isBot, "a bot's token", 'secret')
    const apiRoot = read.checked('TELEGRAM_API_ROOT', isHttpUrl, HTTP_URL) ?? API_ROOT
    const isName = (value: string) => KEY_PART.test(value)
    const agentId = read.checked('TELEGRAM_AGENT', isName, 'the name of an agent')
    return {
      telegram: token === null ? null : { token, apiRoot: apiRoot.replace(/\/+$/, ''), agentId },
    }
  },
  async open({ telegram, services, leaseMs }, app) {
    if (telegram === null) return {}
    // Loaded only with a bot: saves 0.1 s of start-up time.
    const { openBot } = await import('./inbox.ts')
    return openBot({ ...telegram, leaseMs, reads: services.includes('outbox') }, app)
  },
} as const satisfies Pack<TelegramSettings>
