/** The addresses about the server itself: health, readiness, metrics, and its description. */
import { createReadStream, existsSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { writeJson } from '../../packages/exact-json/src/index.ts'
import type { Operation } from '../api/contract.ts'
import { Refusal } from '../core/errors.ts'
import type { Site } from './docs-site.ts'
import { refuseRest } from './methods.ts'
import { openApi } from './openapi.ts'
import { sendProblem } from './problem.ts'
import { llmsText, pagesOf, picturesOf } from './reading-docs.ts'

export interface MetaOptions {
  readonly operations: readonly Operation[]
  readonly version: string
  readonly health: () => Promise<{ ok: boolean; body: object }>
  readonly ready: () => Promise<boolean>
  readonly metrics: () => Promise<{ contentType: string; text: string }>
  /** Whether `/metrics` wants a key of role admin or service. */
  readonly metricsAuth?: 'open' | 'keys'
  /** The folder of written pages, served as a site and as Markdown; left out where it does not exist. */
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
      description ??= JSON.stringify(openApi(operations, version))
      return sendText(reply, 'application/json; charset=utf-8', description)
    },
  }
  for (const [url, answerer] of Object.entries({ ...routes, ...readingRoutes(options) })) {
    app.get(url, (request, reply) => answerer(reply.header('cache-control', 'no-store'), request))
    refuseRest(app, url, new Set(['GET', 'HEAD']))
  }
}

interface Docs {
  readonly site: Site
  readonly policy: string
  readonly llms: string
  /** By their addresses. */
  readonly markdown: ReadonlyMap<string, string>
  readonly pictures: ReadonlyMap<string, string>
}

/** Loaded when the first of it is asked for. */
async function readDocs({ operations, version, docs }: MetaOptions): Promise<Docs> {
  const folder = docs !== undefined && existsSync(docs) ? docs : null
  const pages = pagesOf(operations, version, folder)
  const { openSite, SITE_POLICY } = await import('./docs-site.ts')
  return {
    site: openSite(pages, { version }),
    policy: SITE_POLICY,
    llms: llmsText(pages, version),
    markdown: new Map(pages.map(({ url, text }) => [url, text])),
    pictures: picturesOf(folder),
  }
}

function readingRoutes(options: MetaOptions): Record<string, Answerer> {
  let read: Promise<Docs> | undefined
  const docs = () => {
    read ??= readDocs(options)
    return read
  }
  const sendPage = (reply: FastifyReply, { policy }: Docs, html: string) =>
    sendText(reply.header('content-security-policy', policy), 'text/html; charset=utf-8', html)
  return {
    '/llms.txt': async (reply) => sendText(reply, 'text/plain; charset=utf-8', (await docs()).llms),
    '/docs': async (reply) => {
      const known = await docs()
      return sendPage(reply, known, known.site.page('index.html', 'docs/') ?? '')
    },
    '/docs/*': async (reply, request) => {
      const known = await docs()
      const url = request.url.split('?', 1)[0] ?? ''
      const markdown = known.markdown.get(url)
      if (markdown !== undefined) return sendText(reply, 'text/markdown; charset=utf-8', markdown)
      const picture = known.pictures.get(url)
      if (picture !== undefined) return reply.type('image/png').send(createReadStream(picture))
      const page = known.site.page(url.slice('/docs/'.length) || 'index.html')
      if (page !== null) return sendPage(reply, known, page)
      throw new Refusal('not_found', 'there is no such page; /llms.txt lists those there are')
    },
  }
}

function sendText(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.header('content-type', type).send(text)
}
