/** Prices: one ticker or many to a request, paths that say where they end, and servers that refuse. */
import { describe, expect, it } from 'vitest'
import { findIn, readJsonPath } from '../../packages/sources/src/json-path.ts'
import { priceSource } from '../../packages/sources/src/price.ts'
import { type Answer, serve, visit, web } from './stage.ts'

const json = (value: unknown): Answer => serve(JSON.stringify(value))
const told = (signals: readonly { payload: string }[]) =>
  signals.map(({ payload }) => JSON.parse(payload) as { ticker: string; price: number })

async function ask(
  answer: Answer,
  path: string,
  tickers: readonly string[],
  more: { url?: string; atPath?: string; headers?: Record<string, string> } = {},
) {
  const page = await web(answer)
  const { url = '/q?s={ticker}', ...rest } = more
  const source = priceSource({ url: `${page.url}${url}`, path, ...rest })
  const { signals, visit: done } = await visit(source, { tickers })
  return { prices: told(signals), signals, asked: page.asked, warning: done.warning, visit: done }
}

describe('one request for each ticker', () => {
  it('asks for what is waited for and nothing else; the fact is ticker and time', async () => {
    const answer: Answer = (request, response) => {
      const ticker = new URL(request.url ?? '', 'http://x').searchParams.get('s')
      response.end(JSON.stringify({ quote: { price: ticker === 'AAPL' ? 129.5 : '0.25' } }))
    }
    const { prices, signals, asked } = await ask(answer, 'quote.price', ['AAPL', 'A&B=C'])
    expect(asked.map(({ url }) => url).sort()).toEqual(['/q?s=A%26B%3DC', '/q?s=AAPL'])
    expect(prices).toEqual(
      expect.arrayContaining([
        { ticker: 'AAPL', price: 129.5 },
        { ticker: 'A&B=C', price: 0.25 },
      ]),
    )
    expect(signals[0]).toMatchObject({
      kind: 'price',
      userId: null,
      at: new Date('2026-01-01T09:00:00Z'),
    })
    expect(signals[0]?.fact).toContain('2026-01-01T09:00:00.000Z')
  })

  it('asks nobody when nobody waits', async () => {
    const { asked, prices } = await ask(json({}), 'price', [])
    expect([asked, prices]).toEqual([[], []])
  })

  it('an unknown ticker is told as such, and the others go on', async () => {
    const answer: Answer = (request, response) =>
      request.url?.includes('NOPE') ? response.writeHead(404).end() : response.end('{"p":1}')
    const { prices, warning } = await ask(answer, 'p', ['A', 'NOPE', 'B'])
    expect(prices.map(({ ticker }) => ticker).sort()).toEqual(['A', 'B'])
    expect(warning).toBe('NOPE: HTTP 404')
  })

  it('a server that asks for patience is not asked on; what came before counts', async () => {
    let left = 3
    const answer: Answer = (_, response) =>
      left-- > 0 ? response.end('{"p":1}') : response.writeHead(429, { 'retry-after': '900' }).end()
    const tickers = Array.from({ length: 100 }, (_, n) => `T${n}`)
    const { prices, asked, warning, visit: done } = await ask(answer, 'p', tickers)
    expect(prices).toHaveLength(3)
    expect(asked.length).toBeLessThan(12)
    expect(warning).toContain('HTTP 429')
    expect(done.retryAfter).toEqual({ afterMs: 900_000 })
  })

  it('headers go along, and are in no error', async () => {
    const headers = { authorization: 'Bearer sk-secret' }
    const { asked } = await ask(json({ p: 1 }), 'p', ['A'], { headers })
    expect(asked[0]?.headers.authorization).toBe('Bearer sk-secret')
    const wrong = {
      url: 'https://x.example/{ticker}',
      path: 'p',
      headers: { authorization: 'sk-secret\nx' },
    }
    expect(() => priceSource(wrong)).toThrow(
      /^priceSource: headers takes names and values that HTTP allows$/,
    )
  })
})

