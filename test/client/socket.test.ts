/** The client's socket against a server that does its worst: silence, refusals, lost connections, lost answers. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type ClientOptions,
  createClient,
  type SocketHandlers,
  WakefulError,
} from '../../packages/client/src/index.ts'

type Listener = (event: { data?: unknown; code?: unknown; message?: unknown }) => void

/** The other end: what was sent is remembered, what is heard is said by the test. */
class FakeSocket {
  static made: FakeSocket[] = []
  readyState = 0
  readonly url: string
  readonly sent: Record<string, unknown>[] = []
  readonly #listeners: [string, Listener][] = []

  constructor(url: string) {
    this.url = url
    FakeSocket.made.push(this)
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.push([type, listener])
  }

  emit(type: string, event: Parameters<Listener>[0] = {}): void {
    for (const [kind, listener] of this.#listeners) if (kind === type) listener(event)
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text))
  }

  close(code = 1000): void {
    if (this.readyState === 3) return
    this.readyState = 3
    this.emit('close', { code })
  }

  async hear(...frames: object[]): Promise<void> {
    for (const frame of frames) this.emit('message', { data: JSON.stringify(frame) })
    await vi.advanceTimersByTimeAsync(0)
  }

  async open(lastSeq = 0): Promise<void> {
    this.readyState = 1
    this.emit('open')
    await this.hear({ type: 'ready', session_key: 'a:b:c', last_seq: lastSeq })
  }

  get said(): unknown[] {
    return this.sent.filter(({ type }) => type === 'user_message').map(({ text }) => text)
  }

  get acks(): unknown[] {
    return this.sent.filter(({ type }) => type === 'ack').map(({ id }) => id)
  }
}

const PONG = { type: 'pong' }
const message = (id: string, content = id) => ({
  type: 'message',
  id,
  content,
  in_reply_to: 1,
  created_at: '2026-01-01T00:00:00.000Z',
})

beforeEach(() => {
  vi.useFakeTimers()
  FakeSocket.made = []
})
afterEach(() => {
  vi.useRealTimers()
})

async function connect(
  handlers: Partial<SocketHandlers> = {},
  options: Partial<ClientOptions> = {},
) {
  const heard: string[] = []
  const states: string[] = []
  const errors: unknown[] = []
  const client = createClient({
    baseUrl: 'http://server',
    WebSocket: FakeSocket as never,
    ...options,
  })
  const socket = client.connect('a:b:c', {
    onMessage: ({ content }) => void heard.push(content),
    onState: (state) => states.push(state),
    onError: (error) => errors.push(error),
    ...handlers,
  })
  await vi.advanceTimersByTimeAsync(0)
  return { socket, heard, states, errors }
}

const last = () => FakeSocket.made.at(-1) as FakeSocket

describe('what is being written', () => {
  const delta = (text: string, turn = 1) => ({ type: 'delta', turn, text })

  it('is handed on until its message comes; a retract takes it back, and so does a new connection', async () => {
    const seen: unknown[] = []
    const { socket } = await connect({
      onMessage: ({ content }) => void seen.push(content),
      onDelta: ({ turn, text }) => seen.push([turn, text]),
      onRetract: (turn) => seen.push(`retract ${turn}`),
      onTyping: () => seen.push('typing'),
    })
    await last().open()
    await last().hear({ type: 'typing' }, delta('a'), { type: 'retract', turn: 1 }, delta('b'))
    await last().hear(message('m1'), { type: 'retract', turn: 1 }, delta('c', 2))
    const before = last()
    before.close(1006)
    await before.hear(delta('too late', 2))
    await vi.advanceTimersByTimeAsync(1_000)
    await last().open()
    await last().hear(delta('c again', 2), message('m2'))
    expect(seen).toEqual([
      ...['typing', [1, 'a'], 'retract 1', [1, 'b'], 'm1', [2, 'c'], 'retract 2'],
      ...[[2, 'c again'], 'm2'],
    ])
    socket.close()
  })
})

