/** What chats say and how long texts are cut, and what is said of a Telegram that cannot be reached. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pushWaitMs, readChat, splitText } from '../../packages/channels/hub/src/text.ts'
import { TelegramChannel } from '../../packages/channels/telegram/src/channel.ts'

import { receiver } from '../setup/listening-app.ts'
import { BotApi, TOKEN } from './bot-api.ts'

describe('what a chat says', () => {
  it.each([
    ['/start', { type: 'start', code: null }],
    ['/start abc', { type: 'start', code: 'abc' }],
    ['  /start@wakeful_bot abc ', { type: 'start', code: 'abc' }],
    ['/stop', { type: 'stop' }],
    [`link ${'a'.repeat(32)}`, { type: 'start', code: 'a'.repeat(32) }],
    ['Unlink', { type: 'stop' }],
    ['link them up', { type: 'text', text: 'link them up' }],
    ['/stopping by', { type: 'text', text: '/stopping by' }],
    ['please /stop', { type: 'text', text: 'please /stop' }],
    ['a\0b\ud800c 🙂', { type: 'text', text: 'abc 🙂' }],
    ['\0', { type: 'none' }],
    [undefined, { type: 'none' }],
  ])('%j', (text, input) => {
    expect(readChat(text)).toEqual(input)
  })
})

describe('a long message', () => {
  it('is cut at lines, else at spaces, else anywhere but within a character', () => {
    expect(splitText('short', 10)).toEqual(['short'])
    expect(splitText('aaa bbb\nccc ddd', 10)).toEqual(['aaa bbb', 'ccc ddd'])
    expect(splitText('aaaaaa bbbbbb', 10)).toEqual(['aaaaaa', 'bbbbbb'])
    expect(splitText('🙂'.repeat(4), 3)).toEqual(['🙂', '🙂', '🙂', '🙂'])
  })

  it('property: every part fits and is not blank, no character is broken, and only white space is lost', () => {
    const texts = fc.array(
      fc.oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.constant('\n'), fc.constant(' ')),
    )
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 40 }), (words, max) => {
        const text = words.join('')
        const parts = splitText(text, max)
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(max)
          expect(part.trim()).not.toBe('')
          expect(part).not.toMatch(/\p{Surrogate}/u)
        }
        const bare = (value: string) => value.replace(/\s/g, '')
        expect(bare(parts.join(''))).toBe(bare(text))
      }),
    )
  })
})

describe('waiting', () => {
  it('is what Telegram asks for, at most an hour, else a ladder up to five minutes', () => {
    expect(pushWaitMs(1, 5000)).toBe(5000)
    expect(pushWaitMs(1, 1e9)).toBe(3_600_000)
    expect([1, 2, 3, 50].map((attempt) => pushWaitMs(attempt, null))).toEqual([
      1000, 2000, 4000, 300_000,
    ])
  })
})

describe('a Telegram that cannot be reached', () => {
  const push = {
    ...{ id: 'x', content: 'hi', sessionKey: 'a:b:c', address: '1', partsSent: 0, attempt: 1 },
    ...{ reason: 'answer' as const, template: false, answers: null, buttons: [] },
  }

  it('is tried again, and the token stays out of what is said about it', async () => {
    const gone = await receiver()
    await gone.stop()
    const channel = new TelegramChannel({ token: TOKEN, apiRoot: new URL(gone.url).origin })
    const outcome = await channel.send(push, new AbortController().signal)
    expect(outcome).toEqual({
      type: 'later',
      waitMs: 1000,
      partsSent: 0,
      ids: [],
      error: 'Telegram could not be reached: ECONNREFUSED',
    })
    for (const asked of [channel.invite('code'), channel.say('1', 'hi')])
      await asked.catch((error: unknown) => expect(String(error)).not.toContain(TOKEN))
    expect.assertions(3)
  })

  it('a wrong token is no reason to drop a message', async () => {
    const bot = await BotApi.start()
    const channel = new TelegramChannel({ token: `${TOKEN}x`, apiRoot: bot.root })
    const outcome = await channel.send(push, new AbortController().signal)
    expect(outcome).toMatchObject({ type: 'later', error: 'Telegram 401: Unauthorized' })
  })

  it('what is cut short is due again', async () => {
    const silent = await receiver(() => undefined)
    const channel = new TelegramChannel({ token: TOKEN, apiRoot: new URL(silent.url).origin })
    const stop = new AbortController()
    const sending = channel.send(push, stop.signal)
    stop.abort()
    expect(await sending).toMatchObject({ type: 'later', partsSent: 0 })
  })
})
