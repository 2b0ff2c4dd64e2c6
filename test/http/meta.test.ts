import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { writeSite } from '../../scripts/docs/site.ts'
import { operations } from '../../src/app/operations.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { door, noteOperations } from './door.ts'

const directory = mkdtempSync(join(tmpdir(), 'console-'))
writeFileSync(join(directory, 'index.html'), '<!doctype html><title>Console</title>')
writeFileSync(join(directory, 'app.js'), 'export {}')
const app = door({ console: directory })
afterAll(async () => {
  await app.close()
  rmSync(directory, { recursive: true })
})

describe('health', () => {
  test('200 while all is well, 503 while it is not', async () => {
    expect((await app.inject('/healthz')).json()).toEqual({ status: 'ok' })
    expect((await app.inject('/readyz')).statusCode).toBe(200)
    const ill = door({
      health: async () => ({ ok: false, body: { status: 'database away' } }),
      ready: async () => false,
    })
    const health = await ill.inject('/healthz')
    expect([health.statusCode, health.headers['retry-after']]).toEqual([503, '2'])
    expect(health.json()).toEqual({ status: 'database away' })
    expect((await ill.inject('/readyz')).statusCode).toBe(503)
    await ill.close()
  })

  test('while it is not ready, readiness says so in one line of the log, however often it is asked', async () => {
    const lines: string[] = []
    let ready = false
    const starting = door({
      ready: async () => ready,
      logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
    })
    const ask = async () => (await starting.inject('/readyz')).statusCode
    expect([await ask(), await ask(), await ask()]).toEqual([503, 503, 503])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 30, msg: 'not ready to take requests' },
    ])
    expect(lines[0]).not.toContain('stack')
    ready = true
    expect(await ask()).toBe(200)
    ready = false
    expect(await ask()).toBe(503)
    expect(lines).toHaveLength(2)
    await starting.close()
  })

  test('metrics are given as they come', async () => {
    const answer = await app.inject('/metrics')
    expect(answer.headers['content-type']).toContain('version=0.0.4')
    expect(answer.body).toBe('up 1\n')
  })

  test('metrics want an admin or service key where the setting says so', async () => {
    const guarded = door({ metricsAuth: 'keys' })
    const ask = async (authorization?: string) =>
      (
        await guarded.inject({
          url: '/metrics',
          headers: { ...(authorization && { authorization }) },
        })
      ).statusCode
    expect([await ask(), await ask('Bearer user'), await ask('Bearer wrong')]).toEqual([
      200, 403, 401,
    ])
    await guarded.close()
  })
})

test('a slow request is cut after 30 seconds: Node checks every second', async () => {
  const made = vi.spyOn(http, 'createServer')
  const server = door()
  const [options] = made.mock.calls[0] ?? []
  made.mockRestore()
  expect(options).toMatchObject({ headersTimeout: 30_000, connectionsCheckingInterval: 1_000 })
  expect(server.server.requestTimeout).toBe(30_000)
  await server.close()
})

describe('/openapi.json', () => {
  test('describes every operation', async () => {
    const api = (await app.inject('/openapi.json')).json()
    expect(api.openapi).toBe('3.1.0')
    expect(api.info.version).toBe('1.2.3')
    const create = api.paths['/v1/notes'].post
    const named = ({ schema }: { schema: { $ref: string } }) =>
      api.components.schemas[schema.$ref.replace('#/components/schemas/', '')]
    expect(create.operationId).toBe('create_note')
    expect(named(create.responses['201'].content['application/json']).type).toBe('object')
    expect(create.responses['422'].content).toHaveProperty(['application/problem+json'])
    const body = named(create.requestBody.content['application/json'])
    expect(body).toMatchObject({ additionalProperties: false, required: ['text'] })
    expect(body.properties.payload).toEqual({})
    expect(create.parameters[0]).toMatchObject({ in: 'header', name: 'Idempotency-Key' })
    expect(api.paths['/v1/notes'].get.parameters).toMatchObject([
      { in: 'query', name: 'limit', required: false, schema: { type: 'integer', default: 100 } },
      { in: 'query', name: 'cursor', required: false, schema: { type: 'string' } },
    ])
    expect(api.paths['/v1/notes/{id}'].get.parameters[0]).toMatchObject({
      in: 'path',
      required: true,
    })
    expect(api.components.schemas.Problem.required).toContain('errors')
    expect(api.paths['/v1/fail/{how}'].post.security).toEqual([])
  })

  test('declares the refusals of every operation of the server', async () => {
    const whole = door({ operations })
    const { paths } = (await whole.inject('/openapi.json')).json()
    await whole.close()
    const all = Object.values(paths).flatMap((each) => Object.values(each as object))
    const described = (name: string) => all.find(({ operationId }) => operationId === name)
    const lacking = (status: string, of = operations) =>
      of.filter(({ name }) => !(status in described(name).responses)).map(({ name }) => name)
    expect(lacking('429')).toEqual([])
    expect(lacking('413')).toEqual([])
    for (const name of ['stop', 'set_alarm', 'post_message'])
      expect(Object.keys(described(name).responses)).toContain('200')
    const changing = operations.filter(({ method }) => method !== 'GET')
    expect(lacking('409', changing)).toEqual([])
    const named = operations.filter(
      ({ path, name }) =>
        path.includes('{') || ['create_link', 'create_telegram_link', 'poll_events'].includes(name),
    )
    expect(lacking('404', named)).toEqual([])
    expect(lacking('409')).not.toContain('get_web_push_key')
  })
})

