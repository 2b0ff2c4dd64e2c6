/** Feeds: the three formats as they are written in the world, and as somebody hostile would write them. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { feedSource } from '../../packages/sources/src/feed.ts'
import { feedDate } from '../../packages/sources/src/feed-date.ts'
import { fixture, serve, visit, web } from './stage.ts'

async function read(body: string | Buffer, headers: Record<string, string> = {}, options = {}) {
  const { url } = await web(serve(body, headers))
  const { signals } = await visit(feedSource({ url: `${url}/feed` }), options)
  return signals.map(({ payload, at, ...rest }) => ({
    ...{ ...rest, at: at.toISOString() },
    ...(JSON.parse(payload) as { headline: string; body?: string; url?: string }),
  }))
}

const rss = (inner: string) => `<rss version="2.0"><channel>${inner}</channel></rss>`
const item = (title: string) => rss(`<item><title>${title}</title></item>`)

describe('RSS 2.0', () => {
  it('is read with CDATA, HTML, entities, relative links and dates of all sorts', async () => {
    const found = await read(fixture('rss2.xml'))
    expect(found.map(({ headline }) => headline)).toEqual([
      'Central bank cuts rates & markets cheer',
      'Café opens – at AT&T tower soon',
      'Earthquake shakes the coast',
    ])
    expect(found[0]).toMatchObject({
      ...{ kind: 'news', userId: null, key: '', at: '2026-01-01T08:10:00.000Z' },
      body: 'The bank said it’s time .',
      url: 'https://news.example.com/2026/rates?utm_source=rss&x=1',
    })
    expect(found[1]).toMatchObject({ at: '2026-01-01T08:00:00.000Z' })
    expect(found[1]?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/2026\/cafe$/)
  })

  it('a headline told again is the same fact, also under another link; ids of two feeds stay apart', async () => {
    const one = (link: string, host = '') =>
      rss(
        `${host}<item><title>A</title><guid isPermaLink="false">tag:x,2026:1</guid><link>${link}</link></item>`,
      )
    const [a] = await read(one('https://a.example/1'))
    const [b] = await read(one('https://b.example/2'))
    expect(a?.fact).toBe(b?.fact)
    const [c] = await read(item('Same words'))
    const [d] = await read(item('same  WORDS'))
    expect(c?.fact).toBe(d?.fact)
    expect(a?.fact).not.toBe(c?.fact)
  })

  it('without a date counts as old in a feed seen for the first time, as new later, and keeps its instant', async () => {
    const now = '2026-01-01T09:00:00Z'
    const [first] = await read(item('Undated'), {}, { now })
    expect(first?.at).toBe('2025-12-31T09:00:00.000Z')
    const known = { row: { told: '{}' }, now }
    expect((await read(item('Undated'), {}, known))[0]?.at).toBe('2026-01-01T09:00:00.000Z')
    const told = JSON.stringify({ [first?.fact ?? '']: '2026-01-01T08:00:00.000Z abc' })
    const later = { row: { told }, now: '2026-01-01T10:00:00Z' }
    expect((await read(item('Undated'), {}, later))[0]?.at).toBe('2026-01-01T08:00:00.000Z')
  })

  it('a date in the future is taken as now', async () => {
    const [found] = await read(
      rss('<item><title>A</title><pubDate>Fri, 01 Jan 2027 00:00:00 GMT</pubDate></item>'),
    )
    expect(found?.at).toBe('2026-01-01T09:00:00.000Z')
  })
})

describe('RSS 1.0 and Atom', () => {
  it('RDF, in the charset that its declaration names', async () => {
    expect(await read(fixture('rss1.rdf'))).toMatchObject([
      {
        headline: 'München wählt neu',
        url: 'https://wissen.example.org/1',
        at: '2026-01-01T08:00:00.000Z',
      },
    ])
  })

  it('Atom under any prefix, with XHTML inside, without the titles of authors and sources', async () => {
    const found = await read(fixture('atom.xml'))
    expect(found).toMatchObject([
      { headline: 'Only updated', body: 'Short', at: '2026-01-01T08:00:00.000Z' },
      { headline: 'Version <2.0> is out', body: 'Now faster', at: '2026-01-01T07:45:00.000Z' },
    ])
    expect(found[1]?.url).toMatch(/\/releases\/2\.0$/)
  })

  it('packed by gzip', async () => {
    const packed = gzipSync(fixture('atom.xml'))
    expect(await read(packed, { 'content-encoding': 'gzip' })).toHaveLength(2)
  })
})

describe('charsets', () => {
  it.each([
    [
      'HTTP',
      Buffer.from(item('Größe'), 'latin1'),
      { 'content-type': 'text/xml; charset=iso-8859-1' },
    ],
    ['a mark', Buffer.from(`\ufeff${item('Größe')}`, 'utf16le'), {}],
    ['nothing: UTF-8', Buffer.from(item('Größe')), {}],
  ])('by %s', async (_, body, headers) => {
    expect(await read(body, headers as Record<string, string>)).toMatchObject([
      { headline: 'Größe' },
    ])
  })

  it('wrong bytes cost a letter, an unknown charset the answer', async () => {
    const [found] = await read(Buffer.from(item('Größe'), 'latin1'))
    expect(found?.headline).toBe('Gr\ufffd\ufffde')
    await expect(read(item('A'), { 'content-type': 'text/xml; charset=klingon' })).rejects.toThrow(
      'the answer is written in "klingon", which is not known',
    )
  })

  it('what no store can hold is replaced', async () => {
    const [found] = await read(
      rss('<item><title><![CDATA[a&#0;b&#xD800;c&#x1F600;]]></title></item>'),
    )
    expect(found?.headline).toBe('a\ufffdb\ufffdc😀')
  })
})

describe('hostile feeds', () => {
  const laughs = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from(
    { length: 9 },
    (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n || ''};`.repeat(10)}">`,
  ).join('')}]>`

  it.each([
    ['a billion laughs', `${laughs}${item('&lol9;')}`, 'declares entities'],
    [
      'an external entity',
      `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${item('&x;')}`,
      'declares entities',
    ],
    ['deep nesting', rss('<a>'.repeat(100)), 'nested deeper than 64'],
    ['too many elements', rss('<a/>'.repeat(250_000)), 'more than 200000 elements'],
    ['a web page', '<!DOCTYPE html><html><body>Not found</body></html>', 'its root is <html>'],
    ['JSON', '{"items":[]}', 'the feed is no XML'],
    ['nothing', '', 'the feed is no XML'],
    ['half a feed', item('A').slice(0, -12), 'the feed is no XML'],
    ['more than 2 MiB', rss(`<!--${'x'.repeat(2 * 1024 * 1024)}-->`), 'larger than 2 MiB'],
  ])('%s is refused in words', async (_, body, says) => {
    await expect(read(body)).rejects.toThrow(says)
  })

  it('a small packet that unpacks to gigabytes is cut', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 32))
    await expect(read(bomb, { 'content-encoding': 'gzip' })).rejects.toThrow('larger than 2 MiB')
  })

  it('text made to choke patterns is read: in squared time it would take hours', async () => {
    const piece = '<'.repeat(300_000) + '<!--'.repeat(100_000) + '<script>'.repeat(40_000)
    await read(rss(`<item><title>A</title><description><![CDATA[${piece}]]></description></item>`))
  })
})

describe('dates', () => {
  it.each([
    ['Thu, 01 Jan 2026 09:10:00 +0100', '2026-01-01T08:10:00.000Z'],
    ['01 Jan 26 09:10 PDT', '2026-01-01T16:10:00.000Z'],
    ['Do, 1 January 2026 09:10:00 CET', '2026-01-01T08:10:00.000Z'],
    ['2026-01-01', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T09:10', '2026-01-01T09:10:00.000Z'],
    ['2026-01-01T09:10:11.123456-03:30', '2026-01-01T12:40:11.000Z'],
    ['2026-02-30', null],
    ['yesterday', null],
    ['01 Foo 2026 00:00:00 GMT', null],
    ['01 Jan 2026 00:00:00 QQQ', null],
  ])('%s', (text, expected) => {
    expect(feedDate(text)?.toISOString() ?? null).toBe(expected)
  })
})
