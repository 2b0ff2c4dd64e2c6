/** Spans of operations, the same for every door. */
import { ERRORS, Refusal } from '../core/errors.ts'
import { NO_SPAN, type Span, type Tracer } from '../core/trace/trace.ts'
import type { Answer, Context, Operation } from './contract.ts'

export function operationSpan(
  tracer: Tracer,
  op: Operation,
  requestId: string,
  parent: string | null,
): Span {
  if (!tracer.on && parent === null) return NO_SPAN
  return tracer.start(op.name, {
    parent,
    kind: 'server',
    attributes: {
      'wakeful.operation': op.name,
      'wakeful.request_id': requestId,
      'http.request.method': op.method,
      'http.route': op.path,
    },
  })
}

/** A refusal is an answer; only what is our own fault is an error. */
export function answered(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status })
  if (status >= 500) span.fail(`answered ${status}`)
  span.end()
}

/** Runs within a span of its own, for doors that have no request of their own to trace. */
export async function inSpan(
  tracer: Tracer,
  op: Operation,
  ctx: Context,
  run: (ctx: Context) => Promise<Answer>,
): Promise<Answer> {
  const span = operationSpan(tracer, op, ctx.requestId, ctx.traceparent ?? null)
  span.set({ 'wakeful.actor.role': ctx.actor.role })
  try {
    const inner = { ...ctx, traceparent: span.traceparent }
    const answer = await span.run(() => run(inner))
    answered(span, answer.status ?? op.status)
    return answer
  } catch (error) {
    answered(span, error instanceof Refusal ? ERRORS[error.code].status : ERRORS.internal.status)
    throw error
  }
}
