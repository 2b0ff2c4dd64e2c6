/** Whatever was thrown, as an RFC 9457 problem. Only the error table decides status and title. */
import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { writeJson } from '../../packages/exact-json/src/index.ts'
import { refusalOf } from '../api/refusal.ts'
import { ERRORS, type ErrorCode, Refusal } from '../core/errors.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const RETRY_AFTER_MS = 2_000

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly errors: readonly string[]
  readonly request_id: string
}

/** Fastify's own refusals, by its codes. */
const FRAMEWORK: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'the body may have at most 256 KiB'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['media_type', 'send the body as application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'malformed',
    'the body is not as long as Content-Length says',
  ],
  FST_ERR_BAD_URL: ['malformed', 'the path is not valid percent-encoded UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: ['shape', 'path: a part of it is too long'],
}

/** The same as at every door, and what the framework refuses by itself. */
export function requestRefusal(error: unknown): Refusal {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  const known = typeof code === 'string' ? FRAMEWORK[code] : undefined
  if (known !== undefined) return new Refusal(known[0], known[1])
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new Refusal(statusCode === 404 ? 'not_found' : 'malformed', 'the request cannot be read')
  }
  return refusalOf(error)
}

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const { status, title } = ERRORS[refusal.code]
  return {
    type: problemType(refusal.code),
    title,
    status,
    detail: refusal.message,
    instance: `urn:wakeful:request:${requestId}`,
    errors: refusal.errors,
    request_id: requestId,
  }
}

export function sendProblem(
  refusal: Refusal,
  requestId: string,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(refusal, requestId)
  return reply
    .code(problem.status)
    .headers(problemHeaders(refusal))
    .header('content-type', PROBLEM_TYPE)
    .send(writeJson(problem))
}

/** On a connection that serves no request, or none any more. */
export function endWithProblem(stream: Duplex, refusal: Refusal, id: string): void {
  const { status, title } = ERRORS[refusal.code]
  const body = writeJson(problemOf(refusal, id))
  const headers = {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'x-request-id': id,
    connection: 'close',
    ...problemHeaders(refusal),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  stream.end(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`)
}

/** A place in the documentation that explains this class of errors. */
export const problemType = (code: ErrorCode) => `/docs#error-${code}`

/** The headers that go with a refusal, beside its content type. */
export function problemHeaders(refusal: Refusal): Record<string, string> {
  if (refusal.code === 'unauthenticated') return { 'www-authenticate': 'Bearer' }
  if (refusal.retryAfterMs === undefined && refusal.code !== 'unavailable') return {}
  const seconds = Math.ceil((refusal.retryAfterMs ?? RETRY_AFTER_MS) / 1000)
  return { 'retry-after': String(Math.max(1, seconds)) }
}