describe('/docs', () => {
  const docs = mkdtempSync(join(tmpdir(), 'site-'))
  mkdirSync(join(docs, 'operations'))
  mkdirSync(join(docs, 'images'))
  writeFileSync(
    join(docs, 'README.md'),
    '# Home\n\n## Guides\n\n- [Running](operations/running.md#now)\n- [Out](../README.md)\n\n![shot](images/a.png)\n',
  )
  writeFileSync(
    join(docs, 'operations/running.md'),
    '# Running <it>\n\n## Now & then\n\n[back](../README.md), [away](../../deploy/x.md), <script>\n\n```sh\necho "<b>"\n```\n',
  )
  writeFileSync(
    join(docs, 'rest.md'),
    '# Not listed\n\n| name | is "so" |\n|---|---|\n| `a<b` |  |\n| c | *d* |\n',
  )
  writeFileSync(join(docs, 'images/a.png'), 'png')
  const built = mkdtempSync(join(tmpdir(), 'built-'))
  writeSite(noteOperations, docs, built, { version: '1.2.3' })
  const site = door({ docs: built })
  afterAll(async () => {
    await site.close()
    for (const folder of [docs, built]) rmSync(folder, { recursive: true })
  })
  const read = async (url: string) => (await site.inject(url)).body
  /** The addresses that a page leads to, as a browser reads them. */
  const leads = async (url: string) =>
    [...(await read(url)).matchAll(/(?:href|src)="([^"#][^"]*)"/g)].map(
      ([, to = '']) => new URL(to, `http://x${url}`).pathname,
    )

  test('is a site without scripts or outside requests, the errors on its first page', async () => {
    for (const url of ['/docs', '/docs/', '/docs/index.html', '/docs/api.html']) {
      const answer = await site.inject(url)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(answer.headers['content-security-policy']).toMatch(/style-src 'sha256-/)
      expect(answer.body).not.toMatch(/<script|https?:\/\/|<link/)
    }
    const home = await read('/docs')
    for (const code of Object.keys(ERRORS)) expect(home).toContain(`id="error-${code}"`)
    expect(await read('/docs/api.html')).toContain('List &lt;notes&gt;')
  })

  test('every page is reached from every other, and pictures and headings too', async () => {
    const pages = ['/docs', '/docs/index.html', '/docs/api.html', '/docs/operations/running.html']
    for (const page of pages) {
      const there = new Set(await leads(page))
      for (const url of ['/docs/operations/running.html', '/docs/rest.html', '/docs/api.html'])
        expect([page, url, there.has(url)]).toEqual([page, url, true])
      for (const url of there)
        expect([url, (await site.inject(url)).statusCode]).toEqual([url, 200])
    }
    expect(await leads('/docs')).toContain('/docs/images/a.png')
    expect((await site.inject('/docs/images/a.png')).headers['content-type']).toBe('image/png')
    expect(await read('/docs/operations/running.html')).toContain('<h2 id="now--then">')
  })

  test('what leads out of it is text, and what is written is shown as it is', async () => {
    const body = await read('/docs/operations/running.html')
    expect(body).toContain('<title>Running &lt;it&gt; · Wakeful</title>')
    expect(body).toContain('echo &quot;&lt;b&gt;&quot;')
    expect(body).toContain(', away, &lt;script&gt;')
  })

  test('a cell of a table tells its column, for screens too narrow for columns', async () => {
    const body = await read('/docs/rest.html')
    expect(body).toContain('<td data-column="name"><code>a&lt;b</code></td>')
    expect(body).toContain('<td data-column="is &quot;so&quot;" class="none"></td>')
    expect(body).toContain('<td data-column="is &quot;so&quot;"><em>d</em></td>')
  })

  test('without written pages the reference is there', async () => {
    const bare = mkdtempSync(join(tmpdir(), 'bare-'))
    writeSite(noteOperations, null, bare, { version: '1.2.3' })
    const reference = door({ docs: bare })
    expect((await reference.inject('/docs')).body).toContain('List &lt;notes&gt;')
    await reference.close()
    rmSync(bare, { recursive: true })
    expect((await app.inject('/docs')).statusCode).toBe(404)
  })
})

describe('security headers', () => {
  const PLACES = ['/', '/app.js', '/docs', '/openapi.json', '/healthz', '/v1/unknown', '/none.js']

  test.each(PLACES)('stand on every answer: %s', async (url) => {
    const { headers } = await app.inject(url)
    const policy = String(headers['content-security-policy'])
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    for (const part of ["frame-ancestors 'none'", "base-uri 'none'"]) expect(policy).toContain(part)
    // Scripts of this server's own files, or none: nothing inline, nothing evaluated, nobody else's.
    const scripts =
      /script-src[^;]*/.exec(policy)?.[0] ?? /default-src[^;]*/.exec(policy)?.[0] ?? ''
    expect(scripts).toMatch(/^(?:script|default)-src '(?:self|none)'$/)
  })
})

describe('the console', () => {
  test('is served at / beside the rest', async () => {
    const page = await app.inject('/')
    expect(page.body).toContain('Console')
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringContaining("default-src 'self'"),
      'x-content-type-options': 'nosniff',
    })
    expect((await app.inject('/app.js')).headers['content-type']).toContain('javascript')
  })

  test('nothing else is', async () => {
    for (const url of ['/missing.js', '/..%2f..%2fetc%2fpasswd', '/v1/unknown']) {
      const answer = await app.inject(url)
      expect(answer.statusCode).toBe(404)
      expect(answer.headers['content-type']).toContain('problem+json')
    }
  })

  test('a directory that is not there is left out', async () => {
    const bare = door({ console: join(directory, 'none') })
    expect((await bare.inject('/')).statusCode).toBe(404)
    await bare.close()
  })
})

