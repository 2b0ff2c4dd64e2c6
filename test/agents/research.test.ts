/** `research` really looks: feeds and a search, read by the guarded fetcher; with a model an answer with sources, without one a list. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'
import { type FakeModel, fakeModel, saying } from './fake-model.ts'

const FEED = `<?xml version="1.0"?><rss version="2.0"><channel>
<item><title>Heat pumps beat gas in the cold</title><link>https://n.example/1</link><pubDate>Wed, 31 Dec 2025 09:00:00 GMT</pubDate><description>&lt;p&gt;A field study of pumps.&lt;/p&gt;</description></item>
<item><title>Football results</title><link>https://n.example/2</link></item>
<item><title>A [pump](javascript:alert) &lt;script&gt;x&lt;/script&gt; prices</title><link>javascript:alert(1)</link><description>heat</description></item>
</channel></rss>`

interface Web {
  readonly url: string
  readonly asked: string[]
  stop(): Promise<void>
}

async function web(): Promise<Web> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    asked.push(`${url.pathname}${url.search}`)
    if (url.pathname === '/feed') response.setHeader('content-type', 'text/xml').end(FEED)
    else if (url.pathname === '/search')
      response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          results: [
            {
              title: 'Heat pump guide',
              url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`,
              content: 'Short.',
              publishedDate: '2025-11-02T00:00:00Z',
            },
            { title: 'No address' },
            { title: 'Not the web', url: 'file:///etc/passwd' },
          ],
        }),
      )
    else if (url.pathname === '/page')
      response
        .setHeader('content-type', 'text/html')
        .end(`<html><script>no()</script><p>${'The whole page on pumps. '.repeat(10)}</p></html>`)
    else response.writeHead(500).end('no')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: () => new Promise((done) => server.close(() => done())),
  }
}

interface Output {
  readonly status: string
  readonly title: string
  readonly content: string
  readonly metadata: string
  readonly file_format: string | null
  readonly error_message: string | null
}

eachStore('research', (store) => {
  let net: Web
  let model: FakeModel | null = null
  beforeAll(async () => {
    net = await web()
  })
  afterAll(() => net.stop())
  afterEachTest(async () => {
    await model?.stop()
    model = null
  })

  async function researched(
    env: Record<string, string>,
    parameters: object = {},
  ): Promise<{ output: Output; w: World }> {
    const w = await world(
      store,
      { bot: () => undefined },
      { env: { WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true', ...env } },
    )
    const task = 'Research heat pumps'
    await w.call('create_work', { task, agent_type: 'research', user_id: 'ann', parameters })
    await w.settle()
    const [output] = await w.query<Output>('select * from wakeful.work_outputs')
    if (output === undefined) throw new Error('there is no output')
    return { output, w }
  }

  it('without a model lists what was found, with links and dates, and says so', async () => {
    const { output } = await researched({
      WAKEFUL_FEEDS: `${net.url}/feed,${net.url}/broken`,
      WAKEFUL_SEARCH_URL: `${net.url}/search?key=secret`,
    })
    expect(output.error_message).toBeNull()
    expect(output).toMatchObject({ status: 'completed', title: 'Found: Research heat pumps' })
    expect(output.content).toContain('3 found in a search and 2 feeds. No chat model is set')
    expect(output.content).toContain(`- [Heat pump guide](<${net.url}/page>), 2025-11-02 00:00 UTC`)
    expect(output.content).toContain(
      '- [Heat pumps beat gas in the cold](<https://n.example/1>), 2025-12-31 09:00 UTC\n  A field study of pumps.',
    )
    expect(output.content).not.toContain('Football')
    expect(output.content).not.toMatch(/(?<!\\)\]\(<?javascript:/)
    expect(output.content).toContain('Could not be read: 127.0.0.1: HTTP 500')
    expect(output.content).not.toContain('secret')
    expect(JSON.parse(output.metadata)).toMatchObject({
      found: 3,
      looked_in: { feeds: 2, search: true, failed: 1 },
    })
    expect(net.asked).toContain('/search?key=secret&q=heat+pumps&format=json')
  })

  it('with a model answers from what was found, its pages read, and adds the sources', async () => {
    model = await fakeModel(saying('# Pumps\n\nThey work [2].'))
    const { output, w } = await researched(
      {
        WAKEFUL_FEEDS: `${net.url}/feed`,
        WAKEFUL_SEARCH_URL: `${net.url}/search`,
        WAKEFUL_MODEL_URL: model.url,
        WAKEFUL_MODEL: 'tiny',
      },
      { sources: ['Mine.'], format: 'html' },
    )
    expect(output.error_message).toBeNull()
    const [, brief] = model.asked[0]?.body.messages ?? []
    expect(brief?.content).toContain('<source number="1">\nMine.\n</source>')
    expect(brief?.content).toMatch(
      /<source number="2">\nHeat pump guide\n.*\nDate: .*\nThe whole page on pumps\./,
    )
    expect(brief?.content).toContain('<source number="3">\nHeat pumps beat gas')
    expect(output.content).toMatch(
      /^# Pumps\n\nThey work \[2\]\.\n\n## Sources\n\n2\. \[Heat pump guide\]/,
    )
    expect(JSON.parse(output.metadata)).toMatchObject({
      found: 3,
      pages_read: 1,
      model: 'tiny-2026',
    })
    expect(output.file_format).toBe('html')
    const [row] = await w.query<{ file_key: string }>('select file_key from wakeful.work_outputs')
    expect(row?.file_key).toBeTruthy()
  })

  it('says that nothing was found, and what to set where there is nowhere to look', async () => {
    const found = await researched({ WAKEFUL_FEEDS: `${net.url}/broken` })
    expect(found.output.content).toContain('Nothing was found in one feed.')
    await found.w.stop()
    const { output } = await researched({})
    expect(output.error_message).toMatch(
      /^research: no chat model is set: .*; to look without a model set WAKEFUL_FEEDS or WAKEFUL_SEARCH_URL$/,
    )
  })
})
