/** Telegram: a chat stands for a session. What is written there becomes events, what the agent says arrives there in order. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import {
  advanceReader,
  releaseReader,
  takeReader,
} from '../../packages/channels/hub/src/reader-rows.ts'
import { bucketOf } from '../../src/core/session.ts'
import type { PushChannel } from '../../src/kernel/channel.ts'
import { type Loose, problem } from '../setup/http.ts'
import {
  type Row,
  type Stage,
  type StageOptions,
  sharedStage,
  stage,
} from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { BotApi } from './bot-api.ts'

const KEY = 'ann:bot:t'

/** Another one in each test: the bot remembers whom it has given a hint. */
let CHAT = 100
let OTHER = 1100

const agents: NonNullable<StageOptions['agents']> = {
  bot: (turn) => {
    const { text } = turn.event.payload as { text?: string }
    if (turn.event.type === 'timer') return turn.say('still there?')
    if (text?.startsWith('count ')) {
      for (let n = 1; n <= Number(text.slice(6)); n++) turn.say(String(n))
    } else if (text?.startsWith('long')) turn.say(`${'word '.repeat(2000)}end`)
    else turn.say(`you said: ${text}`)
    if (text === 'later') turn.schedule('nudge', { in: 60, cancelOnReply: true })
  },
}

