/** The addresses about the server itself: health, readiness, metrics, and its description. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { writeJson } from '../../packages/exact-json/src/index.ts'
import type { Operation } from '../api/contract.ts'
import { Refusal } from '../core/errors.ts'
import { refuseRest } from './methods.ts'
import { type Examples, openApi } from './openapi.ts'
import { sendProblem } from './problem.ts'

export interface MetaOptions {
  readonly operations: readonly Operation[]
  readonly version: string
  readonly health: () => Promise<{ ok: boolean; body: object }>
  readonly ready: () => Promise<boolean>
  readonly metrics: () => Promise<{ contentType: string; text: string }>
  /** Whether `/metrics` wants a key of role admin or service. */
  readonly metricsAuth?: 'open' | 'keys'
  /** The folder of the documentation that the build wrote. */
  readonly docs?: string
}

type Answerer = (
  reply: FastifyReply,
  request: FastifyRequest,
) => Promise<FastifyReply> | FastifyReply

const NOT_READY = 'not ready to take requests'

export function addMetaRoutes(
  app: FastifyInstance,
  options: MetaOptions,
  authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  const { operations, version } = options
  let description: string | undefined
  let told = false
  const routes: Record<string, Answerer> = {
    '/healthz': async (reply) => {
      const { ok, body } = await options.health()
      if (!ok) reply.code(503).header('retry-after', '2')
      return sendText(reply, 'application/json; charset=utf-8', writeJson(body))
    },
    '/readyz': async (reply, request) => {
      const ready = await options.ready()
      // Asked every second while it starts, and every answer is the same: one line is enough.
      if (!ready && !told) request.log.info(NOT_READY)
      told = !ready
      if (!ready) return sendProblem(new Refusal('unavailable', NOT_READY), request.id, reply)
      return sendText(reply, 'application/json; charset=utf-8', '{"status":"ready"}')
    },
    '/metrics': async (reply, request) => {
      if (options.metricsAuth === 'keys') {
        await authenticate(request, reply)
        const role = request.actor?.role ?? ''
        if (role !== 'admin' && role !== 'service')
          throw new Refusal(
            'forbidden',
            `/metrics is for admin, service; these credentials are ${role}`,
          )
      }
      const { contentType, text } = await options.metrics()
      return sendText(reply, contentType, text)
    },
    '/openapi.json': (reply) => {
      description ??= JSON.stringify(openApi(operations, version, examplesIn(options.docs ?? '')))
      return sendText(reply, 'application/json; charset=utf-8', description)
    },
  }
  for (const [url, answerer] of Object.entries({ ...routes, ...docsRoutes(options.docs ?? '') })) {
    app.get(url, (request, reply) => answerer(reply.header('cache-control', 'no-store'), request))
    refuseRest(app, url, new Set(['GET', 'HEAD']))
  }
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  png: 'image/png',
}

/** How a page may be compressed, the end of its name then, and a header that accepts it. A weight of zero is no acceptance. */
const ENCODINGS = [
  ['br', '.br', /\bbr\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i],
  ['gzip', '.gz', /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i],
] as const

/** Written by the build beside the pages. */
function examplesIn(folder: string): Examples {
  const file = join(folder, 'examples.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Examples) : {}
}

/** The documentation, which the build has written; read when the first page is asked for. */
function docsRoutes(folder: string): Record<string, Answerer> {
  let built: { readonly names: ReadonlySet<string>; readonly policy: string } | undefined
  const read = () => {
    const exists = existsSync(folder)
    const names = exists ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
    const first = exists ? readFileSync(join(folder, 'root.html'), 'utf8') : ''
    const style = /<style>([\s\S]*)<\/style>/.exec(first)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`
    return { names: new Set(names.map((name) => name.replaceAll('\\', '/'))), policy }
  }
  const send = (reply: FastifyReply, { headers }: FastifyRequest, name: string) => {
    built ??= read()
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type === undefined || !built.names.has(name))
      throw new Refusal('not_found', 'there is no such page; /llms.txt lists those there are')
    if (name.endsWith('.html')) reply.header('content-security-policy', built.policy)
    const { names } = built
    const accepted = String(headers['accept-encoding'])
    const [encoding, end = ''] =
      ENCODINGS.find(([, end, pattern]) => pattern.test(accepted) && names.has(name + end)) ?? []
    if (encoding !== undefined) reply.header('content-encoding', encoding)
    return reply
      .headers({ 'content-type': type, vary: 'accept-encoding' })
      .send(createReadStream(join(folder, name + end)))
  }
  return {
    '/llms.txt': (reply, request) => send(reply, request, 'llms.txt'),
    '/docs': (reply, request) => send(reply, request, 'root.html'),
    '/docs/*': (reply, request) => {
      const url = request.url.split('?', 1)[0] ?? ''
      return send(reply, request, url.slice('/docs/'.length) || 'index.html')
    },
  }
}

function sendText(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.header('content-type', type).send(text)
}
