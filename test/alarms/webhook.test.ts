/** Outgoing calls: the signature, receivers that misbehave, and addresses that are not to be reached. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebhookOptions, Webhooks } from '../../src/calls/webhook.ts'
import { wallClock } from '../../src/clock.ts'
import { callRefusal, isPublicAddress } from '../../src/core/calls/address.ts'
import { webhookSignature } from '../../src/core/calls/signature.ts'
import { loadCases, type WireCases } from '../cases/load.ts'
import { type Row, receiver } from '../setup/listening-app.ts'

const { signature: VECTOR, addresses: ADDRESSES } = loadCases<WireCases>('wire')
const SECRET = VECTOR.secret

const made: Webhooks[] = []
const servers: { server: Server; sockets: Set<Socket> }[] = []
afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.close()))
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy()
    await new Promise((done) => server.close(done))
  }
})

function webhooks(more: Partial<WebhookOptions> = {}): Webhooks {
  const options = { secrets: () => [SECRET], allowPrivate: true, timeoutMs: 20_000, ...more }
  const each = new Webhooks(options)
  made.push(each)
  return each
}

const request = (url: string) => ({
  url,
  bearer: null,
  id: 'delivery-1',
  at: new Date('2026-01-01T00:00:00.999Z'),
  body: '{"message":"tea 🙂"}',
})

/** A server that speaks raw bytes, and counts who came. */
async function raw(
  speak: (socket: Socket) => void,
): Promise<{ url: string; port: number; connections: () => number; open: () => number }> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => speak(socket))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  servers.push({ server, sockets })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    port,
    connections: () => connections,
    open: () => sockets.size,
  }
}

describe('the signature', () => {
  const sign = (more: Partial<typeof VECTOR> = {}, secrets = [SECRET]) => {
    const { id, timestamp, body } = { ...VECTOR, ...more }
    return webhookSignature(secrets, id, timestamp, body)
  }

  it('is the one of the published vector, with or without the prefix of the secret', () => {
    expect(sign()).toBe(VECTOR.signature)
    expect(sign({}, [SECRET.slice('whsec_'.length)])).toBe(VECTOR.signature)
  })

  it('is over the bytes: one more space is another one, and so is another id or time', () => {
    expect(sign({ body: `${VECTOR.body} ` })).not.toBe(VECTOR.signature)
    expect(sign({ id: 'msg_2' })).not.toBe(VECTOR.signature)
    expect(sign({ timestamp: VECTOR.timestamp + 1 })).not.toBe(VECTOR.signature)
  })

  it('has one part for each secret while a secret is changed', () => {
    const other = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    expect(sign({}, [SECRET, other])).toBe(`${VECTOR.signature} ${sign({}, [other])}`)
  })

  it('is what the oracle verifies, for any text', async () => {
    const hook = await receiver()
    const at = new Date(wallClock())
    await webhooks().call({ ...request(hook.url), at })
    const [got] = hook.received as [Row]
    expect(() => new Webhook(SECRET).verify(got.text, got.headers)).not.toThrow()
    expect(() => new Webhook(SECRET).verify(`${got.text} `, got.headers)).toThrow()
    expect(got.headers['webhook-timestamp']).toBe(String(Math.floor(at.getTime() / 1000)))
  })
})

