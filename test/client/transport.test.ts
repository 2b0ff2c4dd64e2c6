/** The client's calls: what is tried again and what is not, and what becomes of errors. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type ClientOptions, createClient, WakefulError } from '../../packages/client/src/index.ts'

afterEach(() => vi.useRealTimers())

type Answer = Response | Error | 'silence'
interface Asked {
  readonly method: string
  readonly url: string
  readonly key: string | null
  readonly body: string | null
}

/** A server that answers as told, and remembers what it was asked. */
function server(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const asked: Asked[] = []
  const client = createClient({
    baseUrl: 'http://server/',
    key: 'secret',
    ...options,
    fetch: async (url, init = {}) => {
      const headers = new Headers(init.headers)
      asked.push({
        method: init.method ?? '',
        url: String(url),
        key: headers.get('idempotency-key'),
        body: init.body === undefined ? null : String(init.body),
      })
      expect(headers.get('authorization')).toBe('Bearer secret')
      const answer = answers.shift() ?? new Error('asked too often')
      if (answer instanceof Error) throw answer
      if (answer !== 'silence') return answer
      return new Promise((_, fail) => {
        init.signal?.addEventListener('abort', () => fail(init.signal?.reason ?? new Error('gone')))
      })
    },
  })
  return { client, asked }
}

const ok = (body: unknown = {}) => Response.json(body)
const problem = (status: number, headers: Record<string, string> = {}) =>
  Response.json(
    { title: 'No', errors: ['because', 'and because'], request_id: 'r1' },
    { status, headers },
  )
const refused = () =>
  Object.assign(new TypeError('fetch failed'), { cause: new Error('connect ECONNREFUSED') })
const ALARM = { schedule: 'in 5 minutes', wake_message: 'x' }

describe('a call is tried again', () => {
  it('with the same key, when it creates and nobody answered', async () => {
    const { client, asked } = server([refused(), problem(503), problem(409), ok({ id: 'a' })])
    expect(await client.alarms.set(ALARM)).toEqual({ id: 'a' })
    expect(asked).toHaveLength(4)
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1)
    expect(asked[0]).toMatchObject({
      method: 'POST',
      url: 'http://server/v1/alarms',
      body: JSON.stringify(ALARM),
    })
    expect(asked[0]?.key).toMatch(/^[0-9a-f]{32}$/)
  })

  it('when its method makes that safe, or its own id does', async () => {
    for (const call of [
      (c: ReturnType<typeof server>) => c.client.alarms.list({ limit: 3 }),
      (c: ReturnType<typeof server>) => c.client.alarms.cancel({ id: 'x' }),
      (c: ReturnType<typeof server>) => c.client.setTimer('a:b:c', 't', { delay_seconds: 1 }),
      (c: ReturnType<typeof server>) => c.client.say('a:b:c', 'hi'),
    ]) {
      const at = server([refused(), ok()])
      await call(at)
      expect(at.asked).toHaveLength(2)
      expect(at.asked[0]).toEqual(at.asked[1])
    }
  })

  it('as late as the server asks, and never after it asks for more patience than that', async () => {
    const soon = server([problem(429, { 'retry-after': '1' }), ok()])
    vi.useFakeTimers()
    const call = soon.client.preview('daily')
    await vi.advanceTimersByTimeAsync(999)
    expect(soon.asked).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await call
    expect(soon.asked).toHaveLength(2)
    const later = server([problem(503, { 'retry-after': '3600' })])
    await expect(later.client.alarms.list()).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
  })
})

describe('a call is not tried again', () => {
  it('when a second one could do the thing twice', async () => {
    const { client, asked } = server([refused()])
    await expect(client.alarms.set(ALARM, { idempotencyKey: false })).rejects.toThrow(
      'ECONNREFUSED',
    )
    expect(asked.map(({ key }) => key)).toEqual([null])
  })

  it.each([400, 401, 403, 404, 409, 422, 500])('when the server says %i', async (status) => {
    const { client, asked } = server([problem(status)])
    const error = await client.alarms.set(ALARM).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WakefulError)
    expect(error).toMatchObject({
      status,
      title: 'No',
      errors: ['because', 'and because'],
      requestId: 'r1',
      message: 'No: because; and because',
    })
    expect(asked).toHaveLength(1)
  })

  it('more often than asked for', async () => {
    const { client, asked } = server([refused(), refused(), refused()], { retries: 1 })
    const error = await client.session('a:b:c').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 0, title: 'The server cannot be reached' })
    expect(asked).toHaveLength(2)
  })
})

describe('a call ends', () => {
  it('when no answer comes in time', async () => {
    const { client } = server(['silence'])
    const late = client.alarms.list({}, { timeoutMs: 20, retries: 0 })
    await expect(late).rejects.toMatchObject({ status: 0, title: 'No answer within 20 ms' })
  })

  it('when its caller gives up, also between two tries', async () => {
    for (const answers of [['silence'], [refused(), refused(), refused()]] as Answer[][]) {
      const { client } = server(answers)
      const giveUp = new AbortController()
      const call = client.alarms.list({}, { signal: giveUp.signal })
      giveUp.abort(new Error('enough'))
      await expect(call).rejects.toThrow('enough')
    }
  })

  it('with an error in words when a proxy answers for the server', async () => {
    const page = () => new Response('<html>Bad Gateway</html>', { status: 502 })
    const away = server([page()], { retries: 0 })
    await expect(away.client.alarms.list()).rejects.toMatchObject({
      status: 502,
      message: 'The server answered 502',
    })
    const other = server([new Response('<html>hello</html>')])
    await expect(other.client.alarms.list()).rejects.toThrow('is this a Wakeful server?')
  })
})

it('reads lists page by page', async () => {
  const { client, asked } = server([
    ok({ data: [{ seq: 1 }, { seq: 2 }], next_cursor: 'c' }),
    ok({ data: [{ seq: 3 }], next_cursor: null }),
  ])
  const seqs: number[] = []
  for await (const event of client.all('list_events', { session_key: 'a:b:c' }))
    seqs.push(event.seq)
  expect(seqs).toEqual([1, 2, 3])
  expect(asked[1]?.url).toBe('http://server/v1/sessions/a%3Ab%3Ac/events?cursor=c')
})

it('is typed by the operations: what is wrong does not compile', () => {
  const wrong = (client: ReturnType<typeof createClient>) => [
    // @ts-expect-error a number is no message
    () => client.call('set_alarm', { wake_message: 3 }),
    // @ts-expect-error the input is needed
    () => client.call('set_alarm'),
    // @ts-expect-error there is no such operation
    () => client.call('nonsense', {}),
    // @ts-expect-error there is no such status
    () => client.alarms.list({ status: 'wrong' }),
    async () => {
      const { status, next_fires } = await client.alarms.get({ id: 'x' })
      const known: 'active' | 'paused' | 'fired' | 'cancelled' | 'failed' = status
      return [known, next_fires?.[0]?.length]
    },
  ]
  expect(wrong(createClient({ baseUrl: 'http://server' }))).toHaveLength(5)
})
