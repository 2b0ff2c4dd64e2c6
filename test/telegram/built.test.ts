/** Telegram in the server as it is built and published: packages inside a bundle are not always what they were. */
import { it } from 'vitest'
import { Server } from '../process/server.ts'
import { until } from '../setup/until.ts'
import { BotApi } from './bot-api.ts'

it('the built server reads what chats write, and answers there', async () => {
  const bot = await BotApi.start()
  await Server.start({ DATABASE_URL: 'memory:', LOG_LEVEL: 'error', ...bot.env })
  bot.write(7, 'hello')
  await until('a hint comes back', () => bot.texts(7).length > 0)
})
