/** One operation as a Fastify handler: read, make a context, check, run, answer. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { writeJson } from '../../packages/exact-json/src/index.ts'
import { type Answer, type Context, NOBODY, type Operation, prepare } from '../api/contract.ts'
import { type IdempotencyStore, onceByKey, REQUEST_KEY } from '../api/once.ts'
import { perform } from '../api/perform.ts'
import { Refusal } from '../core/errors.ts'
import { readBody } from './reading.ts'
import type { Caller } from './server.ts'

/** The key of a request, or undefined for none. Node joins repeated headers, so the raw ones count. */
function readKey(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'idempotency-key') continue
    const key = unquote(rawHeaders[index + 1] ?? '')
    if (found !== undefined && found !== key) {
      throw new Refusal('malformed', 'Idempotency-Key: given twice with different values')
    }
    found = key
  }
  if (found === undefined || found === '') return undefined
  if (!REQUEST_KEY.test(found)) {
    throw new Refusal('malformed', 'Idempotency-Key: takes 2 to 255 visible ASCII characters')
  }
  return found
}

/** RFC 8941 writes strings in quotes; one pair of them is not part of the key. */
function unquote(value: string): string {
  const text = value.trim()
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

const JSON_TYPE = 'application/json; charset=utf-8'

export function operationHandler(
  context: (caller: Caller) => Promise<Context> | Context,
  store: IdempotencyStore,
): (op: Operation) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const runOnce = onceByKey(store)
  return (op) => {
    const opaque: ReadonlySet<string> = new Set(op.opaque)
    return async (request, reply) => {
      const raw = {
        params: request.params,
        query: request.query,
        body: readBody(request.body, request.headers, opaque),
      }
      const input = prepare(op, request.actor ?? NOBODY, raw)
      const key = op.creates ? readKey(request.raw.rawHeaders) : undefined
      const made = context(new HttpCaller(request, reply))
      const ctx = made instanceof Promise ? await made : made
      if (key === undefined) return send(op, await perform(op, ctx, input), reply)
      const { method, url } = request
      const path = url.split('?', 1)[0] ?? url
      const answer = await runOnce(op, ctx, input, { key, method, path, body: raw.body })
      return send(op, answer, reply)
    }
  }
}

function send(op: Operation, answer: Answer, reply: FastifyReply): FastifyReply {
  reply.code(answer.status ?? op.status)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  if (answer.body === null || answer.body === undefined) return reply.send()
  return reply.header('content-type', JSON_TYPE).send(writeJson(answer.body))
}

export class HttpCaller implements Caller {
  private readonly request: FastifyRequest
  private readonly reply: FastifyReply
  private leaving: AbortSignal | undefined

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.request = request
    this.reply = reply
  }

  get actor() {
    return this.request.actor ?? NOBODY
  }

  get requestId() {
    return this.request.id
  }

  get headers() {
    return this.request.headers
  }

  /** Only operations' routes have a span; files are handed out by one that has none. */
  get traceparent() {
    const { span } = this.request as Partial<FastifyRequest>
    return span?.traceparent ?? null
  }

  /**
   * Made when first asked for: few operations wait for anything. Fastify's own signal aborts as soon as the body is read; only the response tells who left.
   */
  get signal(): AbortSignal {
    if (this.leaving !== undefined) return this.leaving
    const controller = new AbortController()
    const response = this.reply.raw
    response.once('close', () => {
      if (!response.writableFinished) controller.abort()
    })
    this.leaving = controller.signal
    return this.leaving
  }
}
