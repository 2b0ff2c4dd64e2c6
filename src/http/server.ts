/**
 * The HTTP door: every operation of the table becomes a route. It translates only: bytes to input,
 * answers to JSON, whatever is thrown to a problem. What can be known per operation is worked out
 * once, at start.
 */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import fastifyStatic from '@fastify/static'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Actor, Context, Operation } from '../api/contract.ts'
import type { IdempotencyStore } from '../api/once.ts'
import { isLoopback, plainAddress, type Trusts } from '../core/calls/address.ts'
import { Refusal } from '../core/errors.ts'
import type { Span, Tracer } from '../core/trace/trace.ts'
import type { FileKeeper } from '../files/keeper.ts'
import { CHANGES_PATH } from './changes.ts'
import { addChannelRoute, type ChannelDoor, HOOK_PATH } from './channels.ts'
import { addFileRoute } from './files.ts'
import { checkLocal } from './guard.ts'
import type { Limited } from './limits.ts'
import { addMcpRoute, type McpAnswerer } from './mcp.ts'
import { addMetaRoutes, type MetaOptions } from './meta.ts'
import { refuseOtherMethods } from './methods.ts'
import { addOauthRoutes, type OauthResource } from './oauth.ts'
import { operationRoutes } from './operation.ts'
import { endWithProblem, requestRefusal, sendProblem } from './problem.ts'
import { BODY_BYTES_MAX, checkUrl, parseQuery, type Query, requestId } from './reading.ts'
import { addStreamRoute, SESSION_STREAM_PATH, type StreamDoor } from './stream.ts'

function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal('too_large', 'the headers are too large')
      : new Refusal('malformed', 'this is not HTTP')
  endWithProblem(socket, refusal, randomUUID())
}

const PARAM_CHARACTERS_MAX = 2048
/** A client gets this long to send its whole request, and a second more: Node looks at its connections only so often. */
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 1_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on operations' routes before the body is read; null elsewhere and on public ones. */
    actor: Actor | null
    /** On operations' routes: what traces this request. */
    span: Span
  }
}

/** What the door knows of a request when a context is made for it. */
export interface Caller {
  readonly actor: Actor
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  /** The trace this request belongs to. */
  readonly traceparent?: string | null
  /** Aborted when the client went away before its answer. Read it lazily: reading it makes it. */
  readonly signal: AbortSignal
}

export interface ServerOptions extends MetaOptions {
  readonly operations: readonly Operation[]
  readonly context: (caller: Caller) => Context
  /** `address` is where the request came from. */
  readonly authenticate: (
    headers: IncomingHttpHeaders,
    query: Query,
    address: string,
  ) => Actor | Promise<Actor>
  /** How much this actor may still ask; null where nobody counts. */
  readonly limit?: (actor: Actor) => Limited | null
  /** Before an operation that needs no key: the refusal of an address that asks too much. */
  readonly limitStrangers?: (address: string) => Refusal | null
  /** Which proxies are trusted to name a request's address; none by default. */
  readonly trusts?: Trusts
  readonly logger: Logger
  readonly idempotency: IdempotencyStore
  /** Answers `POST /mcp`; there is no such address without it. */
  readonly mcp?: McpAnswerer
  /** Whose tokens are taken beside keys; clients are told so. */
  readonly oauth?: OauthResource
  /** Answers vendors that post what people wrote; there is no such address without it. */
  readonly channels?: ChannelDoor
  /** Answers servers that post signed events; there is no such address without it. */
  readonly hooks?: ChannelDoor
  readonly tracer?: Tracer
  /** Told of each answer of an operation. */
  readonly onAnswer?: (operation: string, status: number, ms: number) => void
  /** Opens a stream of changes; there is no such address without it. */
  readonly changes?: StreamDoor
  /** Where files of runs are kept. */
  readonly files?: FileKeeper
  /** Opens the stream of a session; there is no such address without it. */
  readonly stream?: StreamDoor
  /** Static files for `/`; left out where the directory does not exist. */
  readonly console?: string
  /** Whether to refuse foreign Hosts and Origins. Default: when the bound address is loopback. */
  readonly loopback?: boolean
}

