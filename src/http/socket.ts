/**
 * The WebSocket door of a session. It translates only: frames to operations, refusals to error frames.
 * Who gets which message when is the channel's affair.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { readJson, writeJson } from '../../packages/exact-json/src/index.ts'
import { type Actor, type Context, execute, type Operation } from '../api/contract.ts'
import { contextOf } from '../api/shards.ts'
import { inSpan } from '../api/traced.ts'
import { isLoopback } from '../core/calls/address.ts'
import { ERRORS, Refusal } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import type { SessionRef } from '../core/session.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import { requireAgent, sessionOf } from '../features/sessions/ref-operations.ts'
import { getSession } from '../features/sessions/rows.ts'
import { GOODBYE_MS, type Standing, Visitors, type VisitorsOptions } from './address-limits.ts'
import { endWithProblem, requestRefusal } from './problem.ts'
import { requestId } from './reading.ts'
import { EventStream, type OpenedStream } from './stream.ts'

const FRAME_BYTES_MAX = 64 * 1024
const PING_MS = 30_000
/** Frames taken and not answered yet; beyond this the client is not read from until half are. */
const FRAMES_WAITING_MAX = 64
const PATH = /^\/v1\/sessions\/([^/]+)\/(socket|stream)$/

/** What is sent to a corked stream leaves together. */
type Corks = { cork(): void; uncork(): void }

type Connection = (WebSocket & Corks) | EventStream

/** The channel, as this door sees it. */
export interface SocketHub {
  join(
    session: SessionRef,
    wire: Connection,
    options: {
      acks: boolean
      watch: boolean
      eventsAfter: number | null
      doneSeq: number
      /** A position: all later messages are for it. */
      seenUpTo: number | null
    },
  ): () => void
  /** False when the id is no message of this session. */
  acknowledge(session: SessionRef, id: string): Promise<boolean>
  /** Null when the id is no message of this session. */
  positionOf(session: SessionRef, id: string): Promise<number | null>
  /** The same for a message that waits here for it, without looking it up; null for any other. */
  acknowledgeOpen?(session: SessionRef, id: string): Promise<boolean> | null
}

export interface SocketOptions {
  readonly hub: SocketHub
  readonly postMessage: Operation
  readonly authenticate: (request: IncomingMessage, query: URLSearchParams) => Promise<Standing>
  /** Throws a Refusal for a Host or Origin that is not allowed; `local`: we listen on loopback. */
  readonly check: (request: IncomingMessage, local: boolean) => void
  /** How it is known whether the credentials that opened a socket still stand. */
  readonly visitors: Omit<VisitorsOptions, 'onError'>
  /** Throws a Refusal for an actor that asks too much. */
  readonly limit?: (actor: Actor) => void
  readonly context: (actor: Actor) => Context
  readonly onError: (error: unknown) => void
  readonly tracer?: Tracer
}

export interface SocketDoor {
  /** Answers an upgrade; `local`: only callers on this machine are let in. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, local: boolean): void
  /** Opens the stream of a session, for reading alone. */
  stream(request: IncomingMessage, local: boolean): Promise<OpenedStream>
  /** Closes the sockets and streams of these keys; null: looks whose credentials still stand. */
  dismiss(keyIds: readonly string[] | null): void
  close(): void
}

interface Visit {
  readonly standing: Standing
  readonly session: SessionRef
  readonly ctx: Context
  readonly acks: boolean
  /** Receives frames without marking anything as attempted or delivered. */
  readonly watch: boolean
  readonly events: boolean
}

