/** A span for each request to an operation, from its headers to its last byte, whatever it came to. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../api/contract.ts'
import { answered, operationSpan } from '../api/traced.ts'
import { carry, readTraceContext } from '../core/trace/context.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'

export interface SpanHooks {
  readonly tracer?: Tracer
  readonly onAnswer?: (operation: string, status: number, ms: number) => void
}

/** `begin` comes before authentication, so that strangers who are refused are seen, too. */
export function operationHooks(op: Operation, { tracer = UNTRACED, onAnswer }: SpanHooks) {
  return {
    begin(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
      request.span = operationSpan(tracer, op, request.id, incoming(request.headers))
      done()
    },
    end(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
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
