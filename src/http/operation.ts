/** One operation as a Fastify route: whose request it is, read, check, run, answer, and a span around all of it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { writeJson } from '../../packages/exact-json/src/index.ts'
import { type Answer, NOBODY, type Operation, prepare } from '../api/contract.ts'
import { onceByKey, REQUEST_KEY } from '../api/once.ts'
import { perform } from '../api/perform.ts'
import { answered, operationSpan } from '../api/traced.ts'
import { Refusal } from '../core/errors.ts'
import { carry, readTraceContext } from '../core/trace/context.ts'
import { NO_SPAN, UNTRACED } from '../core/trace/trace.ts'
import { routePath } from './methods.ts'
import { readBody } from './reading.ts'
import type { Caller, ServerOptions } from './server.ts'

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

type OperationOptions = Omit<ServerOptions, 'authenticate' | 'limit'> & {
  /** Sets the request's actor, or refuses it. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
}

/** The routes of operations. Where nothing has to be waited for before an operation runs, no promise is made either. */
export function operationRoutes(options: OperationOptions): (op: Operation) => RouteOptions {
  const { context, admit, limitStrangers, tracer = UNTRACED, onAnswer } = options
  const runOnce = onceByKey(options.idempotency)
  const meetStranger = ({ ip }: FastifyRequest): undefined => {
    const refusal = limitStrangers?.(ip)
    if (refusal) throw refusal
  }
  return (op) => {
    const opaque: ReadonlySet<string> = new Set(op.opaque)
    const run = (request: FastifyRequest, reply: FastifyReply) => {
      const actor = request.actor ?? NOBODY
      const body = readBody(request.body, request.headers, opaque)
      const { method, params, query, url } = request
      const input = prepare(op, actor, { params, query, body })
      const key = op.creates ? readKey(request.raw.rawHeaders) : undefined
      const ctx = context(callerOf(request, reply))
      const running =
        key === undefined
          ? perform(op, ctx, input)
          : runOnce(op, ctx, input, { key, method, path: url.split('?', 1)[0] ?? url, body })
      running.then((answer) => send(op, answer, reply)).catch((error) => reply.send(error))
    }
    return {
      method: op.method,
      url: routePath(op.path),
      // Before the body is read, so that strangers cannot make us read 256 KiB.
      onRequest(request, reply, done) {
        request.span = operationSpan(tracer, op, request.id, incoming(request.headers))
        let waited: void | Promise<void>
        try {
          waited = op.roles === 'public' ? meetStranger(request) : admit(request, reply)
        } catch (error) {
          return done(error as Error)
        }
        if (waited === undefined) done()
        else waited.then(() => done(), done)
      },
      handler(request, reply) {
        const { span } = request
        if (span === NO_SPAN) run(request, reply)
        else span.run(() => run(request, reply))
      },
      onResponse(request, reply, done) {
        const { span, actor } = request
        if (tracer.on) {
          if (actor !== null) span.set({ 'wakeful.actor.role': actor.role })
          answered(span, reply.statusCode)
        }
        onAnswer?.(op.name, reply.statusCode, reply.elapsedTime)
        done()
      },
    }
  }
}

function send(op: Operation, answer: Answer, reply: FastifyReply): void {
  reply.code(answer.status ?? op.status)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  if (answer.body === null || answer.body === undefined) reply.send()
  else reply.header('content-type', JSON_TYPE).send(writeJson(answer.body))
}

/** Only operations' routes have a span; files are handed out by one that has none. */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  let leaving: AbortSignal | undefined
  return {
    actor: request.actor ?? NOBODY,
    requestId: request.id,
    headers: request.headers,
    traceparent: (request as Partial<FastifyRequest>).span?.traceparent ?? null,
    get signal() {
      leaving ??= leavingOf(reply)
      return leaving
    },
  }
}

/** Fastify's own signal aborts as soon as the body is read; only the response tells who left. */
function leavingOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}

/** The caller's trace. One that breaks the rules counts as none; two headers reach us joined, which breaks them. */
export function incoming(headers: IncomingHttpHeaders): string | null {
  if (headers.traceparent === undefined) return null
  const state = headers.tracestate
  const context = readTraceContext(
    String(headers.traceparent),
    state === undefined ? null : String(state),
  )
  return context === null ? null : carry(context)
}
