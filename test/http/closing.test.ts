/** A stop waits for requests, and for nobody who keeps silent. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fastify } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { closing } from '../../src/http/closing.ts'
import { testWakeful } from '../../src/testing.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

async function opened(url: string, text: string): Promise<{ socket: Socket; heard(): string }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  let heard = ''
  socket.on('data', (chunk) => {
    heard += String(chunk)
  })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  if (text !== '') socket.write(text)
  return { socket, heard: () => heard }
}

const SILENT = ''
const HALF = 'GET /healthz HTTP/1.1\r\nHost: x\r\n'
const WHOLE = `${HALF}\r\n`
const NEVER_MS = 600_000

async function served(graceMs: number) {
  const app = fastify()
  let answer = () => {}
  const asked = new Promise<void>((seen) => {
    app.get('/slow', async () => {
      await new Promise<void>((done) => {
        answer = done
        seen()
      })
      return 'done'
    })
  })
  app.get('/healthz', async () => 'ok')
  const close = closing(app, graceMs)
  return { url: await app.listen({ port: 0 }), close, asked, answer: () => answer() }
}

describe('a stop', () => {
  it.each([
    ['never said a word', SILENT, NEVER_MS],
    ['waits for its next request', WHOLE, NEVER_MS],
    ['sent half a request', HALF, 100],
  ])('is not held by a connection that %s', async (_what, text, graceMs) => {
    const { url, close } = await served(graceMs)
    const { socket, heard } = await opened(url, text)
    // The server has seen the connection when it has answered a later one.
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    if (text === WHOLE) await expect.poll(heard).toContain('200 OK')
    const gone = once(socket, 'close')
    await close()
    await gone
  })

  it('waits for the answer to a request', async () => {
    const { url, close, asked, answer } = await served(NEVER_MS)
    const answered = fetch(`${url}/slow`).then((reply) => reply.text())
    await asked
    const closed = close()
    answer()
    expect(await answered).toBe('done')
    await closed
  })

  it('of the whole app is not held either', async () => {
    const env = { PORT: '0', LOG_LEVEL: 'silent' }
    const w = await testWakeful({ database: 'memory:', agents: {}, env })
    const { socket } = await opened(await w.listen(), SILENT)
    const gone = once(socket, 'close')
    await w.stop()
    await gone
  })
})