describe('what is said', () => {
  it('waits while the socket is away, then goes out in order, one at a time', async () => {
    const { socket } = await connect()
    const first = socket.say('one', 'm1')
    socket.say('two')
    await last().open()
    expect(last().said).toEqual(['one'])
    expect(last().sent[0]).toMatchObject({ type: 'user_message', id: 'm1' })
    await last().hear(PONG)
    await expect(first).resolves.toBeUndefined()
    expect(last().said).toEqual(['one', 'two'])
    socket.close()
  })

  it('is said again under the same id when the connection went before it was known to be taken', async () => {
    const { socket, states } = await connect()
    await last().open()
    socket.say('one')
    socket.say('two')
    const [before] = last().sent
    last().close(1006)
    await vi.advanceTimersByTimeAsync(1_000)
    await last().open()
    expect(last().sent[0]).toEqual(before)
    await last().hear(PONG)
    expect(last().said).toEqual(['one', 'two'])
    expect(states).toEqual(['open', 'waiting', 'open'])
    socket.close()
  })

  it('is not taken for said by the answer to an earlier heartbeat', async () => {
    const { socket } = await connect()
    await last().open()
    await vi.advanceTimersByTimeAsync(26_000)
    expect(last().sent).toEqual([{ type: 'ping' }])
    let taken = false
    void socket.say('one').then(() => {
      taken = true
    })
    await last().hear(PONG)
    expect(taken).toBe(false)
    await last().hear(PONG)
    expect(taken).toBe(true)
    socket.close()
  })

  it('is refused with the reasons, and the next one goes on', async () => {
    const { socket, errors } = await connect()
    await last().open()
    const blank = socket.say(' ')
    const next = socket.say('two')
    await last().hear({ type: 'error', title: 'Wrong shape', errors: ['body.text: blank'] }, PONG)
    await expect(blank).rejects.toMatchObject({ errors: ['body.text: blank'] })
    expect(errors).toHaveLength(1)
    await last().hear(PONG)
    await expect(next).resolves.toBeUndefined()
    socket.close()
  })

  it('is said again when the server says later, before what was said after it', async () => {
    const { socket } = await connect()
    await last().open()
    socket.say('one')
    socket.say('two')
    await last().hear({ type: 'error', title: 'Temporarily unavailable', errors: ['x'] }, PONG)
    expect(last().said).toEqual(['one'])
    await vi.advanceTimersByTimeAsync(2_500)
    expect(last().said).toEqual(['one', 'one'])
    await last().hear(PONG)
    expect(last().said).toEqual(['one', 'one', 'two'])
    socket.close()
  })

  it('is bounded, and what never went out is told so', async () => {
    const { socket } = await connect()
    await expect(socket.say('x'.repeat(65_536))).rejects.toThrow('too long')
    const waiting = Array.from({ length: 1_000 }, () => socket.say('x'))
    await expect(socket.say('one more')).rejects.toThrow('wait to be sent already')
    socket.close()
    await expect(waiting[0]).rejects.toThrow('closed before')
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(
      true,
    )
    await expect(socket.say('late')).rejects.toThrow('is closed')
  })
})

describe('what is heard', () => {
  it('is handed on once and acknowledged each time, in order, also by a slow handler', async () => {
    const order: string[] = []
    let letGo: () => void = () => undefined
    const { socket } = await connect({
      onMessage: async ({ content }) => {
        if (content === 'a') await new Promise<void>((done) => (letGo = done))
        order.push(content)
      },
    })
    await last().open()
    await last().hear(message('a'), message('b'), message('a'))
    await vi.advanceTimersByTimeAsync(200)
    expect([order, last().acks]).toEqual([[], []])
    letGo()
    await vi.advanceTimersByTimeAsync(0)
    expect(order).toEqual(['a', 'b'])
    expect(last().acks).toEqual(['a', 'b', 'a'])
    socket.close()
  })

  it('is not acknowledged when the handler failed, so that it comes again', async () => {
    let fail = true
    const { socket, errors } = await connect({
      onMessage: () => {
        if (fail) throw new Error('not now')
      },
    })
    await last().open()
    await last().hear(message('a'))
    expect(last().acks).toEqual([])
    expect(errors).toHaveLength(1)
    fail = false
    await last().hear(message('a'))
    expect(last().acks).toEqual(['a'])
    socket.close()
  })

  it('has no gap in its events across a lost connection', async () => {
    const asked: string[] = []
    const seqs: number[] = []
    const { socket } = await connect(
      { onEvent: ({ seq }) => seqs.push(seq) },
      {
        fetch: async (url) => {
          asked.push(String(url))
          const after = Number(new URL(String(url)).searchParams.get('after_seq'))
          const data = [5, 6, 7, 8].filter((seq) => seq > after).map((seq) => ({ seq }))
          return Response.json({ data: data.slice(0, 2), next_cursor: null })
        },
      },
    )
    expect(last().url).toBe('ws://server/v1/sessions/a%3Ab%3Ac/socket?events=1')
    await last().open(4)
    await last().hear({ type: 'event', event: { seq: 5 } })
    last().close(1006)
    await vi.advanceTimersByTimeAsync(1_000)
    await last().open(7)
    await last().hear({ type: 'event', event: { seq: 8 } })
    await vi.advanceTimersByTimeAsync(10)
    expect(seqs).toEqual([5, 6, 7, 8])
    expect(asked).toHaveLength(1)
    socket.close()
  })
})

