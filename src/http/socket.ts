/**
 * The WebSocket door of a session. It translates only: frames to operations, refusals to error frames.
 * Who gets which message when is the channel's affair.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Actor, type Context, execute, type Operation } from '../api/contract.ts'
import { requireAgent, sessionOf } from '../api/session-ref.ts'
import { ERRORS, Refusal } from '../core/errors.ts'
import { readJson, writeJson } from '../core/json.ts'
import type { SessionRef } from '../core/session.ts'
import { getSession } from '../store/sessions.ts'
import { PROBLEM_TYPE, problemOf, refusalOf } from './problem.ts'

const FRAME_BYTES_MAX = 64 * 1024
const PING_MS = 30_000
const PATH = /^\/v1\/sessions\/([^/]+)\/socket$/

/** The channel, as this door sees it. */
export interface SocketHub {
  join(
    session: SessionRef,
    wire: WebSocket,
    options: { acks: boolean; eventsAfter: number | null },
  ): () => void
  acknowledge(session: SessionRef, id: string): Promise<boolean>
}

export interface SocketOptions {
  readonly hub: SocketHub
  readonly postMessage: Operation
  readonly authenticate: (request: IncomingMessage, query: URLSearchParams) => Promise<Actor>
  /** Throws a Refusal for a Host or Origin that may not come in. */
  readonly check: (request: IncomingMessage) => void
  readonly context: (actor: Actor) => Context
  readonly onError: (error: unknown) => void
}

export interface SocketDoor {
  close(): void
}

interface Visit {
  readonly session: SessionRef
  readonly ctx: Context
  readonly acks: boolean
  readonly events: boolean
}

/** Takes over upgrades of `server` for `/v1/sessions/{key}/socket`. */
export function openSockets(server: Server, options: SocketOptions): SocketDoor {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: true,
  })
  const alive = new WeakSet<WebSocket>()
  const pinging = setInterval(() => {
    for (const socket of sockets.clients) {
      if (!alive.delete(socket)) socket.terminate()
      else socket.ping()
    }
  }, PING_MS).unref()

  server.on('upgrade', (request, stream, head) => {
    stream.on('error', options.onError)
    admit(request, options)
      .then((visit) => {
        sockets.handleUpgrade(request, stream, head, (socket) => {
          alive.add(socket)
          socket.on('pong', () => alive.add(socket))
          serve(socket, visit, options)
        })
      })
      .catch((error) => refuse(stream, error))
  })
  return {
    close() {
      clearInterval(pinging)
      for (const socket of sockets.clients) socket.close(1001, 'the server is going away')
      sockets.close()
    },
  }
}

async function admit(request: IncomingMessage, options: SocketOptions): Promise<Visit> {
  options.check(request)
  const url = new URL(request.url ?? '', 'http://local')
  const key = PATH.exec(url.pathname)?.[1]
  if (key === undefined) throw new Refusal('not_found', 'there is no socket at this address')
  const ctx = options.context(await options.authenticate(request, url.searchParams))
  const session = sessionOf(ctx.actor, decode(key))
  requireAgent(ctx, session)
  const ack = url.searchParams.get('ack')
  if (ack !== null && ack !== 'none') throw new Refusal('shape', 'query.ack: takes only "none"')
  return { session, ctx, acks: ack === null, events: url.searchParams.get('events') === '1' }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function refuse(stream: Duplex, error: unknown): void {
  const refusal = refusalOf(error)
  const { status, title } = ERRORS[refusal.code]
  const body = writeJson(problemOf(refusal, 'socket'))
  stream.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function serve(socket: WebSocket, visit: Visit, options: SocketOptions): void {
  const { session, ctx } = visit
  let leave: (() => void) | null = null
  let closed = false
  // One frame after the other: two messages sent in a row stay in that order.
  let turn: Promise<void> = getSession(ctx.db, session)
    .then((found) => {
      if (closed) return
      const last_seq = found?.last_seq ?? 0
      socket.send(writeJson({ type: 'ready', session_key: session.key, last_seq }))
      leave = options.hub.join(session, socket, {
        acks: visit.acks,
        eventsAfter: visit.events ? last_seq : null,
      })
    })
    .catch((error) => {
      options.onError(error)
      socket.close(1013, 'temporarily unavailable')
    })
  socket.on('message', (data, isBinary) => {
    turn = turn.then(() => answer(socket, visit, options, isBinary ? null : String(data)))
  })
  socket.on('error', options.onError)
  socket.on('close', () => {
    closed = true
    leave?.()
  })
}

async function answer(
  socket: WebSocket,
  visit: Visit,
  options: SocketOptions,
  text: string | null,
): Promise<void> {
  try {
    await take(socket, visit, options, text)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal.code === 'internal') options.onError(error)
    const { title } = ERRORS[refusal.code]
    if (socket.readyState === socket.OPEN)
      socket.send(writeJson({ type: 'error', title, errors: refusal.errors }))
  }
}

const FRAMES =
  'a frame is {"type":"user_message","text":…,"id"?:…}, {"type":"ack","id":…} or {"type":"ping"}'

async function take(
  socket: WebSocket,
  visit: Visit,
  options: SocketOptions,
  text: string | null,
): Promise<void> {
  if (text === null) throw new Refusal('shape', `binary frames are not taken: ${FRAMES}`)
  const frame = readJson(text)
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame))
    throw new Refusal('shape', FRAMES)
  const { type, ...body } = frame as Record<string, unknown>
  if (type === 'ping') {
    socket.send('{"type":"pong"}')
  } else if (type === 'user_message') {
    await execute(options.postMessage, visit.ctx, {
      params: { session_key: visit.session.key },
      query: {},
      body,
    })
  } else if (type === 'ack') {
    if (typeof body.id !== 'string' || Object.keys(body).length !== 1)
      throw new Refusal('shape', `ack: takes the id of a message: ${FRAMES}`)
    await options.hub.acknowledge(visit.session, body.id)
  } else {
    throw new Refusal('shape', `unknown type: ${FRAMES}`)
  }
}
