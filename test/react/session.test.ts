/** What `useSession` shows, without React: messages with their state, history, questions, refusals and tickets (contract). */
import { expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type SessionOptions, SessionStore } from '../../packages/react/src/session-store.ts'
import { live } from '../sessions/live.ts'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const ADMIN_KEY = 'a'.repeat(40)

const closing: (() => void)[] = []
afterEachTest(() => {
  for (const close of closing.splice(0)) close()
  vi.unstubAllGlobals()
})

eachStore('a session in a page', (store) => {
  let goOn: () => void = () => undefined
  const at = live(
    store,
    {
      writer: async (turn) => {
        if (turn.answer !== null) return turn.say(`You said ${turn.answer.answer}.`)
        const { text } = turn.event.payload as { text: string }
        if (text === 'order') return turn.ask('Shall I?', { options: ['Yes', 'No'] })
        const words = async function* () {
          yield 'once '
          await new Promise<void>((done) => {
            goOn = done
          })
          yield 'upon a time'
        }
        return turn.say(words())
      },
    },
    { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY },
  )
  const make = async (path: string, body: object, key = ADMIN_KEY) =>
    (await at().call('POST', path, body, { authorization: `Bearer ${key}` })).body
  const userKey = async (): Promise<string> =>
    (await make('/v1/keys', { role: 'user', user_id: 'ann' })).key

  function open(thread: string, options: Partial<SessionOptions>): SessionStore {
    vi.stubGlobal('WebSocket', WebSocket)
    const sessionKey = `ann:writer:${thread}`
    const made = new SessionStore({ url: at().url, sessionKey, ...options })
    closing.push(made.open())
    return made
  }
  const isOpen = (made: SessionStore) =>
    until('it is connected', () => made.state.status === 'open')
  const shown = ({ state }: SessionStore) =>
    state.messages.map(({ from, text, state: how }) => [from, text, how])

  it('contract: with a ticket for each connection it sends, streams and delivers, and loads nothing', async () => {
    const key = await userKey()
    const ticket = vi.fn(async () => (await make('/v1/tickets', {}, key)).ticket as string)
    const page = open('ticket', { ticket })
    page.send('a story')
    expect(shown(page)).toEqual([['user', 'a story', 'sending']])
    await until('it is written', () => page.state.messages[1]?.state === 'streaming')
    expect(page.state.typing).toBe(true)
    goOn()
    await until('it is there', () => page.state.messages[1]?.state === 'delivered')
    expect(shown(page)).toEqual([
      ['user', 'a story', 'delivered'],
      ['agent', 'once upon a time', 'delivered'],
    ])
    expect([page.state.typing, page.state.error]).toEqual([false, null])
    expect(ticket).toHaveBeenCalledTimes(1)
  })

  it('contract: with a key another page shows the past, and the question that is still open', async () => {
    const key = await userKey()
    const first = open('past', { key })
    await isOpen(first)
    first.send('order')
    await until('the question', () => first.state.questions.length === 1)
    const second = open('past', { key })
    await until('the past', () => second.state.questions.length === 1)
    expect(second.state.questions).toEqual([
      { id: expect.any(String), text: 'Shall I?', options: ['Yes', 'No'] },
    ])
    second.answer('of nobody', 'Yes')
    second.answer(second.state.questions[0]?.id ?? '', 'Yes')
    expect(second.state.questions).toEqual([])
    await until('the answer to it', () => second.state.messages.length === 4)
    expect(shown(second)).toEqual([
      ['user', 'order', 'delivered'],
      ['agent', 'Shall I?', 'delivered'],
      ['user', 'Yes', 'delivered'],
      ['agent', 'You said Yes.', 'delivered'],
    ])
    const third = open('past', { key, history: 1 })
    await until('the newest', () => third.state.messages.length === 2)
    expect(shown(third)).toEqual([
      ['user', 'Yes', 'delivered'],
      ['agent', 'You said Yes.', 'delivered'],
    ])
    expect(third.state.questions).toEqual([])
  })

  it('contract: a message that is refused says why, and a key that is refused closes', async () => {
    const page = open('refused', { key: await userKey() })
    await isOpen(page)
    page.send('   ')
    page.send('x'.repeat(40_000))
    await until('it is refused', () => page.state.messages[0]?.state === 'failed')
    expect(page.state.messages).toHaveLength(1)
    expect(page.state.messages[0]?.error).toEqual(expect.any(String))
    const stranger = open('refused', { key: 'wk_user_nobody' })
    await until('it is closed', () => stranger.state.status === 'closed')
    expect(stranger.state.error?.message).toEqual(expect.any(String))
  })
})
