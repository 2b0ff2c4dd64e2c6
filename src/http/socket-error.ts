/** What is not even HTTP, answered on the bare socket in the same words as everything else. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Refusal } from '../core/errors.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'

export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const headersTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const refusal = headersTooLarge
    ? new Refusal('too_large', 'the headers are too large')
    : new Refusal('malformed', 'this is not HTTP')
  const problem = problemOf(refusal, randomUUID())
  const body = JSON.stringify(problem)
  const reason = headersTooLarge ? 'Payload Too Large' : 'Bad Request'
  const head = [
    `HTTP/1.1 ${problem.status} ${reason}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${problem.request_id}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