describe('one request for many', () => {
  it('fifty at a time, told apart by name or by a field', async () => {
    const tickers = Array.from({ length: 120 }, (_, n) => `T${n}`)
    const answer: Answer = (request, response) => {
      const names = (request.url ?? '').split('s=')[1]?.split(',') ?? []
      response.end(
        JSON.stringify({
          quotes: names.map((symbol) => ({ symbol: symbol.toLowerCase(), price: 2 })),
        }),
      )
    }
    const { prices, asked } = await ask(answer, 'quotes[symbol={ticker}].price', tickers, {
      url: '/q?s={tickers}',
    })
    expect([prices.length, asked.length]).toEqual([120, 3])
  })

  it('those that are missing are named', async () => {
    const { prices, warning } = await ask(
      json({ BTC: { usd: 1 } }),
      '{ticker}.usd',
      ['BTC', 'ETH'],
      { url: '/q?s={tickers}' },
    )
    expect(prices).toEqual([{ ticker: 'BTC', price: 1 }])
    expect(warning).toBe('ETH: the answer has no "ETH": it is an object with "BTC"')
  })
})

describe('errors say what is wrong', () => {
  it.each([
    ['no JSON', serve('<html>'), 'p', 'the answer is no JSON: it begins with "<html>"'],
    ['a wrong path', json({ quote: { last: 1 } }), 'quote.price', 'A: quote'],
    ['no number', json({ p: 'n/a' }), 'p', 'A: the price is "n/a", which is no number'],
    ['a list', json([1]), 'p', 'A: the answer has no "p": it is a list of 1'],
    [
      'a broken server',
      ((_: unknown, r: { writeHead(s: number): { end(): void } }) =>
        r.writeHead(500).end()) as Answer,
      'p',
      'HTTP 500',
    ],
  ])('%s', async (_, answer, path, says) => {
    await expect(ask(answer, path, ['A'])).rejects.toThrow(
      says.replace('A: quote', 'A: "quote" has no "price": it is an object with "last"'),
    )
  })

  it('of settings', () => {
    const url = 'https://x.example/{ticker}'
    expect(() => priceSource({ url: 'https://x.example/', path: 'p' })).toThrow(
      'either {ticker} or {tickers}',
    )
    expect(() => priceSource({ url: 'https://{ticker}.example/', path: 'p' })).toThrow(
      'after the host',
    )
    expect(() => priceSource({ url, path: 'a..b' })).toThrow('path takes a path such as')
    expect(() => priceSource({ url: 'https://x.example/{tickers}', path: 'p' })).toThrow(
      'path takes {ticker}',
    )
  })
})

describe('the time of a price', () => {
  it.each([
    [1_767_250_000, '2026-01-01T06:46:40.000Z'],
    [1_767_250_000_500, '2026-01-01T06:46:40.500Z'],
    ['2026-01-01T08:00:00+01:00', '2026-01-01T07:00:00.000Z'],
  ])('%s', async (t, expected) => {
    const { signals } = await ask(json({ p: 1, t }), 'p', ['A'], { atPath: 't' })
    expect(signals[0]?.at.toISOString()).toBe(expected)
  })

  it.each([
    ['soon', 'no instant'],
    ['2027-01-01T00:00:00Z', 'lies in the future'],
  ])('%s is refused', async (t, says) => {
    await expect(ask(json({ p: 1, t }), 'p', ['A'], { atPath: 't' })).rejects.toThrow(says)
  })
})

describe('paths', () => {
  it.each([
    ['a.b', { a: { b: 1 } }],
    ['a[1].b', { a: [0, { b: 1 }] }],
    ['["Global Quote"]["05. price"]', { 'Global Quote': { '05. price': 1 } }],
    ['[0]', [1]],
  ])('%s', (text, value) => {
    expect(findIn(value, readJsonPath(text) ?? [], 'X')).toEqual({ value: 1 })
  })

  it.each(['', '.a', 'a.', 'a b', 'a[', 'a[-1]', 'a]b', 'x'.repeat(300)])('is none: %s', (text) => {
    expect(readJsonPath(text)).toBeNull()
  })

  it('never leads into what every object has', () => {
    expect(findIn({}, readJsonPath('constructor.name') ?? [], 'X')).toHaveProperty('missing')
    expect(findIn({}, readJsonPath('__proto__') ?? [], 'X')).toHaveProperty('missing')
  })
})
