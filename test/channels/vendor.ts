/** A vendor on loopback: answers what it is asked, and keeps what it was given. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Loose } from '../setup/http.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Loose
}

export interface Answered {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface Vendor {
  readonly root: string
  readonly wsRoot: string
  /** The connection that is open, waited for. */
  line(): Promise<WebSocket>
  stop(): Promise<void>
}

export async function startVendor(
  answer: (asked: Asked) => Answered | Promise<Answered>,
  greet: (socket: WebSocket) => void = () => undefined,
): Promise<Vendor> {
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const { method = '', url: path = '', headers } = request
    const body = text === '' ? {} : (JSON.parse(text) as Loose)
    const asked = { method, path, headers, body }
    const { status = 200, headers: more = {}, body: said } = await answer(asked)
    response.writeHead(status, { 'content-type': 'application/json', ...more })
    response.end(said === undefined ? '' : JSON.stringify(said))
  })
  const sockets = new WebSocketServer({ server })
  let lines: WebSocket[] = []
  let waiting: ((socket: WebSocket) => void)[] = []
  sockets.on('connection', (socket) => {
    lines.push(socket)
    socket.on('close', () => {
      lines = lines.filter((each) => each !== socket)
    })
    greet(socket)
    for (const resolve of waiting.splice(0)) resolve(socket)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    root: `http://127.0.0.1:${port}`,
    wsRoot: `ws://127.0.0.1:${port}`,
    line: () => {
      const open = lines.at(-1)
      if (open !== undefined) return Promise.resolve(open)
      return new Promise((resolve) => {
        waiting = [...waiting, resolve]
      })
    },
    async stop() {
      for (const socket of lines) socket.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Posts to a channel's address as its vendor would. */
export async function post(
  url: string,
  body: string | Buffer,
  headers: Record<string, string>,
): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body: body as string, headers })
  await answer.text()
  return answer.status
}

/** Words of our own, which every channel says. */
export const OWN = /^(Hello! This chat|Linked\.|This link is no longer)/

/** More than is ever read. */
export const GIANT = 'x'.repeat(6 * 1024 * 1024)
