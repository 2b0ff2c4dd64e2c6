/** Telegram on the real clock: long polls, several processes, and sockets beside a chat. */
import { afterEach, expect, it } from 'vitest'
import { Client, type Live, openLive } from '../sessions/live.ts'
import { dropDatabases, eachStore, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { BotApi } from './bot-api.ts'

const CHAT = 5
const KEY = 'ann:bot:t'
const agents = {
  bot: (turn: { event: { payload: unknown }; say(text: string): void }) =>
    turn.say(`you said: ${(turn.event.payload as { text: string }).text}`),
}

const running = new Set<Live>()
afterEach(async () => {
  await Promise.all([...running].map((each) => each.app.stop()))
  running.clear()
})

async function live(database: string, bot: BotApi): Promise<Live> {
  const made = await openLive(database, agents, { ...bot.env, WAKEFUL_LEASE_MS: '30000' })
  running.add(made)
  return made
}

async function stop(one: Live): Promise<void> {
  running.delete(one)
  await one.app.stop()
}

async function link(one: Live, bot: BotApi): Promise<void> {
  const { body } = await one.call('POST', '/v1/telegram/links', { session_key: KEY })
  bot.write(CHAT, `/start ${body.code}`)
  await until('linked', () => bot.texts(CHAT).some((text) => text.startsWith('Linked')))
  bot.sent.splice(0)
}

eachStore('telegram, live', (store) => {
  it('a chat and a socket both show a message, each once; a stop does not wait for the poll', async () => {
    const bot = await BotApi.start()
    const one = await live(await store.database(), bot)
    await link(one, bot)
    const client = await Client.open(one.url, KEY)
    for (const text of ['a', 'b', 'c']) bot.write(CHAT, text)
    await client.hears(3)
    for (const { id } of client.heard) client.ack(id)
    await until('three in the chat', () => bot.texts(CHAT).length >= 3)
    await client.roundTrip()
    expect(bot.texts(CHAT)).toEqual(['you said: a', 'you said: b', 'you said: c'])
    expect(client.heard.map((frame) => frame.content)).toEqual(bot.texts(CHAT))
    client.drop()
    await until('a poll waits', () => bot.mostPollers > 0)
    await stop(one)
  })
})

it('of two processes one reads; when it stops the other goes on, and nothing is heard twice', async () => {
  const made: string[] = []
  const database = await postgresDatabase(made)
  const bot = await BotApi.start()
  const [one, two] = [await live(database, bot), await live(database, bot)]
  await link(two, bot)
  for (let n = 0; n < 20; n++) bot.write(CHAT, String(n))
  await until('all answered', () => bot.sent.length >= 20)
  const said = Array.from({ length: 20 }, (_, n) => `you said: ${n}`)
  expect(bot.texts(CHAT)).toEqual(said)
  await stop(one)
  bot.write(CHAT, 'still?')
  await until('answered by the other', () => bot.sent.length >= 21)
  expect(bot.texts(CHAT)).toEqual([...said, 'you said: still?'])
  expect(bot.mostPollers).toBe(1)
  await stop(two)
  await dropDatabases(made)
})
