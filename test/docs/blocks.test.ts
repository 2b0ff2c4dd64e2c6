/** Every code block of the written pages does what it says. `KINDS` of `blocks.ts` says how each is tried. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { companion, type Wakeful, wakeful } from '../../src/index.ts'
import { ensureBuilt } from '../process/server.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { BotApi } from '../telegram/bot-api.ts'
import { blocksOf, PAGES } from './blocks.ts'
import { Reader } from './reader.ts'

const TELEGRAM = 'docs/guides/telegram.md'
const OPERATIONS = 'docs/operations/README.md'
const made: string[] = []
let bot: BotApi
let database = ''
let app: Wakeful
let url = ''

beforeAll(async () => {
  ensureBuilt()
  bot = (await BotApi.start()).keep()
  database = await postgresDatabase(made)
  app = await wakeful({
    database: 'memory:',
    port: 0,
    agents: { companion },
    env: { LOG_LEVEL: 'silent' },
  })
  url = await app.listen()
})
afterAll(async () => {
  await app.stop()
  await bot.stop()
  await dropDatabases(made)
})

describe.each(PAGES.filter((page) => blocksOf(page).blocks.length > 0))('%s', (page) => {
  it('does what it says, block by block', { timeout: 300_000 }, async () => {
    const reader = new Reader({
      url,
      database,
      env: { TELEGRAM_API_ROOT: bot.root },
    })
    if (page === OPERATIONS) archived(reader)
    try {
      for (const block of blocksOf(page).blocks)
        await reader.run(block).catch((error: Error) => {
          throw new Error(`${page}, this block:\n${block.text}\n\n${error.message}`)
        })
      if (page === TELEGRAM) await reminds(reader)
    } finally {
      await reader.close()
    }
  })
})

/** A day of events as the pruner writes it. */
function archived({ folder }: Reader): void {
  const event = {
    bucket: 1,
    session_key: 'ann:companion:first',
    seq: 1,
    id: '7f6b7c1e-0000-4000-8000-000000000001',
    type: 'user_message',
    payload: { text: 'a "quoted" word, and a comma' },
    created_at: '2026-01-31T09:00:00Z',
  }
  mkdirSync(join(folder, 'events'))
  writeFileSync(join(folder, 'events/2026-01-31.jsonl'), `${JSON.stringify(event)}\n`)
}

/** The person opens the link and asks to be reminded. */
async function reminds(reader: Reader): Promise<void> {
  const { url } = JSON.parse(reader.output) as { url: string }
  bot.write(7, `/start ${new URL(url).searchParams.get('start')}`)
  await until('linked', () => bot.texts(7).length > 0)
  bot.write(7, 'remind me in 1 second to stretch')
  await until('reminded', () => bot.texts(7).length > 2)
  expect(bot.texts(7).slice(-2)).toEqual(['I will remind you in 1 second.', '⏰ stretch'])
}
