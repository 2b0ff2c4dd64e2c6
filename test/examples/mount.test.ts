/** Wakeful inside somebody else's server: API, sockets and console below a base path. */
import { createServer, type Server as HttpServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { agent, type Message, type Wakeful, wakeful } from '../../src/index.ts'
import { ROOT } from '../../src/root.ts'
import { folder, Server } from '../process/server.ts'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'
import { Events } from '../streaming/events.ts'

const closing: (() => unknown)[] = []
afterEachTest(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0).toReversed()) await close()
})

const agents = { echo: agent((turn) => turn.say(`You said: ${textOf(turn.event.payload)}`)) }
const textOf = (payload: unknown) => (payload as { text: string }).text
const ENV = { LOG_LEVEL: 'error' }

/** The first message that a socket gets. */
function firstMessage(url: string): Promise<{ content: string }> {
  const socket = new WebSocket(url)
  return new Promise((done, fail) => {
    socket.on('error', fail)
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data))
      if (frame.type !== 'message') return
      socket.close()
      done(frame)
    })
  })
}

async function sayHi(base: string): Promise<Response> {
  return fetch(`${base}/v1/sessions/ann:echo:main/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"text":"hi"}',
  })
}

/** What every mounted server must do. */
async function expectServed(url: string): Promise<void> {
  expect(await (await fetch(`${url}/hello`)).text()).toBe('hello')
  const base = `${url}/wakeful`
  const health = await fetch(`${base}/healthz`)
  expect(await health.json()).toMatchObject({ status: 'ok' })
  expect((await sayHi(base)).status).toBe(202)
  const socket = `${base.replace('http', 'ws')}/v1/sessions/ann:echo:main/socket`
  expect(await firstMessage(socket)).toMatchObject({ content: 'You said: hi' })
  const page = await fetch(base)
  expect(page.url).toBe(`${base}/`)
  const html = await page.text()
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(html)?.[1]
  const loaded = await fetch(`${base}/${script}`)
  expect([loaded.status, loaded.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('javascript'),
  ])
  expect((await fetch(`${base}/v1/nothing`)).status).toBe(404)
  expect((await fetch(`${url}/wakefulness`)).status).toBe(404)
}

describe('examples/mount', () => {
  it.each(['express', 'fastify', 'hono'])('%s serves its own routes and Wakeful', async (name) => {
    const home = folder()
    const server = new Server(
      { DATABASE_URL: 'memory:', PORT: '0' },
      { bin: join(ROOT, `examples/mount/${name}.mjs`), folder: home },
    )
    await expectServed(await server.address)
    await server.end('SIGTERM')
  })

  it('next: the route handlers answer web requests', async () => {
    vi.stubEnv('DATABASE_URL', 'memory:')
    vi.stubEnv('LOG_LEVEL', 'error')
    const route = await import(join(ROOT, 'examples/mount/next/route.mjs'))
    closing.push(async () => ((await Reflect.get(globalThis, 'wakefulApp')) as Wakeful).stop())
    const at = 'http://localhost/wakeful'
    const posted = await route.POST(
      new Request(`${at}/v1/sessions/ann:echo:main/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"hi"}',
      }),
    )
    expect(posted.status).toBe(202)
    const health = await route.GET(new Request(`${at}/healthz`))
    expect(await health.json()).toMatchObject({ status: 'ok' })
    const head = await route.GET(new Request(at))
    expect([head.status, head.headers.get('location')]).toEqual([308, '/wakeful/'])
  })
})

/** An app mounted in a plain Node server. */
async function mounted(env: Record<string, string>, host = '127.0.0.1') {
  const app = await wakeful({
    database: 'memory:',
    basePath: '/w',
    agents,
    env: { ...ENV, ...env },
  })
  closing.push(() => app.stop())
  await app.start()
  const server: HttpServer = createServer((request, response) => {
    if (request.url?.startsWith('/eaten')) {
      request.resume().on('end', () => {
        request.url = request.url?.replace('/eaten', '')
        app.handler(request, response)
      })
    } else app.handler(request, response)
  })
  server.on('upgrade', (request, socket, head) => {
    if (!app.upgrade(request, socket, head)) socket.destroy()
  })
  await new Promise<void>((done) => server.listen(0, host, done))
  closing.push(() => new Promise((done) => server.close(done).closeAllConnections()))
  const { port } = server.address() as AddressInfo
  return { app, port, url: `http://127.0.0.1:${port}/w` }
}