eachStore('telegram', (store) => {
  let bot: BotApi
  let s: Stage
  beforeAll(async () => {
    bot = (await BotApi.start()).keep()
  })
  afterAll(() => bot.stop())
  const options: StageOptions = {
    agents,
    get env() {
      return { ...bot.env, AUTONOMY_COOLDOWN_MS: '0' }
    },
  }
  const at = sharedStage(store, options)
  beforeEach(async () => {
    s = at()
    bot.reset()
    CHAT++
    OTHER++
  })

  const code = async (key = KEY): Promise<string> => {
    const made = await s.call('POST', '/v1/telegram/links', { session_key: key })
    expect(made.status).toBe(201)
    return made.body.code
  }
  const link = async (key = KEY, chat = CHAT) => {
    bot.write(chat, `/start ${await code(key)}`)
    await s.settle()
    bot.sent.splice(0)
  }
  const write = async (text: string, chat = CHAT) => {
    bot.write(chat, text)
    await s.settle()
  }
  const effects = async (key = KEY): Promise<Row[]> =>
    (await s.call('GET', `/v1/sessions/${key}/effects`)).body.data
  const eventCount = async () =>
    (await s.query('select count(*)::int as n from wakeful.events'))[0]?.n as number

  describe('a link', () => {
    it('is made by a one-use code: message in, turn, message out, follow-up out', async () => {
      const made = await s.call('POST', '/v1/telegram/links', { session_key: KEY })
      expect(made.body).toEqual({
        session_key: KEY,
        code: expect.stringMatching(/^[\w-]{32}$/),
        url: `https://t.me/wakeful_bot?start=${made.body.code}`,
        expires_at: '2026-01-01T00:15:00.000Z',
      })
      await write(`/start ${made.body.code}`)
      expect(bot.texts(CHAT)).toEqual([expect.stringContaining('Linked')])
      const id = bot.write(CHAT, 'later')
      await s.settle()
      expect(bot.texts(CHAT).slice(1)).toEqual(['you said: later'])
      const [event] = await s.query('select * from wakeful.events')
      expect(event).toMatchObject({
        type: 'user_message',
        client_id: `telegram:${id}`,
        session_key: KEY,
      })
      await s.advanceBy(60_000)
      expect(bot.texts(CHAT).slice(2)).toEqual(['still there?'])
      expect((await effects()).map((effect) => effect.status)).toEqual([
        'completed',
        'completed',
        'completed',
      ])
      // Nothing of the code is kept but its hash.
      const kept = JSON.stringify(await s.query('select * from wakeful.link_codes'))
      expect(kept).not.toContain(made.body.code)
    })

    it('invariant 14: updates that are not what Telegram promises are left behind, and the next one is read', async () => {
      await link()
      const from = { is_bot: false }
      const odd = [
        null,
        {},
        { chat: null },
        { chat: {} },
        [],
        7,
        { chat: { id: 'x', type: 'private' } },
      ]
      const oddText = [7, null, {}].map((text) => ({
        chat: { id: CHAT, type: 'private' },
        from,
        text,
      }))
      for (const message of [
        ...odd,
        { chat: { id: 1e300, type: 'private' }, text: 'far' },
        ...oddText,
      ])
        bot.handOut(message)
      await write('hello')
      expect(bot.texts(CHAT)).toContain('you said: hello')
      expect(await eventCount()).toBe(1)
    })

    it('a code works once, for 15 minutes, and the newest one of a session alone', async () => {
      const first = await code()
      const second = await code()
      await write(`/start ${first}`)
      await write(`/start ${second}`)
      await write(`/start ${second}`, OTHER)
      expect(bot.texts(CHAT)).toEqual([
        expect.stringContaining('no longer valid'),
        expect.stringContaining('Linked'),
      ])
      expect(bot.texts(OTHER)).toEqual([expect.stringContaining('no longer valid')])
      const third = await code()
      s.sleep(15 * 60_000)
      await write(`/start ${third}`, OTHER)
      expect(bot.texts(OTHER).at(-1)).toContain('no longer valid')
      expect(await s.query('select address from wakeful.links')).toEqual([{ address: `${CHAT}` }])
    })

    it('without one there is a hint, once, and nothing else; groups get nothing at all', async () => {
      await write('hello?')
      await write('hello??')
      await write('/stop')
      bot.write(-5, 'hello', 'group')
      await write(`/start ${'x'.repeat(5000)}`, OTHER)
      expect(bot.texts(CHAT)).toEqual([expect.stringContaining('not linked')])
      expect(bot.texts(-5)).toEqual([])
      expect(await eventCount()).toBe(0)
    })

    it('/stop ends it: what comes later waits for the sockets', async () => {
      await link()
      await write('/stop')
      expect(bot.texts(CHAT)).toEqual([expect.stringContaining('Unlinked')])
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'psst' })
      await s.settle()
      expect(bot.sent).toHaveLength(1)
      expect(await effects()).toMatchObject([{ status: 'pending', attempt_count: 0 }])
    })

    it('what nobody has heard yet is pushed when the chat comes', async () => {
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'count 3' })
      await s.settle()
      await write(`/start ${await code()}`)
      expect(bot.texts(CHAT).filter((text) => /^\d$/.test(text))).toEqual(['1', '2', '3'])
    })

    it('a chat has one session: with another code it changes over', async () => {
      await link()
      await link('ann:bot:other')
      await write('hi')
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'psst' })
      await s.settle()
      expect(bot.texts(CHAT)).toEqual(['you said: hi'])
      expect(await effects()).toMatchObject([{ status: 'pending' }])
    })

    it('what is no text is answered with a hint', async () => {
      await link()
      bot.write(CHAT, undefined)
      await s.settle()
      expect(bot.texts(CHAT)).toEqual([expect.stringContaining('text only')])
      expect(await eventCount()).toBe(0)
    })

    it('invariant 12: others neither make, see nor end it', async () => {
      await link()
      const bob = { 'wakeful-act-as': 'bob' }
      problem(await s.call('POST', '/v1/telegram/links', { session_key: KEY }, bob), 404)
      problem(await s.call('DELETE', `/v1/telegram/links/${KEY}`, undefined, bob), 404)
      expect((await s.call('GET', '/v1/telegram/links', undefined, bob)).body.data).toEqual([])
      const ann = { 'wakeful-act-as': 'ann' }
      expect((await s.call('GET', '/v1/telegram/links', undefined, ann)).body.data).toMatchObject([
        { session_key: KEY, chat_id: CHAT },
      ])
      expect((await s.call('DELETE', `/v1/telegram/links/${KEY}`, undefined, ann)).status).toBe(204)
      problem(await s.call('DELETE', `/v1/telegram/links/${KEY}`, undefined, ann), 404)
    })

    it('without a session named it is the user’s thread with the only agent', async () => {
      const made = await s.call('POST', '/v1/telegram/links', { user_id: 'ann' })
      expect(made.body.session_key).toBe('ann:bot:telegram')
      problem(await s.call('POST', '/v1/telegram/links', {}), 400)
      problem(await s.call('POST', '/v1/telegram/links', { session_key: 'ann:nobody:t' }), 404)
      problem(await s.call('POST', '/v1/telegram/links', { session_key: 'ann' }), 422)
    })
  })

  describe('a message', () => {
    it('leaves in order, also when one of them is refused for a while', async () => {
      await link()
      let times = 0
      bot.refuse = ({ text }) => (text === '2' && times++ < 2 ? { code: 500 } : null)
      await write('count 5')
      expect(bot.texts(CHAT)).toEqual(['1'])
      await s.advanceBy(3_000)
      expect(bot.texts(CHAT)).toEqual(['1', '2', '3', '4', '5'])
      expect((await effects()).map((effect) => effect.attempt_count)).toEqual([1, 3, 1, 1, 1])
    })

    it('429 waits as long as Telegram asks, and delays no other chat', async () => {
      await link()
      await link('bob:bot:t', OTHER)
      bot.refuse = ({ chat_id: chat }) => (chat === CHAT ? { code: 429, retryAfter: 40 } : null)
      await write('hi')
      await write('hi', OTHER)
      expect(bot.texts(OTHER)).toEqual(['you said: hi'])
      bot.refuse = () => null
      await s.advanceBy(39_999)
      expect(bot.texts(CHAT)).toEqual([])
      await s.advanceBy(1)
      expect(bot.texts(CHAT)).toEqual(['you said: hi'])
    })

    it.each([
      [403, 'Forbidden: bot was blocked by the user'],
      [400, 'Bad Request: chat not found'],
    ])('%i %s: the link ends, the message stays for the sockets', async (code, description) => {
      await link()
      bot.refuse = () => ({ code, description })
      await write('count 2')
      await s.advanceBy(3_600_000)
      expect(bot.attempts).toBe(2)
      expect(await effects()).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
      expect(
        await s.query('select last_outcome, ended_at is null as live from wakeful.links'),
      ).toEqual([{ last_outcome: 'gone', live: false }])
      expect(await s.query('select 1 from wakeful.effects where due_at is not null')).toEqual([])
    })

    it('one that Telegram refuses for good is left to the sockets, and the next one goes', async () => {
      await link()
      bot.refuse = ({ text }) =>
        text === '1' ? { code: 400, description: 'Bad Request: no' } : null
      await write('count 2')
      expect(bot.texts(CHAT)).toEqual(['2'])
      expect(await effects()).toMatchObject([
        { status: 'failed', channel: null },
        { status: 'completed', channel: 'telegram' },
      ])
      const [row] = await s.query(
        'select last_error from wakeful.effects order by position limit 1',
      )
      expect(row.last_error).toBe('Telegram 400: Bad Request: no')
    })

    it('a long one goes in parts; a part that was sent is not sent again', async () => {
      await link()
      let times = 0
      bot.refuse = ({ text }) =>
        text.endsWith('end') && times++ === 0 ? { code: 429, retryAfter: 5 } : null
      await write('long')
      expect(bot.texts(CHAT)).toHaveLength(2)
      await s.advanceBy(5_000)
      const parts = bot.texts(CHAT)
      expect(parts).toHaveLength(3)
      expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(4096)
      expect(parts.join(' ')).toBe(`${'word '.repeat(2000)}end`)
    })

    it('shows in the chat also when a socket has acknowledged it before', async () => {
      await link()
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'both' })
      await s.app.engine.home.turns.tick()
      await s.app.engine.home.turns.settle()
      const position = 1000
      const receipt = { bucket: bucketOf('ann'), key: KEY, position, outcome: 'completed' } as const
      expect(await s.app.engine.home.outbox.record(receipt)).toBe(true)
      await s.settle()
      expect(bot.texts(CHAT)).toEqual(['you said: both'])
      expect(await effects()).toMatchObject([{ status: 'completed' }])
    })

    it('a Telegram in trouble is tried again after a while, longer each time', async () => {
      await link()
      bot.refuse = () => ({ code: 502 })
      await write('hi')
      await s.advanceBy(2_999)
      expect(await effects()).toMatchObject([{ status: 'pending', attempt_count: 2 }])
      bot.refuse = () => null
      await s.advanceBy(1)
      expect(bot.texts(CHAT)).toEqual(['you said: hi'])
    })
  })

  describe('crashes', () => {
    /** A second sender on the same store that goes on only when told to. */
    const sender = (
      more: { reach: (moment: string) => void | Promise<void> },
      channel: PushChannel,
    ) =>
      new PushesService({
        ...{
          channels: [channel],
          leaseMs: 30_000,
          claims: s.app.store.engine,
          commits: s.app.store.commits,
        },
        moments: { reach: more.reach },
        meter: { trouble() {}, leasesLost: () => lost++, delivery() {} } as Loose,
      })
    let lost = 0

    it('invariants 5 and 14, rule 14: dead between send and receipt, it is sent again when the lease ends; the late receipt writes nothing', async () => {
      await link()
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'count 2' })
      await s.app.engine.home.turns.tick()
      await s.app.engine.home.turns.settle()
      const sent: string[] = []
      let live: () => void = () => undefined
      const dead = new Promise<void>((done) => {
        live = done
      })
      let reached: () => void = () => undefined
      const delivered = new Promise<void>((done) => {
        reached = done
      })
      lost = 0
      const dying = sender(
        {
          reach: (moment) => {
            if (moment !== 'delivered') return
            reached()
            return dead
          },
        },
        {
          name: 'telegram',
          send: async ({ content }) => {
            sent.push(content)
            return { type: 'sent' }
          },
        },
      )
      expect((await dying.tick()).did).toBe(1)
      await delivered
      await s.advanceBy(29_999)
      expect(bot.texts(CHAT)).toEqual([])
      await s.advanceBy(1)
      expect(sent).toEqual(['1'])
      expect(bot.texts(CHAT)).toEqual(['1', '2'])
      expect((await effects()).map((effect) => effect.attempt_count)).toEqual([2, 1])
      live()
      await dying.close()
      expect(lost).toBe(1)
      expect((await effects()).map((effect) => effect.attempt_count)).toEqual([2, 1])
    })

    it('one that kills its process each time is given up after ten deaths, and the next one goes', async () => {
      await link()
      await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'count 2' })
      await s.app.engine.home.turns.tick()
      await s.app.engine.home.turns.settle()
      // Ten claims whose lease ran out without a word.
      await s.query(
        `update wakeful.effects set push_deaths = 9, claim_token = $1, due_at = created_at where position = 1000`,
        [randomUUID()],
      )
      await s.settle()
      expect(bot.texts(CHAT)).toEqual(['2'])
      const [row] = await s.query(
        'select status, last_error from wakeful.effects where position = 1000',
      )
      expect(row).toMatchObject({
        status: 'failed',
        last_error: expect.stringContaining('10 times'),
      })
    })

    it('an update read twice is one event, and a link code used twice by its chat is one link', async () => {
      const start = bot.write(CHAT, `/start ${await code()}`)
      bot.write(CHAT, 'once')
      await s.settle()
      // The process died after its work and before it wrote how far it was.
      await s.query('update wakeful.channel_readers set cursor = $1', [String(start)])
      await s.settle()
      const linked = expect.stringContaining('Linked')
      expect(bot.texts(CHAT)).toEqual([linked, 'you said: once', linked])
      expect(await eventCount()).toBe(1)
      expect(await s.query('select address from wakeful.links')).toHaveLength(1)
    })

    it('a restart goes on where the last process was', async () => {
      const kept = store.name === 'pglite' ? mkdtempSync(join(tmpdir(), 'wakeful-telegram-')) : null
      const place = kept === null ? await store.database() : `pglite:${kept}`
      s = await stage(place, options)
      await link()
      await write('one')
      const [before] = await s.query('select * from wakeful.channel_readers')
      await s.stop()
      s = await stage(place, options)
      const [after] = await s.query('select * from wakeful.channel_readers')
      expect(after).toMatchObject({ cursor: before.cursor, claim_token: null })
      await write('two')
      expect(bot.texts(CHAT)).toEqual(['you said: one', 'you said: two'])
      expect(await eventCount()).toBe(2)
      await s.stop()
      if (kept !== null) rmSync(kept, { recursive: true })
    })

    it('invariant 5: one process reads at a time, and one that lost its lease does not say how far it was', async () => {
      const { db } = s.app.store
      const bot = { channel: 'telegram', account: '7' }
      const [one, two] = [randomUUID(), randomUUID()]
      expect(await takeReader(db, bot, one, 30_000)).toEqual({ cursor: null })
      expect(await takeReader(db, bot, two, 30_000)).toBeNull()
      s.sleep(29_999)
      expect(await takeReader(db, bot, one, 30_000)).toEqual({ cursor: null })
      s.sleep(29_999)
      expect(await takeReader(db, bot, two, 30_000)).toBeNull()
      s.sleep(1)
      expect(await takeReader(db, bot, two, 30_000)).toEqual({ cursor: null })
      expect(await advanceReader(db, bot, one, '5')).toBe(false)
      expect(await advanceReader(db, bot, two, '9')).toBe(true)
      await releaseReader(db, bot, one)
      expect(await takeReader(db, bot, one, 30_000)).toBeNull()
      await releaseReader(db, bot, two)
      expect(await takeReader(db, bot, one, 30_000)).toEqual({ cursor: '9' })
    })
  })
})
