/** Receivers of wakes: one that takes everything and writes it down, and those that misbehave by the first word of the message. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEachTest } from '../setup/ends.ts'
import type { Received, Witness } from './witness.ts'

const open = new Set<Server>()
afterEachTest(() => {
  for (const server of open) {
    server.closeAllConnections()
    server.close()
  }
  open.clear()
})

const DRIP_MS = 100
const CHUNK = Buffer.alloc(64 * 1024, 'x')
const BODY_BYTES = 1024 ** 3

/** Each answers in its own bad way; the number is what the witness notes. */
const ANSWERS: Record<string, (request: IncomingMessage, response: ServerResponse) => number> = {
  hang: () => 0,
  drip(_, response) {
    response.writeHead(500, { 'content-type': 'text/plain' })
    const timer = setInterval(() => response.write('.'), DRIP_MS)
    response.on('close', () => clearInterval(timer))
    return 500
  },
  flood(_, response) {
    response.writeHead(500, { 'content-length': BODY_BYTES })
    const pour = () => {
      while (!response.destroyed && response.write(CHUNK));
      response.once('drain', pour)
    }
    pour()
    return 500
  },
  redirect(_, response) {
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    return 302
  },
  reset(request) {
    request.socket.resetAndDestroy()
    return 0
  },
  gone: (_, response) => plain(response, 410),
  later(_, response) {
    response.setHeader('retry-after', '60')
    return plain(response, 429)
  },
}

function plain(response: ServerResponse, status: number): number {
  response.writeHead(status).end()
  return status
}

export async function receiver(witness: Witness<Received>): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const { alarm_id, scheduled_for, message } = JSON.parse(text) as Record<string, string>
      const way = ANSWERS[message?.split(' ')[0] ?? '']
      const answer = way?.(request, response) ?? 200
      witness.saw({
        ...{ alarm: alarm_id ?? '', slot: scheduled_for ?? '', answer },
        delivery: String(request.headers['webhook-id']),
      })
      if (way === undefined) plain(response, 200)
    })
  })
  open.add(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