/** Sockets at `/v1/sessions/{key}/socket`, and streams at `…/stream`. */
export function openSockets(options: SocketOptions): SocketDoor {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    clientTracking: true,
  })
  const alive = new WeakSet<WebSocket>()
  const streams = new Set<EventStream>()
  const visitors = new Visitors({ ...options.visitors, onError: options.onError })
  const pinging = setInterval(() => {
    for (const socket of sockets.clients) {
      if (!alive.delete(socket)) socket.terminate()
      else socket.ping()
    }
  }, PING_MS).unref()

  const upgrade: SocketDoor['upgrade'] = (request, stream, head, local) => {
    // A client that leaves before it is authenticated is no error.
    stream.on('error', () => stream.destroy())
    admit('socket', request, options, local)
      .then((visit) => {
        sockets.handleUpgrade(request, stream, head, (socket) => {
          alive.add(socket)
          visitors.add(socket, visit.standing)
          socket.on('pong', () => alive.add(socket))
          const wire = Object.assign(socket, {
            cork: () => stream.cork(),
            uncork: () => stream.uncork(),
          })
          serve(wire, visit, { ...options, isGone: () => visitors.wasDismissed(socket) })
        })
      })
      .catch((error) => {
        const refusal = requestRefusal(error)
        if (refusal.code === 'internal') options.onError(error)
        endWithProblem(stream, refusal, requestId(request))
      })
  }
  const stream: SocketDoor['stream'] = async (request, local) => {
    const visit = await admit('stream', request, options, local)
    const head = await headOf(visit.ctx, visit.session)
    const seenUpTo = await options.hub.positionOf(visit.session, lastEventId(request))
    const opened = new EventStream()
    streams.add(opened)
    visitors.add(opened, visit.standing)
    const leave = greet(opened, visit, head, options, seenUpTo)
    opened.on('close', () => {
      streams.delete(opened)
      leave()
    })
    return { body: opened.body, origin: request.headers.origin ?? null }
  }
  return {
    upgrade,
    stream,
    dismiss: (keyIds) => visitors.dismiss(keyIds),
    close() {
      clearInterval(pinging)
      visitors.close()
      for (const socket of sockets.clients) socket.close(1001, 'the server is going away')
      for (const opened of streams) opened.close(1001)
      sockets.close()
      // So that a stop is not held up.
      setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate()
      }, GOODBYE_MS).unref()
    },
  }
}

/** Browsers can reach a loopback address with anybody's page; beyond it keys are required. */
export function isLocal(server: Server): boolean {
  const bound = server.address()
  return bound === null || typeof bound === 'string' || isLoopback(bound.address)
}

async function admit(
  kind: 'socket' | 'stream',
  request: IncomingMessage,
  options: SocketOptions,
  local: boolean,
): Promise<Visit> {
  options.check(request, local)
  const url = addressOf(request)
  const [, key, found] = PATH.exec(url.pathname) ?? []
  if (key === undefined || found !== kind)
    throw new Refusal('not_found', `there is no ${kind} at this address`)
  const standing = await options.authenticate(request, url.searchParams)
  const ctx = options.context(standing.actor)
  const { roles } = options.postMessage
  if (roles !== 'public' && !roles.includes(ctx.actor.role))
    throw new Refusal('forbidden', `a session's ${kind} is for ${roles.join(', ')}`)
  const watch = option(url, 'watch', '1') !== null
  const { role } = ctx.actor
  if (watch && role !== 'admin' && role !== 'service')
    throw new Refusal('forbidden', `watching is for admin, service; these credentials are ${role}`)
  const session = sessionOf(ctx.actor, decode(key))
  requireAgent(ctx, session)
  return {
    standing,
    session,
    ctx,
    acks: option(url, 'ack', 'none') === null || watch,
    watch,
    events: option(url, 'events', '1') !== null,
  }
}

function addressOf(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? '', 'http://local')
  } catch {
    throw new Refusal('malformed', 'the address cannot be read')
  }
}

