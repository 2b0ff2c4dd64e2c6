/** Wakeful inside another server: its routes and sockets below a path of that server. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import type { InjectOptions } from 'fastify'
import { Refusal } from '../core/errors.ts'
import { PROBLEM_TYPE, problemOf } from '../http/problem.ts'
import type { App } from './app.ts'
import type { Served } from './listen.ts'

export interface Mount {
  /** For Node's `http`, Express and Connect. Calls `next` for paths that are not below the base path. */
  handler(request: IncomingMessage, response: ServerResponse, next?: () => void): void
  /** For servers of web-standard requests (Hono, Next.js, Bun, Deno). It serves everything but sockets. */
  fetch(request: Request): Promise<Response>
  /** For a server's `upgrade` event. False: the path is not below the base path, so the socket is left alone. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
}

/** Channels take the largest bodies; each route has its own, smaller limit. */
const BODY_BYTES_MAX = 5 * 1024 * 1024
const BASE_PATH = /^(?:\/[\w.~-]+)+$/
const NO_BODY = new Set([204, 205, 304])

export interface Place {
  /** Empty: all paths. */
  readonly basePath: string
  readonly isProduction: boolean
}

export function checkBasePath(basePath: string): void {
  if (basePath !== '' && !BASE_PATH.test(basePath))
    throw new TypeError(
      `basePath: got ${JSON.stringify(basePath)}, takes a path such as "/wakeful", without a slash at its end`,
    )
}

export function mount(
  { server, sockets }: Served,
  app: App,
  { basePath, isProduction }: Place,
): Mount {
  const isOpen = app.config.auth === 'open'
  const ready = server.ready()
  const route = async (request: IncomingMessage, response: ServerResponse) => {
    await ready
    server.routing(request, response)
  }
  return {
    handler(request, response, next) {
      const path = below(basePath, fullUrl(request))
      if (path === null && next !== undefined) return next()
      if (path === '') return redirect(response, `${basePath}/`)
      if (wasRead(request)) return void sendProblem(response, READ_BEFORE)
      request.url = path ?? '/not-found'
      route(request, response).catch((error) => response.destroy(error))
    },
    async fetch(request) {
      await ready
      const { pathname, search } = new URL(request.url)
      const path = below(basePath, `${pathname}${search}`)
      if (path === '')
        return new Response(null, { status: 308, headers: { location: `${basePath}/` } })
      if (isOpen && isProduction) return problemResponse(OPEN_FETCH)
      const payload = await bodyOf(request)
      if (payload === null)
        return problemResponse(new Refusal('too_large', 'the body is too large'))
      const answer = await server.inject({
        method: request.method as NonNullable<InjectOptions['method']>,
        url: path ?? '/not-found',
        headers: Object.fromEntries(request.headers),
        payloadAsStream: true,
        ...(payload.length > 0 ? { payload } : {}),
      })
      const headers = new Headers()
      for (const [name, value] of Object.entries(answer.headers))
        for (const each of Array.isArray(value) ? value : [value])
          if (each !== undefined && name !== 'connection' && name !== 'transfer-encoding')
            headers.append(name, String(each))
      const stream = answer.stream()
      // A client that stops reading has left.
      stream.once('close', () => answer.raw.res.destroy())
      request.signal.addEventListener('abort', () => stream.destroy(), { once: true })
      const hasBody = request.method !== 'HEAD' && !NO_BODY.has(answer.statusCode)
      if (!hasBody) stream.resume()
      const body = hasBody ? (Readable.toWeb(stream) as ReadableStream) : null
      return new Response(body, { status: answer.statusCode, headers })
    },
    upgrade(request, socket, head) {
      const path = below(basePath, fullUrl(request))
      if (path === null) return false
      request.url = path
      sockets.upgrade(request, socket, head, isOpen)
      return true
    },
  }
}

/** Express shortens `url` to what lies below a router's path. */
function fullUrl(request: IncomingMessage & { originalUrl?: string }): string {
  return request.originalUrl ?? request.url ?? '/'
}

/** The path below the base path; empty for the base path itself, null for another one. */
function below(basePath: string, url: string): string | null {
  if (basePath === '') return url
  if (!url.startsWith(basePath)) return null
  const rest = url.slice(basePath.length)
  if (rest === '' || rest.startsWith('?')) return ''
  return rest.startsWith('/') ? rest : null
}

/** A body parser of the host has taken the body, so that it would be waited for without end. */
function wasRead(request: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  return request.readableEnded && (encoding !== undefined || length !== '0')
}

const READ_BEFORE = new Refusal(
  'internal',
  'the body was read before Wakeful got it: mount Wakeful before body parsers such as express.json()',
)
const OPEN_FETCH = new Refusal(
  'forbidden',
  'app.fetch cannot see where a request comes from: set WAKEFUL_AUTH=keys in production',
)

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(308, { location }).end()
}

function sendProblem(response: ServerResponse, refusal: Refusal): void {
  const problem = problemOf(refusal, randomUUID())
  response.writeHead(problem.status, { 'content-type': PROBLEM_TYPE }).end(JSON.stringify(problem))
}

function problemResponse(refusal: Refusal): Response {
  const problem = problemOf(refusal, randomUUID())
  const headers = { 'content-type': PROBLEM_TYPE }
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}

/** Null where it is too large for every route. */
async function bodyOf(request: Request): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
