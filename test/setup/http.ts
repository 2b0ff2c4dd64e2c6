/** Speaking to a server over HTTP, and what an answer must look like. */
import { expect } from 'vitest'

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export interface Reply<T> {
  readonly status: number
  readonly text: string
  readonly body: T
  readonly headers: Headers
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at, not built upon
export type Loose = any

/** A string is sent as it stands, anything else as JSON. */
export async function call<T = Loose>(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply<T>> {
  const answer = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json') ?? false
  return {
    status: answer.status,
    text,
    body: (isJson ? JSON.parse(text) : undefined) as T,
    headers: answer.headers,
  }
}

/** Is it a problem document with this status? */
export function problem(reply: Reply<Loose>, status: number): void {
  expect(reply.status).toBe(status)
  expect(reply.headers.get('content-type')).toContain('application/problem+json')
  expect(reply.body).toMatchObject({
    type: expect.any(String),
    title: expect.any(String),
    status,
    detail: expect.any(String),
    request_id: expect.any(String),
  })
  expect(reply.body.errors.length).toBeGreaterThan(0)
}