/** A query field that is either left out or has its one value. */
function option(url: URL, name: string, value: string): string | null {
  const given = url.searchParams.get(name)
  if (given === null || given === value) return given
  throw new Refusal('shape', `query.${name}: takes only "${value}"`)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function lastEventId({ headers }: IncomingMessage): string {
  return String(headers['last-event-id'] ?? '')
}

/** `isGone`: it was sent away, and what it had said and was not answered yet is not taken any more. */
type Serving = SocketOptions & { readonly isGone: () => boolean }

/** From the shard of its person. */
async function headOf(ctx: Context, session: SessionRef) {
  return getSession(contextOf(ctx, session.userId).db, session)
}

/** Says how far the session is, and serves it from there. Returns what ends that. */
function greet(
  wire: Connection,
  { session, acks, watch, events }: Visit,
  head: Awaited<ReturnType<typeof headOf>>,
  { hub }: SocketOptions,
  seenUpTo: number | null = null,
): () => void {
  const last_seq = head?.last_seq ?? 0
  wire.send(writeJson({ type: 'ready', session_key: session.key, last_seq }))
  const eventsAfter = events ? last_seq : null
  const doneSeq = head?.done_seq ?? 0
  return hub.join(session, wire, { acks, watch, eventsAfter, doneSeq, seenUpTo })
}

function serve(socket: WebSocket & Corks, visit: Visit, options: Serving): void {
  const { session, ctx } = visit
  let leave: (() => void) | null = null
  let closed = false
  // One frame after the other: two messages sent in a row stay in that order.
  let turn: Promise<void> = headOf(ctx, session)
    .then((found) => {
      if (!closed) leave = greet(socket, visit, found, options)
    })
    .catch((error) => {
      options.onError(error)
      socket.close(1013, 'temporarily unavailable')
    })
  let waiting = 0
  socket.on('message', (data, isBinary) => {
    const id = waiting > 0 || isBinary || visit.watch ? undefined : ACK.exec(String(data))?.[1]
    if (id !== undefined && !options.isGone()) {
      const written = options.hub.acknowledgeOpen?.(session, id) ?? null
      if (written !== null) {
        const told = written.then(undefined, (error) => refuseFrame(socket, options, error))
        // A pong says that what was acknowledged before it is written.
        turn = turn.then(() => told).then(() => undefined)
        return
      }
    }
    if (++waiting >= FRAMES_WAITING_MAX) socket.pause()
    turn = turn
      .then(() => answer(socket, visit, options, isBinary ? null : String(data)))
      .then(() => {
        if (--waiting <= FRAMES_WAITING_MAX / 2 && socket.isPaused) socket.resume()
      })
  })
  socket.on('error', (error) => {
    if (!isClients(error)) options.onError(error)
  })
  socket.on('close', () => {
    closed = true
    leave?.()
  })
}

/** Frames that break the protocol (they are closed with the code that says so) and connections that break. */
function isClients(error: Error & { code?: unknown }): boolean {
  return /^(WS_ERR_|ECONNRESET$|EPIPE$)/.test(String(error.code))
}

async function answer(
  socket: WebSocket,
  visit: Visit,
  options: Serving,
  text: string | null,
): Promise<void> {
  if (options.isGone()) return
  try {
    await take(socket, visit, options, text)
  } catch (error) {
    refuseFrame(socket, options, error)
  }
}

function refuseFrame(socket: WebSocket, { onError }: SocketOptions, error: unknown): void {
  const refusal = requestRefusal(error)
  if (refusal.code === 'internal') onError(error)
  const { title } = ERRORS[refusal.code]
  if (socket.readyState === socket.OPEN)
    socket.send(writeJson({ type: 'error', title, errors: refusal.errors }))
}

/** As our own clients write it; any other form is read as a frame. */
const ACK = /^\{"type":"ack","id":"([0-9a-f-]{36})"\}$/

const FRAMES =
  'a frame is {"type":"user_message","text":…,"id"?:…}, {"type":"ack","id":…} or {"type":"ping"}'

async function take(
  socket: WebSocket,
  visit: Visit,
  options: SocketOptions,
  text: string | null,
): Promise<void> {
  if (text === null) throw new Refusal('shape', `binary frames are not accepted: ${FRAMES}`)
  const frame = readJson(text)
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame))
    throw new Refusal('shape', FRAMES)
  const { type, ...body } = frame as Record<string, unknown>
  if (type === 'ping') {
    if (Object.keys(body).length > 0) throw new Refusal('shape', `ping: takes no fields: ${FRAMES}`)
    socket.send('{"type":"pong"}')
  } else if (visit.watch && (type === 'ack' || type === 'user_message')) {
    throw new Refusal('forbidden', `${type}: this socket only watches; open one without ?watch=1`)
  } else if (type === 'user_message') {
    options.limit?.(visit.ctx.actor)
    const { ctx, session } = visit
    const raw = { params: { session_key: session.key }, query: {}, body }
    const op = options.postMessage
    await inSpan(options.tracer ?? UNTRACED, op, ctx, (inner) => execute(op, inner, raw))
  } else if (type === 'ack') {
    if (typeof body.id !== 'string' || !isUuid(body.id) || Object.keys(body).length !== 1)
      throw new Refusal('shape', `ack: takes the id of a message: ${FRAMES}`)
    if (!(await options.hub.acknowledge(visit.session, body.id)))
      throw new Refusal('not_found', `ack: no message ${body.id} in this session`)
  } else {
    throw new Refusal('shape', `unknown type: ${FRAMES}`)
  }
}
