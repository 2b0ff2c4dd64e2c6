/** A session's messages as Server-Sent Events: another transport of the socket's channel, for reading alone. */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { GOODBYE_MS, type Visitor } from './address-limits.ts'
import { refuseRest, routePath } from './methods.ts'

export const SESSION_STREAM_PATH = '/v1/sessions/{session_key}/stream'
/** Proxies close connections that are silent for longer. */
const HEARTBEAT_MS = 15_000
/** How long browsers wait before they connect again. */
const RETRY_MS = 1_000
const TOO_SLOW = 1013
const OPEN = 1
const CLOSED = 3

const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // A proxy that gathers answers would keep everything back.
  'x-accel-buffering': 'no',
}

/** The stream of one client, where the channel and the watch over credentials expect a socket. */
export class EventStream extends EventEmitter implements Visitor {
  readonly body = new PassThrough()
  readonly #heartbeat: NodeJS.Timeout

  constructor() {
    super()
    this.body.write(`retry: ${RETRY_MS}\n\n`)
    this.#heartbeat = setInterval(() => this.body.write(':\n\n'), HEARTBEAT_MS).unref()
    this.body.once('close', () => {
      clearInterval(this.#heartbeat)
      this.emit('close')
    })
    // The client has left.
    this.body.on('error', () => undefined)
  }

  get readyState(): number {
    return this.body.writable ? OPEN : CLOSED
  }

  get bufferedAmount(): number {
    return this.body.writableLength + this.body.readableLength
  }

  send(text: string, done?: (error?: Error | null) => void): void {
    if (this.body.writable) this.body.write(`data: ${text}\n\n`, done)
  }

  sendMessage(id: string, text: string, done?: (error?: Error | null) => void): void {
    if (this.body.writable) this.body.write(`id: ${id}\ndata: ${text}\n\n`, done)
  }

  /** A client that does not read would never get to the end. */
  close(code: number): void {
    if (code === TOO_SLOW) this.terminate()
    else {
      this.body.end()
      setTimeout(() => this.terminate(), GOODBYE_MS).unref()
    }
  }

  terminate(): void {
    this.body.destroy()
  }
}

/** Where the answer of a stream comes from; `origin`: a page of another site that may read it. */
export interface OpenedStream {
  readonly body: Readable
  readonly origin: string | null
}

export type StreamDoor = (request: IncomingMessage) => Promise<OpenedStream>

export function addStreamRoute(app: FastifyInstance, path: string, open: StreamDoor): void {
  const url = routePath(path)
  app.get(url, {
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const { body, origin } = await open(request.raw)
      if (origin !== null) reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' })
      return reply.headers(EVENT_STREAM_HEADERS).send(body)
    },
  })
  refuseRest(app, url, new Set(['GET']))
}