/** Not yet listening: other doors (WebSocket, MCP) can be registered on it before. */
export function createServer(options: ServerOptions): FastifyInstance {
  const app: FastifyInstance = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The request id is in each log line that needs it, so no request needs a child logger.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    genReqId: requestId,
    // A function also for a number of proxies: of a mere number Fastify trusts none.
    trustProxy: options.trusts ?? false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Node's own are a minute for headers, and a look at the connections every 30 s.
    http: { headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_CHARACTERS_MAX, querystringParser: parseQuery },
    frameworkErrors: (error, request, reply) => {
      stamp(request as FastifyRequest, reply as FastifyReply)
      sendError(error, request as FastifyRequest, reply as FastifyReply)
    },
    clientErrorHandler: answerClientError,
  })
  app.decorateRequest('actor', null)
  app.decorateRequest('span')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler(sendError)
  const hasConsole = options.console !== undefined && existsSync(options.console)
  app.setNotFoundHandler((request, reply) => {
    if (hasConsole && isTyped(request)) return reply.redirect(`/#${pathOf(request)}`)
    throw new Refusal('not_found', 'there is nothing at this address')
  })
  addGuards(app, options)
  if (options.oauth !== undefined) addOauthRoutes(app, options.oauth)
  const admit = authenticator(options)
  const admitLater = async (request: FastifyRequest, reply: FastifyReply) => admit(request, reply)
  const { context, files, mcp } = options
  const routeOf = operationRoutes({ ...options, admit })
  for (const op of options.operations) app.route(routeOf(op))
  if (mcp !== undefined) addMcpRoute(app, mcp, admitLater)
  addMetaRoutes(app, options, admitLater)
  if (options.stream !== undefined) addStreamRoute(app, SESSION_STREAM_PATH, options.stream)
  if (options.changes !== undefined) addStreamRoute(app, CHANGES_PATH, options.changes)
  if (files !== undefined) addFileRoute(app, { files, authenticate: admitLater, context })
  const limitStrangers = (address: string) => options.limitStrangers?.(address) ?? null
  if (options.channels !== undefined)
    addChannelRoute(app, 'channels', options.channels, limitStrangers)
  if (options.hooks !== undefined) addChannelRoute(app, 'hooks', options.hooks, limitStrangers)
  const besides = options.hooks === undefined ? [] : [{ method: 'POST' as const, path: HOOK_PATH }]
  refuseOtherMethods(app, [...options.operations, ...besides])
  if (hasConsole) {
    app.register(fastifyStatic, {
      root: options.console,
      wildcard: false,
      globIgnore: ['**/*.br', '**/*.gz'],
      preCompressed: true,
      cacheControl: false,
      // The names of assets hold a hash of what is in them.
      setHeaders(response, path) {
        const kept = path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
        response.setHeader('cache-control', kept)
        response.setHeader('vary', 'accept-encoding')
      },
    })
  }
  return app
}

const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? '/'

/** Typed by a person into a browser: the console's own pages stand behind `#`. What belongs to programs is answered to them. */
function isTyped(request: FastifyRequest): boolean {
  const { method, headers } = request
  const reads = method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')
  return reads && !/^\/(?:v1|mcp|docs|assets)(?:\/|$)|\.\w+$/.test(pathOf(request))
}

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
}

function stamp(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(HEADERS)
  reply.header('x-request-id', request.id)
}

/** A string is the path of a Unix socket, which no browser reaches. */
function isLocalAddress(bound: AddressInfo | string): boolean {
  return typeof bound === 'string' || isLoopback(bound.address)
}

function addGuards(app: FastifyInstance, options: ServerOptions): void {
  // Until it listens (injected requests) the stricter rule holds.
  let local = options.loopback ?? true
  // A server of our own on loopback has no other callers.
  const mounted = options.loopback === true
  app.addHook('onListen', (done) => {
    local = options.loopback ?? app.addresses().every(isLocalAddress)
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    stamp(request, reply)
    try {
      if (local) checkLocal(request.headers, mounted ? request.socket.remoteAddress : undefined)
      checkUrl(request.raw.url ?? '', request.query)
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  })
  const { logger } = options
  app.addHook('onResponse', (request, reply, done) => {
    if (logger.isLevelEnabled('debug')) {
      const { id: request_id, method, ip } = request
      const ended = { status: reply.statusCode, ms: Math.round(reply.elapsedTime) }
      const asked = { request_id, address: plainAddress(ip), method, path: pathOf(request) }
      logger.debug({ ...asked, ...ended }, 'request')
    }
    done()
  })
}

/** Who is it, and may they ask again so soon? At once for a key that is known. */
function authenticator({ authenticate, limit }: ServerOptions) {
  const admitted = (request: FastifyRequest, reply: FastifyReply, actor: Actor) => {
    request.actor = actor
    const limited = limit?.(actor) ?? null
    if (limited === null) return
    reply.headers(limited.headers)
    if (limited.refusal !== null) throw limited.refusal
  }
  return (request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    const found = authenticate(request.headers, request.query as Query, request.ip)
    if (!(found instanceof Promise)) return admitted(request, reply, found)
    return found.then((actor) => admitted(request, reply, actor))
  }
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = requestRefusal(error)
  const { id, method, routeOptions } = request
  const seen = { request_id: id, method, route: routeOptions.url }
  const { cause, message } = refusal
  if (refusal.code === 'internal')
    request.log.error({ ...seen, err: cause ?? refusal }, 'request failed')
  // What we refuse by ourselves while we start says all in its words.
  else if (refusal.code === 'unavailable')
    request.log.warn(
      { ...seen, ...(cause === undefined ? { why: message } : { err: cause }) },
      'request could not be served',
    )
  sendProblem(refusal, request.id, reply)
}
