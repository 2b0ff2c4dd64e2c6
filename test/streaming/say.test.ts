/** `turn.say(stream)`: sockets see the text as it is written; what is stored and delivered is the message alone. */
import { expect, it } from 'vitest'
import { Client, live } from '../sessions/live.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const TOKENS = Array.from({ length: 500 }, (_, nth) => `w${nth} 🦊`)
const WHOLE = TOKENS.join('')
/** Streams go on when the test says so. */
const gates = new Map<string, () => void>()
const gate = (key: string) => new Promise<void>((open) => gates.set(key, open))
const opened = async (key: string) => {
  await until(`${key} waits`, () => gates.has(key))
  gates.get(key)?.()
}
/** Half of a surrogate pair at the end of each piece. */
async function* tokens(): AsyncGenerator<string> {
  for (let at = 0; at < WHOLE.length; at += 5) {
    yield WHOLE.slice(at, at + 5)
    if (at % 500 === 0) await new Promise(setImmediate)
  }
}
async function* halting(key: string, ...texts: string[]): AsyncGenerator<string> {
  for (const text of texts) {
    yield text
    await gate(key)
    gates.delete(key)
  }
}

eachStore('turn.say(stream)', (store) => {
  const failed = new Set<string>()
  const at = live(store, {
    writer: async (turn) => {
      const { key } = turn.session
      const { text } = turn.event.payload as { text?: string }
      if (turn.event.type !== 'user_message') return turn.say(tokens())
      if (text === 'long') return turn.say(tokens())
      if (text === 'unprompted') return turn.schedule('n', { in: 0, cancelOnReply: true })
      if (text === 'order') {
        turn.say(halting(key, 'first ', 'message'))
        turn.say('second message')
        return turn.say(halting(`${key}-2`, 'third'))
      }
      if (text === 'fails' && !failed.has(key)) {
        failed.add(key)
        await turn.say(halting(key, 'draft'))
        throw new Error('the model went away')
      }
      if (text === 'caught') {
        const broken = async function* () {
          yield* halting(key, 'one ')
          throw new Error('cut off')
        }
        await turn.say(broken()).catch(() => undefined)
        return turn.say('as one piece')
      }
      return turn.say(halting(key, 'one ', 'two'))
    },
  })
  const open = (key: string, query = '') => Client.open(at().url, key, query)
  const joined = (client: Client) =>
    client
      .of('delta')
      .map(({ text }) => text)
      .join('')
  const streamed = (frames: Loose[]) =>
    frames.filter(({ type }) => type === 'delta' || type === 'retract' || type === 'message')

  it('contract: 500 tokens are one message, and the deltas are its beginning, by the turn that the message answers', async () => {
    const key = 'ann:writer:long'
    const client = await open(key)
    client.say('long')
    const [message] = await client.hears(1)
    expect(message.content).toBe(WHOLE)
    expect(joined(client)).toBe(WHOLE)
    expect(client.of('delta').length).toBeGreaterThan(0)
    for (const delta of client.of('delta')) {
      expect(delta).toEqual({ type: 'delta', turn: message.in_reply_to, text: expect.any(String) })
      expect(delta.text.isWellFormed()).toBe(true)
    }
    expect(client.frames[1]).toEqual({ type: 'typing' })
    expect(client.frames.at(-1)?.type).toBe('message')
    expect(client.of('retract')).toEqual([])
    const { body } = await at().call('GET', `/v1/sessions/${key}/effects`)
    expect(body.data).toMatchObject([{ type: 'send_message', payload: { content: WHOLE } }])
    expect((await at().call('GET', `/v1/sessions/${key}/events`)).body.data).toHaveLength(1)
  })

  it('contract: messages keep the order of their calls, and the first stream is the one that is shown', async () => {
    const key = 'ann:writer:order'
    const client = await open(key)
    client.say('order')
    await client.until('the first delta', () => client.of('delta').length === 1)
    await opened(`${key}-2`)
    await opened(key)
    await client.until('the second delta', () => client.of('delta').length === 2)
    await opened(key)
    const said = (await client.hears(3)).map(({ content }) => content)
    expect(said).toEqual(['first message', 'second message', 'third'])
    expect(joined(client)).toBe('first message')
  })

  it('contract: a turn that fails withdraws what it has shown before it runs again', async () => {
    const key = 'ann:writer:fails'
    const client = await open(key)
    client.say('fails')
    await client.until('a delta', () => joined(client) === 'draft')
    await opened(key)
    await client.until('the next attempt', () => joined(client) === 'draftone ')
    await opened(key)
    await opened(key)
    await client.hears(1)
    const seen = streamed(client.frames)
    const first = seen.findIndex(({ type }) => type === 'retract')
    expect(seen.slice(0, first)).toEqual([{ type: 'delta', turn: 1, text: 'draft' }])
    expect(seen[first]).toEqual({ type: 'retract', turn: 1 })
    const after = seen.slice(seen.findLastIndex(({ type }) => type === 'retract') + 1)
    expect(
      after
        .filter(({ type }) => type === 'delta')
        .map(({ text }) => text)
        .join(''),
    ).toBe('one two')
    expect(after.at(-1)).toMatchObject({ type: 'message', content: 'one two', in_reply_to: 1 })
  })

  it('contract: a stream that breaks and is caught withdraws its text, and the turn says something else', async () => {
    const key = 'ann:writer:caught'
    const client = await open(key)
    client.say('caught')
    await client.until('a delta', () => client.of('delta').length === 1)
    await opened(key)
    expect((await client.hears(1))[0].content).toBe('as one piece')
    expect(streamed(client.frames).map(({ type }) => type)).toEqual(['delta', 'retract', 'message'])
  })

  it('contract: who comes while it is written sees what there is, once', async () => {
    const key = 'ann:writer:late'
    const first = await open(key)
    first.say('go')
    await first.until('a delta', () => first.of('delta').length === 1)
    const second = await open(key)
    await second.until('what there is', () => second.of('delta').length === 1)
    await opened(key)
    await second.until('what follows', () => second.of('delta').length === 2)
    await opened(key)
    await second.hears(1)
    expect([joined(first), joined(second)]).toEqual(['one two', 'one two'])
  })

  it('rule 44: in a turn that no message began nothing is shown before it is delivered', async () => {
    const client = await open('ann:writer:unprompted')
    client.say('unprompted')
    const [message] = await client.hears(1)
    expect(message).toMatchObject({ type: 'agent_follow_up', content: WHOLE })
    expect(client.of('delta')).toEqual([])
    expect(client.of('typing')).toHaveLength(1)
  })
})
