/** Reading somebody else's server: which addresses, how much, how long; and when to come again. */
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { feedSource } from '../../packages/sources/src/feed.ts'
import { freshMsOf, pollWaitMs, sourceKey } from '../../src/features/intents/polling.ts'
import { fetcher, fixture, serve, visit, web } from './stage.ts'

const signal = new AbortController().signal
const HOUR = 3_600_000

describe('addresses, watched at the socket', () => {
  it('a private one is refused before anything is sent, as a literal and by name', async () => {
    const page = await web(serve('secret'))
    const { port } = new URL(page.url)
    const resolve = ((_: string, __: object, done: (e: null, found: object[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])) as never
    const closed = fetcher({ allowPrivate: false, resolve })
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '0x7f.1'])
      await expect(closed.get({ url: `http://${host}:${port}/`, signal })).rejects.toThrow(
        'not called: ',
      )
    await expect(closed.get({ url: 'http://rebound.example.com/', signal })).rejects.toThrow(
      'rebound.example.com resolves to 127.0.0.1, which may not be called',
    )
    expect(page.connections).toBe(0)
  })

  it('a redirect is not followed, and its query is not told', async () => {
    const inside = await web(serve('secret'))
    const page = await web((_, r) =>
      r.writeHead(302, { location: `${inside.url}/x?key=sk-1` }).end(),
    )
    const going = fetcher().get({ url: page.url, signal })
    await expect(going).rejects.toThrow(`HTTP 302: it has moved to ${inside.url}/x, and redirects`)
    await expect(going).rejects.not.toThrow('sk-1')
    expect(inside.connections).toBe(0)
  })
})

describe('bounds', () => {
  it('an answer that never ends is cut by size, one that stalls by time', async () => {
    const flood = await web((_, response) => {
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        response.once('drain', pour)
      }
      pour()
    })
    await expect(fetcher().get({ url: flood.url, signal })).rejects.toThrow('larger than 2 MiB')
    const stall = await web((_, response) => void response.write('half'))
    await expect(fetcher({ timeoutMs: 200 }).get({ url: stall.url, signal })).rejects.toThrow(
      'no answer within 200 ms',
    )
  })

  it('a server that is away is said to be', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    const { port } = server.address() as AddressInfo
    await new Promise((done) => server.close(done))
    await expect(fetcher().get({ url: `http://127.0.0.1:${port}/`, signal })).rejects.toThrow(
      'ECONNREFUSED',
    )
  })
})

describe('unchanged answers', () => {
  it('ETag and Last-Modified come back with the next question, and 304 is no news', async () => {
    const page = await web((request, response) => {
      if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end()
      else
        response
          .writeHead(200, { etag: '"v1"', 'last-modified': 'Thu, 01 Jan 2026 08:30:00 GMT' })
          .end(fixture('rss2.xml'))
    })
    const source = feedSource({ url: page.url })
    const first = await visit(source)
    const kept = first.visit.memory(first.signals)
    expect(kept).toMatchObject({ etag: '"v1"', lastModified: 'Thu, 01 Jan 2026 08:30:00 GMT' })
    const row = {
      etag: kept?.etag ?? null,
      last_modified: kept?.lastModified ?? null,
      told: kept?.told ?? null,
    }
    const second = await visit(source, { row })
    expect(second.unchanged).toBe(true)
    expect(page.asked[1]?.headers).toMatchObject({
      'if-none-match': '"v1"',
      'if-modified-since': 'Thu, 01 Jan 2026 08:30:00 GMT',
    })
    page.answer = serve(fixture('rss2.xml'))
    const third = await visit(source, { row, now: '2026-01-01T09:30:00Z' })
    expect(third.visit.news(third.signals)).toEqual([])
  })
})

describe('when to come again', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const wait = (more: Partial<Parameters<typeof pollWaitMs>[1]>, everyMs = 60_000) =>
    pollWaitMs('k', { everyMs, failures: 0, freshMs: 0, retryAfter: null, ...more }, now)

  it.each([
    ['max-age=600', undefined, 600_000],
    ['public, Max-Age=600', '100', 500_000],
    ['no-cache, max-age=600', undefined, 0],
    ['max-age=-5', undefined, 0],
    [undefined, undefined, 0],
  ])('Cache-Control %s, Age %s', (control, age, expected) => {
    expect(freshMsOf(control, age)).toBe(expected)
  })

  it('not before the interval, the freshness, and what Retry-After asks, each bounded by a day', () => {
    const day = 24 * HOUR
    fc.assert(
      fc.property(
        fc.integer({ min: 60_000, max: day }),
        fc.nat({ max: 20 }),
        fc.nat({ max: 10 * day }),
        fc.option(fc.nat({ max: 10 * day })),
        (everyMs, failures, freshMs, after) => {
          const retryAfter = after === null ? null : { afterMs: after }
          const ms = wait({ failures, freshMs, retryAfter }, everyMs)
          const least = Math.max(everyMs, Math.min(day, Math.max(freshMs, after ?? 0)))
          expect(ms).toBeGreaterThanOrEqual(least)
          expect(ms).toBeLessThanOrEqual(Math.max(least, HOUR) + everyMs * 0.1 + 1)
        },
      ),
    )
  })

  it('longer after each failure, up to an hour; Retry-After may be a date', () => {
    const waits = [1, 2, 3, 10].map((failures) => Math.floor(wait({ failures }) / 60_000))
    expect(waits).toEqual([1, 2, 4, 60])
    expect(
      wait({ failures: 1, retryAfter: { at: new Date('2026-01-01T02:00:00Z') } }),
    ).toBeGreaterThanOrEqual(2 * HOUR)
  })

  it('sources with the same interval drift apart', () => {
    const waits = Array.from({ length: 50 }, (_, n) =>
      pollWaitMs(`k${n}`, { everyMs: HOUR, failures: 0, freshMs: 0, retryAfter: null }, now),
    )
    expect(new Set(waits).size).toBeGreaterThan(45)
  })

  it('a key tells the host and no secret', () => {
    const key = sourceKey('feed', 'https://user.example.com/private?token=sk-1')
    expect(key).toMatch(/^feed:user\.example\.com:[0-9a-f]{12}$/)
    expect(sourceKey('feed', 'https://user.example.com/private?token=sk-2')).not.toBe(key)
  })
})