describe('receivers that hang, drip, flood, redirect or reset', () => {
  const answer = (text: string) => (socket: Socket) => void socket.write(text)

  it.each([200, 201, 202, 204, 299])('%i is taken', async (status) => {
    const hook = await receiver((_, response) => response.writeHead(status).end())
    expect(await webhooks().call(request(hook.url))).toEqual({ taken: true })
  })

  it('one that never answers is cut after the timeout', async () => {
    const hook = await raw(() => undefined)
    const attempt = await webhooks({ timeoutMs: 100 }).call(request(hook.url))
    expect(attempt).toMatchObject({
      taken: false,
      error: 'no answer within 100 ms',
      terminal: false,
    })
  })

  it('one that drips its headers for ever is cut after the timeout', async () => {
    const hook = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('x-drip: 1\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const attempt = await webhooks({ timeoutMs: 200 }).call(request(hook.url))
    expect(attempt).toMatchObject({ taken: false, error: 'no answer within 200 ms' })
  })

  it('200 counts when its status is read: a body that stalls or never ends is not waited for', async () => {
    const stall = await raw(answer('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'))
    expect(await webhooks().call(request(stall.url))).toEqual({ taken: true })
    let sent = 0
    const flood = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n')
      const chunk = Buffer.alloc(64 * 1024)
      const pour = () => {
        while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
        socket.once('drain', pour)
      }
      pour()
    })
    expect(await webhooks().call(request(flood.url))).toEqual({ taken: true })
    await expect.poll(flood.open).toBe(0)
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })

  it('an endless error body is quoted from its beginning, and cut', async () => {
    const hook = await raw((socket) => {
      socket.write('HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n')
      const timer = setInterval(() => socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`), 1)
      socket.on('close', () => clearInterval(timer))
    })
    const attempt = await webhooks().call(request(hook.url))
    expect(attempt).toMatchObject({ taken: false })
    expect(attempt.taken ? '' : attempt.error).toMatch(/^HTTP 500: x{1989}…$/)
    await expect.poll(hook.open).toBe(0)
  })

  it.each([
    ['reset before an answer', (socket: Socket) => void socket.resetAndDestroy()],
    ['closed before an answer', (socket: Socket) => void socket.end()],
    ['no HTTP', answer('220 smtp.example.com ESMTP\r\n')],
    [
      'headers without end',
      (socket: Socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}`),
    ],
  ])('%s is a failure that says so', async (_, speak) => {
    const hook = await raw(speak)
    const attempt = await webhooks({ timeoutMs: 1000 }).call(request(hook.url))
    expect(attempt).toMatchObject({
      taken: false,
      error: expect.stringMatching(/^(the call failed|no answer)/),
    })
  })

  it('TLS that is none is a failure', async () => {
    const hook = await raw(answer('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const attempt = await webhooks().call(request(hook.url.replace('http', 'https')))
    expect(attempt).toMatchObject({
      taken: false,
      error: expect.stringContaining('the call failed'),
    })
  })

  it.each([301, 302, 303, 307, 308])('%i is not followed', async (status) => {
    const secret = await receiver()
    const hook = await receiver((_, response) =>
      response.writeHead(status, { location: secret.url }).end(),
    )
    const attempt = await webhooks().call(request(hook.url))
    expect(attempt).toMatchObject({ taken: false, error: `HTTP ${status}` })
    expect(secret.connections()).toBe(0)
  })

  it('a URL that the answer names is never called', async () => {
    const secret = await receiver()
    const hook = await receiver((_, response) =>
      response
        .writeHead(200, { 'content-location': secret.url, refresh: `0;url=${secret.url}` })
        .end(JSON.stringify({ url: secret.url })),
    )
    expect(await webhooks().call(request(hook.url))).toEqual({ taken: true })
    expect(secret.connections()).toBe(0)
  })

  it('is cut when its caller gives up', async () => {
    const hook = await raw(() => undefined)
    const controller = new AbortController()
    const call = webhooks().call(request(hook.url), controller.signal)
    await expect.poll(hook.connections).toBe(1)
    controller.abort()
    expect(await call).toMatchObject({ taken: false })
    await expect.poll(hook.open).toBe(0)
  })
})

describe('addresses', () => {
  const PRIVATE = [
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0.0.0.0/',
    'http://LOCALHOST./',
    'http://sub.localhost/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://169.254.170.2/',
    'http://10.0.0.5/',
    'http://172.31.255.255/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://192.0.2.1/',
    'http://198.51.100.1/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[fc00::1]/',
    'http://[fe80::1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:db8::1]/',
    'http://[::a9fe:a9fe]/',
    'http://[::127.0.0.1]/',
    'http://[4000::1]/',
    'http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/',
    'http://example.com@127.0.0.1/',
    'http://example.com:6379/',
    'file:///etc/passwd',
    'ftp://example.com/',
    'javascript:alert(1)',
    'not a url',
  ]

  it.each(PRIVATE)('%s is refused', async (url) => {
    expect(callRefusal(url, false)).not.toBeNull()
    expect(await webhooks({ allowPrivate: false }).call(request(url))).toMatchObject({
      taken: false,
      error: expect.stringMatching(/^not called: /),
    })
  })

  it.each([
    'https://example.com/hook',
    'https://xn--e1afmkfd.example/hook',
    'http://8.8.8.8:8080/',
    'http://[2606:4700::1]/',
  ])('%s is not refused', (url) => expect(callRefusal(url, false)).toBeNull())

  it('all of the cases are refused, by the URL or by what it resolves to', async () => {
    const resolve = answers([{ address: '127.0.0.1', family: 4 }])
    for (const url of ADDRESSES.deny) {
      const attempt = await webhooks({ allowPrivate: false, resolve }).call(request(url))
      expect(attempt, url).toMatchObject({ taken: false })
    }
    for (const url of ADDRESSES.allow) expect(callRefusal(url, false)).toBeNull()
  })

  /** A resolver that answers as the test says. */
  function answers(
    ...rounds: { address: string; family: number }[][]
  ): NonNullable<WebhookOptions['resolve']> {
    let round = 0
    return ((
      _host: string,
      _options: object,
      callback: (error: Error | null, found?: unknown) => void,
    ) => {
      const found = rounds[Math.min(round++, rounds.length - 1)]
      if (found === undefined)
        callback(Object.assign(new Error('queryA ESERVFAIL'), { code: 'ESERVFAIL' }))
      else callback(null, found)
    }) as never
  }

  it('no connection reaches a private address behind a name: watched at the socket', async () => {
    const watched = await raw(() => undefined)
    // 8080 is a port of the web; the watched one stands in for it by being allowed below.
    const url = (port: number) => `http://hook.example:${port}/`
    const v4 = { address: '127.0.0.1', family: 4 }
    const mixed = [
      { address: '93.184.216.34', family: 4 },
      { address: '::1', family: 6 },
    ]
    const mapped = [{ address: '::ffff:127.0.0.1', family: 6 }]
    for (const found of [[v4], mixed, mapped, [] as never]) {
      const attempt = await webhooks({ allowPrivate: false, resolve: answers(found) }).call(
        request(url(8080)),
      )
      expect(attempt).toMatchObject({
        taken: false,
        error: expect.stringContaining('may not be called'),
      })
    }
    // The same name and resolver with private addresses allowed does reach it: the watch is not blind.
    await webhooks({ timeoutMs: 200, resolve: answers([v4]) }).call(request(url(watched.port)))
    expect(watched.connections()).toBe(1)
  })

  it('a look-up that fails, fails closed; a name that changes its answer is judged again', async () => {
    const closed = webhooks({ allowPrivate: false, resolve: answers() })
    expect(await closed.call(request('http://hook.example/'))).toMatchObject({
      taken: false,
      error: expect.stringContaining('ESERVFAIL'),
    })
    const rebound = webhooks({
      allowPrivate: false,
      timeoutMs: 200,
      resolve: answers(
        [{ address: '192.0.2.1', family: 4 }],
        [{ address: '127.0.0.1', family: 4 }],
      ),
    })
    for (let n = 0; n < 2; n++)
      expect(await rebound.call(request('http://hook.example/'))).toMatchObject({
        error: expect.stringContaining('may not be called'),
      })
  })

  it('what is no address is not public', () => {
    for (const text of ['', 'localhost', 'example.com', '999.1.1.1'])
      expect(isPublicAddress(text)).toBe(false)
    expect(isPublicAddress('93.184.216.34')).toBe(true)
  })
})
