/** One listening app for a whole suite, on a test clock, and the means to speak to it over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import type { StoreUnderTest } from '../setup/stores.ts'

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

export interface House {
  readonly wakeful: TestWakeful
  readonly url: string
  call<T = Loose>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply<T>>
  query<R extends object = Loose>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** Rows of the event log, to see that nothing was appended. */
  eventCount(): Promise<number>
}

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

/** Opened before the suite, closed after it; each test uses sessions of its own. */
export function house(
  store: StoreUnderTest,
  agents: Record<string, AgentFunction>,
  env: Record<string, string> = {},
): () => House {
  let made: House | undefined
  beforeAll(async () => {
    const wakeful = await testWakeful({
      database: await store.database(),
      agents: Object.fromEntries(Object.entries(agents).map(([name, run]) => [name, agent(run)])),
      env: { PORT: '0', LOG_LEVEL: 'silent', ...env },
    })
    const url = await wakeful.listen()
    const { db } = wakeful.app.store
    made = {
      wakeful,
      url,
      call: (method, path, body, headers) => call(`${url}${path}`, method, body, headers),
      query: (text, values) => db.query(text, values),
      eventCount: async () => {
        const [row] = await db.query<{ n: number }>('select count(*)::int as n from wakeful.events')
        return row?.n ?? -1
      },
    }
  })
  afterAll(async () => {
    await made?.wakeful.stop()
  })
  return () => {
    if (made === undefined) throw new Error('the house is not open')
    return made
  }
}