describe('a mounted app', () => {
  it('refuses foreign hosts with open access, and lets keys in from everywhere', async () => {
    const open = await mounted({})
    const asked = (port: number, headers: Record<string, string>) =>
      new Promise<number | undefined>((done, fail) => {
        const at = { port, host: '127.0.0.1', path: '/w/v1/alarms', headers }
        httpRequest(at, (answer) => done(answer.resume().statusCode))
          .on('error', fail)
          .end()
      })
    expect(await asked(open.port, { host: 'evil.example' })).toBe(403)
    expect(await asked(open.port, {})).toBe(200)
    const key = 'k'.repeat(40)
    const keyed = await mounted({ WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: key })
    const authorization = `Bearer ${key}`
    expect(await asked(keyed.port, { host: 'chat.example', authorization })).toBe(200)
    expect(await asked(keyed.port, { host: 'chat.example' })).toBe(401)
  })

  it('says so when a body parser has read the body before it', async () => {
    const { url } = await mounted({})
    const at = new URL(url)
    const answer = await fetch(`${at.origin}/eaten/w/v1/alarms`, { method: 'POST', body: '{}' })
    expect(answer.status).toBe(500)
    expect(await answer.text()).toContain('before body parsers')
  })

  it('refuses open access by fetch in production, because it cannot see who calls', async () => {
    const { app } = await mounted({ NODE_ENV: 'production' })
    const answer = await app.fetch(new Request('http://localhost/w/v1/alarms'))
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain('WAKEFUL_AUTH=keys')
  })

  it('refuses a body that is too large for every route, and a base path that is none', async () => {
    const { app } = await mounted({})
    const body = 'x'.repeat(6 * 1024 * 1024)
    const answer = await app.fetch(
      new Request('http://localhost/w/v1/alarms', { method: 'POST', body }),
    )
    expect(answer.status).toBe(413)
    await expect(
      wakeful({ database: 'memory:', basePath: 'w/', agents, env: ENV }),
    ).rejects.toThrow('basePath: got "w/"')
  })

  it('serves event streams below its path, to requests of Node and of the web, and lets go who leaves', async () => {
    const { app, url } = await mounted({})
    const path = '/v1/sessions/ann:echo:main/stream'
    const events = await Events.open(url, 'ann:echo:main')
    const given = new AbortController()
    const asked = new Request(`http://localhost/w${path}`, { signal: given.signal })
    const answers = [asked, new Request(`http://localhost/w${path}`)].map((each) => app.fetch(each))
    const [aborted, cancelled] = await Promise.all(answers)
    expect(cancelled?.headers.get('content-type')).toContain('text/event-stream')
    const reader = cancelled?.body?.getReader()
    await sayHi(url)
    expect(await events.hears(1)).toMatchObject([{ content: 'You said: hi' }])
    let text = ''
    while (!text.includes('"You said: hi"'))
      text += new TextDecoder().decode((await reader?.read())?.value)
    expect(text).toMatch(/^retry: 1000\n\ndata: \{"type":"ready"/)
    await reader?.cancel()
    given.abort()
    await aborted?.text().catch(() => undefined)
    events.close()
    const sockets = async () =>
      /^wakeful_sockets\S* (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]
    await until('nobody listens', async () => (await sockets()) === '0')
  })

  it('leaves sockets of other paths to the host', async () => {
    const { port } = await mounted({})
    const socket = new WebSocket(`ws://127.0.0.1:${port}/own`)
    await expect(
      new Promise((done, fail) => socket.on('open', done).on('error', fail)),
    ).rejects.toThrow()
  })
})

describe("app.on('message')", () => {
  it('gets each committed message in process, and an acknowledged one is delivered', async () => {
    const { app, url } = await mounted({})
    const [heard, acked]: [Message[], boolean[]] = [[], []]
    const failed = app.on('message', () => {
      throw new Error('a listener that throws stops nothing')
    })
    const off = app.on('message', async (message, { ack }) => {
      heard.push(message)
      acked.push(await ack())
    })
    await sayHi(url)
    await until('the message is acknowledged', () => acked.length === 1)
    expect(heard).toEqual([
      expect.objectContaining({
        sessionKey: 'ann:echo:main',
        userId: 'ann',
        content: 'You said: hi',
        reason: 'answer',
        eventSeq: 1,
      }),
    ])
    const effects = await (await fetch(`${url}/v1/sessions/ann:echo:main/effects`)).json()
    expect(effects).toMatchObject({ data: [{ id: heard[0]?.id, status: 'completed' }] })
    failed()
    off()
    await sayHi(url)
    await until('the second turn is over', async () => {
      const head = await (await fetch(`${url}/v1/sessions/ann:echo:main`)).json()
      return (head as { done_seq: number }).done_seq === 2
    })
    expect(heard).toHaveLength(1)
  })
})
