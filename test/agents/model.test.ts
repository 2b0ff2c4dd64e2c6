/** The chat model's client against an endpoint that is busy, broken, slow, endless or rude. */
import { afterEach, describe, expect, it } from 'vitest'
import { HttpModel, type ModelOptions } from '../../packages/model/src/model.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { fakeModel, json, type Say, saying } from './fake-model.ts'

const KEY = 'sk-hunter2'
const NOW = new Date('2026-01-01T00:00:00Z')
const open = new Set<{ stop(): Promise<void> }>()
afterEach(async () => {
  await Promise.all([...open].map((each) => each.stop()))
  open.clear()
})

async function asking(
  answers: Say[],
  options: Partial<ModelOptions> & { key?: string | null; path?: string } = {},
) {
  const endpoint = await fakeModel(...answers)
  const { key = KEY, path = '', ...rest } = options
  const settings = { url: `${endpoint.url}${path}`, key, name: 'tiny' }
  const model = new HttpModel(settings, { retryBaseMs: 1, now: () => NOW, ...rest })
  open.add({ stop: () => model.close() })
  open.add(endpoint)
  const waits: [number, string][] = []
  const ask = (signal = new AbortController().signal) =>
    model.ask([{ role: 'user', content: 'hello' }], {
      signal,
      onRetry: (ms, reason) => waits.push([ms, reason]),
    })
  return { endpoint, model, ask, waits }
}

const failing = async (answers: Say[], options: Parameters<typeof asking>[1] = {}) => {
  const one = await asking(answers, options)
  const error = await one.ask().then(
    () => new Error('it answered'),
    (reason: Error) => reason,
  )
  return { ...one, error, requests: one.endpoint.asked.length }
}

