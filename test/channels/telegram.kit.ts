/** Telegram: chats that are polled, with a fake Bot API. */
import { TelegramChannel } from '../../packages/channels/telegram/src/channel.ts'
import { BotApi, type Failure, TOKEN } from '../telegram/bot-api.ts'
import { type Kit, LATER_MS, type Refusal } from './laws.ts'
import { OWN } from './vendor.ts'

const ANSWERS: Record<Refusal, Failure | null> = {
  later: { code: 429, retryAfter: LATER_MS / 1000 },
  gone: { code: 403, description: 'Forbidden: bot was blocked by the user' },
  dropped: { code: 400, description: 'Bad Request: no' },
  closed: null,
}

export async function telegramKit(): Promise<Kit> {
  const bot = (await BotApi.start()).keep()
  bot.taken = ({ text }) => kit.taken(text)
  const updates = new Map<string, string>()
  const kit: Kit = {
    name: 'telegram',
    env: bot.env,
    address: (n) => String(7000 + n),
    arrived: (address) => bot.texts(Number(address)).filter((text) => !OWN.test(text)),
    attempts: () => bot.attempts,
    refuse: () => null,
    taken: () => undefined,
    laterMs: LATER_MS,
    once: false,
    channel: () => new TelegramChannel({ token: TOKEN, apiRoot: bot.root }),
    async write(s, address, text, id) {
      // Told again: the reader died before it wrote how far it was.
      if (id !== undefined)
        await s.query('update wakeful.channel_readers set cursor = $1', [updates.get(id)])
      const told = id ?? String(bot.write(Number(address), text))
      updates.set(told, told)
      await s.settle()
      return { id: told, status: 200 }
    },
    reset: () => {
      bot.reset()
      bot.refuse = ({ text }) => {
        const refusal = kit.refuse(text)
        return refusal === null ? null : ANSWERS[refusal]
      }
      kit.refuse = () => null
    },
    stop: () => bot.stop(),
  }
  return kit
}
