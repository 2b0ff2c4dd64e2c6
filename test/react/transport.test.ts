/** The transport of `wakeful/react` under the AI SDK's own chat: streamed answers, drafts that were withdrawn, and what nobody asked for. */
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  type ChatTransport,
  type UIMessage,
} from 'ai'
import { expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type UnaskedMessage, wakefulTransport } from '../../packages/react/src/transport.ts'
import { live } from '../sessions/live.ts'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const closing: (() => void)[] = []
afterEachTest(() => {
  for (const close of closing.splice(0)) close()
  vi.unstubAllGlobals()
})

class Messages implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[] = []
  pushMessage = (message: UIMessage) => void this.messages.push(message)
  popMessage = () => void this.messages.pop()
  replaceMessage = (at: number, message: UIMessage) => {
    this.messages[at] = message
  }
  snapshot = <T>(thing: T): T => structuredClone(thing)
}

class Chat extends AbstractChat<UIMessage> {
  readonly seen = this.state as Messages
  constructor(transport: ChatTransport<UIMessage>) {
    super({ id: 'chat', transport, state: new Messages() })
  }
}

const textsOf = ({ parts }: UIMessage) =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

eachStore('wakefulTransport', (store) => {
  let attempts = 0
  const at = live(store, {
    writer: async (turn) => {
      if (turn.event.type === 'timer') return turn.say('still there?')
      const { text } = turn.event.payload as { text: string }
      if (text === 'later') {
        turn.schedule('n', { in: 0, cancelOnReply: true })
        return turn.say('soon')
      }
      const words = async function* () {
        yield 'once '
        if (text === 'fails' && ++attempts % 2 === 1) throw new Error('cut off')
        await new Promise(setImmediate)
        yield 'upon a time'
      }
      return turn.say(words())
    },
  })
  const chatOn = (key: string, onMessage: (message: UnaskedMessage) => void = () => undefined) => {
    vi.stubGlobal('WebSocket', WebSocket)
    const transport = wakefulTransport({ url: at().url, sessionKey: key, onMessage })
    closing.push(() => transport.close())
    return new Chat(transport)
  }

  it('contract: the answer comes as it is written, and ends with the message', async () => {
    const chat = chatOn('ann:writer:chat')
    for (const text of ['one', 'two']) await chat.sendMessage({ text })
    expect(chat.seen.status).toBe('ready')
    expect(chat.seen.messages.map((each) => [each.role, ...textsOf(each)])).toEqual([
      ['user', 'one'],
      ['assistant', 'once upon a time'],
      ['user', 'two'],
      ['assistant', 'once upon a time'],
    ])
    await until('both are delivered', async () => {
      const { body } = await at().call('GET', '/v1/sessions/ann:writer:chat/effects')
      return body.data.every(({ status }: { status: string }) => status === 'completed')
    })
  })

  it('contract: a draft that was withdrawn stays as a part of its own, and the last part is the message', async () => {
    const chat = chatOn('ann:writer:draft')
    await chat.sendMessage({ text: 'fails' })
    const answer = chat.seen.messages.at(-1) as UIMessage
    expect(textsOf(answer)).toEqual(['once ', 'once upon a time'])
  })

  it('contract: what nobody asked for comes by onMessage, and so does what waited', async () => {
    await at().call('POST', '/v1/sessions/ann:writer:more/messages', { text: 'before' })
    const more: UnaskedMessage[] = []
    const chat = chatOn('ann:writer:more', (message) => void more.push(message))
    await chat.sendMessage({ text: 'later' })
    await until('the follow-up', () => more.length === 2)
    expect(more.map((each) => textsOf(each))).toEqual([['once upon a time'], ['still there?']])
    expect(textsOf(chat.seen.messages.at(-1) as UIMessage)).toEqual(['soon'])
  })

  it('contract: a message that is refused is an error of the chat', async () => {
    const chat = chatOn('ann:writer:error')
    await chat.sendMessage({ text: 'x'.repeat(40_000) })
    expect([chat.seen.status, chat.seen.error?.message]).toEqual(['error', expect.any(String)])
    await expect(chat.regenerate()).resolves.toBeUndefined()
    expect(chat.seen.error?.message).toContain('is not written again')
  })
})