describe('the model', () => {
  it('is asked once, as an OpenAI-compatible endpoint expects it', async () => {
    const { endpoint, ask } = await asking([saying('Hi.')])
    expect(await ask()).toEqual({
      text: 'Hi.',
      model: 'tiny-2026',
      cutOff: false,
      inputTokens: 12,
      outputTokens: 34,
    })
    const [asked] = endpoint.asked
    expect(asked?.path).toBe('/v1/chat/completions')
    expect(asked?.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(asked?.body).toEqual({
      model: 'tiny',
      messages: [{ role: 'user', content: 'hello' }],
      stream: false,
    })
  })

  it.each(['/', '/chat/completions', '/chat/completions/'])(
    'its URL may end in %s',
    async (path) => {
      const { endpoint, ask } = await asking([saying('Hi.')], { path })
      await ask()
      expect(endpoint.asked[0]?.path).toBe('/v1/chat/completions')
    },
  )

  it('needs no key where none is set', async () => {
    const { endpoint, ask } = await asking([saying('Hi.')], { key: null })
    await ask()
    expect(endpoint.asked[0]?.headers.authorization).toBeUndefined()
  })

  it.each([
    ['parts', [{ type: 'text', text: 'Hi' }, { type: 'x' }, { type: 'text', text: '!' }], 'Hi!'],
    ['thoughts first', '<think>hm\nhm</think>\n\nHi!', 'Hi!'],
  ])('may answer in %s', async (_, content, text) => {
    const { ask } = await asking([saying(content)])
    expect((await ask()).text).toBe(text)
  })

  it('tells when it stopped at its own limit', async () => {
    const { ask } = await asking([saying('Hi', { finish_reason: 'length' })])
    expect((await ask()).cutOff).toBe(true)
  })
})

describe('a busy model', () => {
  it('is asked again after 429, 500 and a broken connection', async () => {
    const broken: Say = (response) => response.destroy()
    const { ask, endpoint, waits } = await asking([
      json(429, {}),
      broken,
      json(500, {}),
      saying('Hi.'),
    ])
    expect((await ask()).text).toBe('Hi.')
    expect(endpoint.asked).toHaveLength(4)
    expect(waits.map(([ms]) => ms)).toEqual([1, 2, 4])
    expect(waits[0]?.[1]).toContain('answered 429')
  })

  it.each([
    ['1', 1000],
    ['Thu, 01 Jan 2026 00:00:01 GMT', 1000],
    ['0', 1],
    ['soon', 1],
  ])('is left alone for as long as Retry-After %j says', async (header, ms) => {
    const { ask, waits } = await asking([json(503, {}, { 'retry-after': header }), saying('Hi.')])
    await ask()
    expect(waits.map(([wait]) => wait)).toEqual([ms])
  })

  it('that wants an hour ends the run', async () => {
    const { error, requests } = await failing([json(429, {}, { 'retry-after': '3600' })])
    expect(error.message).toContain('wants to be left alone for 3600 s')
    expect(requests).toBe(1)
  })

  it('is given up after four attempts, and the error tells the last answer', async () => {
    const { error, requests } = await failing([json(502, { error: { message: 'no GPU is free' } })])
    expect(error.message).toBe('the model answered 502 (no GPU is free) (tried 4 times)')
    expect(requests).toBe(4)
  })
})

describe('a wrong answer', () => {
  const raw =
    (text: string, status = 200): Say =>
    (response) =>
      response.writeHead(status).end(text)

  it.each<[string, Say, string]>([
    ['no JSON', raw('<html>Welcome to nginx</html>'), 'something that is no JSON (<html>Welcome'],
    ['half of it', raw('{"choices":[{"mess'), 'something that is no JSON'],
    ['a number', raw('7'), 'something that is no JSON'],
    ['no choices', json(200, { choices: [] }), 'without choices[0].message'],
    ['null for a choice', json(200, { choices: [null] }), 'without choices[0].message'],
    ['nothing said', saying('  '), 'empty text'],
    ['no content', saying(null), 'empty text'],
    [
      'a refusal',
      json(200, { choices: [{ message: { refusal: 'I will not' } }] }),
      'refused: I will not',
    ],
    ['a filter', saying('x', { finish_reason: 'content_filter' }), 'content filter'],
    [
      'a wrong key',
      json(401, { error: { message: `bad key ${KEY}` } }),
      'look at WAKEFUL_MODEL_KEY',
    ],
    [
      'an unknown model',
      json(404, { error: 'model not found' }),
      '(model not found): look at WAKEFUL_MODEL_URL and WAKEFUL_MODEL',
    ],
    ['a bad request', json(400, { error: { message: 'too long' } }), 'answered 400 (too long)'],
    ['a redirect', raw('', 302), 'redirects are not followed'],
  ])('%s is told once, without the key', async (_, say, text) => {
    const { error, requests } = await failing([say])
    expect(error.message).toContain(text)
    expect(error.message).not.toContain(KEY)
    expect(requests).toBe(1)
  })

  it('that is huge is cut at 2 MiB', async () => {
    let sent = 0
    const endless: Say = (response) => {
      const chunk = 'x'.repeat(64 * 1024)
      const more = () => {
        while (!response.destroyed && sent < 64 * 1024 * 1024) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', more)
        }
      }
      response.writeHead(200)
      more()
    }
    const { error } = await failing([endless])
    expect(error.message).toContain('more than 2097152 bytes')
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  it('is quoted in part only', async () => {
    const { error } = await failing([raw('y'.repeat(100_000), 400)])
    expect(error.message.length).toBeLessThan(600)
  })
})

describe('a slow model', () => {
  const silent: Say = () => undefined

  it('is given up in time', async () => {
    const { error, requests } = await failing([silent], { timeoutMs: 50 })
    expect(error.message).toBe('the model did not answer within 50 ms')
    expect(requests).toBe(1)
  })

  it('is left at once when the run is over, also between two attempts', async () => {
    const over = new Error('the run is over')
    const first = new AbortController()
    const waiting = await asking([() => first.abort(over)])
    await expect(waiting.ask(first.signal)).rejects.toBe(over)
    const second = new AbortController()
    const pausing = await asking([json(503, {}, { 'retry-after': '50' })])
    const asked = pausing.model.ask([], {
      signal: second.signal,
      onRetry: () => setImmediate(() => second.abort(over)),
    })
    await expect(asked).rejects.toBe(over)
    expect(pausing.endpoint.asked).toHaveLength(1)
  })

  it('that drips is given up in time, too', async () => {
    const timers: NodeJS.Timeout[] = []
    const drip: Say = (response) => {
      response.writeHead(200).write(' ')
      timers.push(setInterval(() => response.write(' '), 5))
    }
    const { error } = await failing([drip], { timeoutMs: 80 })
    for (const timer of timers) clearInterval(timer)
    expect(error.message).toContain('did not answer within 80 ms')
  })
})

describe('settings', () => {
  const missing = (url: string | null, name: string | null) =>
    new HttpModel({ url, key: null, name }, { now: () => NOW })

  it('that lack something say exactly what, and nothing is asked', async () => {
    expect(missing(null, 'tiny').missing).toMatch(
      /^no chat model is set: set WAKEFUL_MODEL_URL \([^)]+\);/,
    )
    expect(missing('http://x', null).missing).toMatch(
      /^no chat model is set: set WAKEFUL_MODEL \([^)]+\);/,
    )
    expect(missing('http://x', 'tiny').missing).toBeNull()
    const none = missing(null, null)
    expect(none.missing).toContain('WAKEFUL_MODEL_URL (the base of an OpenAI-compatible endpoint')
    const { signal } = new AbortController()
    await expect(none.ask([], { signal })).rejects.toThrow(TerminalError)
  })

  it('that lead nowhere are told as such', async () => {
    const settings = { url: 'http://127.0.0.1:9/v1', key: KEY, name: 'tiny' }
    const model = new HttpModel(settings, { retryBaseMs: 1, now: () => NOW })
    const { signal } = new AbortController()
    await expect(model.ask([], { signal })).rejects.toThrow(
      /could not be reached: .*ECONNREFUSED.*tried 4 times/,
    )
    await model.close()
  })
})