describe('for agents that read', () => {
  const docs = mkdtempSync(join(tmpdir(), 'docs-'))
  writeFileSync(join(docs, 'work.md'), '# Work: executors\n\nText.\n')
  const built = mkdtempSync(join(tmpdir(), 'built-'))
  writeSite(noteOperations, docs, built, { version: '1.2.3' })
  const reading = door({ docs: built })
  afterAll(async () => {
    await reading.close()
    for (const folder of [docs, built]) rmSync(folder, { recursive: true })
  })

  test('/llms.txt lists the pages, and each is there as Markdown', async () => {
    const list = await reading.inject('/llms.txt')
    expect(list.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(list.body).toMatch(/^# Wakeful /)
    const urls = [...list.body.matchAll(/\]\((\/docs\/[^)]+)\)/g)].map(([, url = '']) => url)
    expect(urls).toEqual(['/docs/api.md', '/docs/work.md'])
    for (const url of urls) {
      const page = await reading.inject(url)
      expect(page.statusCode).toBe(200)
      expect(page.headers['content-type']).toBe('text/markdown; charset=utf-8')
      expect(page.body).toMatch(/^# /)
    }
    expect((await reading.inject('/docs/work.md')).body).toBe('# Work: executors\n\nText.\n')
  })

  test('the reference names every operation', async () => {
    const { body } = await reading.inject('/docs/api.md')
    expect(body).toContain('| class | status | title |')
    for (const code of Object.keys(ERRORS)) expect(body).toContain(`\`${code}\``)
  })

  test('nothing else can be reached by it', async () => {
    for (const url of ['/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/none.md'])
      expect((await reading.inject(url)).statusCode).toBe(404)
    expect((await reading.inject({ method: 'POST', url: '/docs/work.md' })).statusCode).toBe(405)
  })
})

describe('an address typed by hand', () => {
  const typed = (url: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') =>
    app.inject({ url, headers: { accept } })

  test('leads a browser to the page of the console behind it', async () => {
    for (const url of ['/alarms', '/work/3f2a', '/sessions/ann:bot:t', '/nowhere']) {
      const answer = await typed(url)
      expect([answer.statusCode, answer.headers.location]).toEqual([302, `/#${url}`])
    }
    // Never out of this place.
    expect((await typed('//evil.example/x')).headers.location).toBe('/#//evil.example/x')
  })

  test('is answered to programs as before', async () => {
    expect((await typed('/alarms', 'application/json')).statusCode).toBe(404)
    expect((await typed('/v1/none')).statusCode).toBe(404)
    expect((await typed('/app2.js')).statusCode).toBe(404)
    const bare = door({})
    expect(
      (await bare.inject({ url: '/alarms', headers: { accept: 'text/html' } })).statusCode,
    ).toBe(404)
    await bare.close()
  })
})