describe('the connection', () => {
  it('is made anew when it has gone silent', async () => {
    const { socket, errors } = await connect()
    await last().open()
    await vi.advanceTimersByTimeAsync(25_000)
    expect(last().sent).toEqual([{ type: 'ping' }])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(errors).toEqual([expect.objectContaining({ title: 'The connection has gone silent' })])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(FakeSocket.made).toHaveLength(2)
    socket.close()
  })

  it('stays while the pings are answered', async () => {
    const { socket } = await connect()
    await last().open()
    for (let n = 0; n < 5; n++) {
      await vi.advanceTimersByTimeAsync(26_000)
      await last().hear(PONG)
    }
    expect(FakeSocket.made).toHaveLength(1)
    socket.close()
  })

  it('is tried again with growing pauses, never two at a time', async () => {
    const { socket } = await connect()
    const times: number[] = []
    for (let n = 0; n < 8; n++) {
      const count = FakeSocket.made.length
      let ms = 0
      last().close(1006)
      for (; FakeSocket.made.length === count; ms += 10) await vi.advanceTimersByTimeAsync(10)
      times.push(ms)
      expect(FakeSocket.made).toHaveLength(count + 1)
    }
    expect(times[0]).toBeLessThanOrEqual(260)
    for (const ms of times) expect(ms).toBeLessThanOrEqual(10_010)
    expect(times.at(-1)).toBeGreaterThan(4_900)
    socket.close()
    const count = FakeSocket.made.length
    await vi.advanceTimersByTimeAsync(60_000)
    expect(FakeSocket.made).toHaveLength(count)
  })

  it('takes a fresh ticket each time, from whoever is asked for it', async () => {
    let tickets = 0
    const { socket } = await connect({}, { ticket: async () => `t${++tickets}` })
    expect(last().url).toMatch(/\/socket\?ticket=t1$/)
    last().close(1006)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(last().url).toMatch(/\/socket\?ticket=t2$/)
    socket.close()
  })

  it('asks the server for a ticket with its key, and ends for good when that is refused', async () => {
    let status = 201
    const asked: unknown[] = []
    const options: Partial<ClientOptions> = {
      key: 'k',
      fetch: async (url, init) => {
        asked.push([init?.method, String(url), new Headers(init?.headers).get('authorization')])
        return Response.json({ ticket: 'abc', title: 'No', errors: ['expired'] }, { status })
      },
    }
    const open = await connect({}, options)
    expect(asked).toEqual([['POST', 'http://server/v1/tickets', 'Bearer k']])
    expect(last().url).toMatch(/\/socket\?ticket=abc$/)
    open.socket.close()
    status = 401
    const refused = await connect({}, options)
    expect(refused.states).toEqual(['closed'])
    expect(refused.errors).toEqual([expect.objectContaining({ status: 401, errors: ['expired'] })])
  })

  it.each([
    [
      'a refused upgrade',
      (s: FakeSocket) => s.emit('error', { message: 'Unexpected server response: 404' }),
      404,
    ],
    ['a revoked key', () => undefined, 401],
  ])('ends for good after %s', async (_, before, status) => {
    const { socket, states, errors } = await connect()
    before(last())
    last().close(1008)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(FakeSocket.made).toHaveLength(1)
    expect(states).toEqual(['closed'])
    expect(errors[0]).toBeInstanceOf(WakefulError)
    if (status === 401) expect(errors[0]).toMatchObject({ status })
    await expect(socket.say('late')).rejects.toThrow('is closed')
  })
})
