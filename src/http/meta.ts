/** The addresses about the server itself: health, readiness, metrics, and its description. */
import { existsSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../api/contract.ts'
import { Refusal } from '../core/errors.ts'
import { writeJson } from '../core/json/json.ts'
import { docsPage } from './docs.ts'
import { refuseRest } from './methods.ts'
import { openApi } from './openapi.ts'
import { sendProblem } from './problem.ts'
import { llmsText, type Page, pagesOf } from './reading-docs.ts'

export interface MetaOptions {
  readonly operations: readonly Operation[]
  readonly version: string
  readonly health: () => Promise<{ ok: boolean; body: object }>
  readonly ready: () => Promise<boolean>
  readonly metrics: () => Promise<{ contentType: string; text: string }>
  /** The folder of written pages, served as Markdown; left out where it does not exist. */
  readonly docs?: string
}

type Answerer = (
  reply: FastifyReply,
  request: FastifyRequest,
) => Promise<FastifyReply> | FastifyReply

const NOT_READY = 'not ready to take requests'

export function addMetaRoutes(app: FastifyInstance, options: MetaOptions): void {
  const { operations, version } = options
  let description: string | undefined
  let page: ReturnType<typeof docsPage> | undefined
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
    '/metrics': async (reply) => {
      const { contentType, text } = await options.metrics()
      return sendText(reply, contentType, text)
    },
    '/openapi.json': (reply) => {
      description ??= JSON.stringify(openApi(operations, version))
      return sendText(reply, 'application/json; charset=utf-8', description)
    },
    '/docs': (reply) => {
      page ??= docsPage(operations, version)
      reply.header('content-security-policy', page.policy)
      return sendText(reply, 'text/html; charset=utf-8', page.html)
    },
  }
  for (const [url, answerer] of Object.entries({ ...routes, ...readingRoutes(options) })) {
    app.get(url, (request, reply) => answerer(reply.header('cache-control', 'no-store'), request))
    refuseRest(app, url, new Set(['GET', 'HEAD']))
  }
}

/** What agents read, made when the first of it is asked for. */
function readingRoutes({ operations, version, docs }: MetaOptions): Record<string, Answerer> {
  const folder = docs !== undefined && existsSync(docs) ? docs : null
  let pages: readonly Page[] | undefined
  const made = () => {
    pages ??= pagesOf(operations, version, folder)
    return pages
  }
  return {
    '/llms.txt': (reply) => sendText(reply, 'text/plain; charset=utf-8', llmsText(made(), version)),
    '/docs/*': (reply, request) => {
      const url = request.url.split('?', 1)[0]
      const page = made().find((each) => each.url === url)
      if (page === undefined)
        throw new Refusal('not_found', 'there is no such page; /llms.txt lists those there are')
      return sendText(reply, 'text/markdown; charset=utf-8', page.text)
    },
  }
}

function sendText(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.header('content-type', type).send(text)
}
