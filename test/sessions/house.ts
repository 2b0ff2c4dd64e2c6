/** One listening app for a whole suite, on a test clock, and the means to speak to it over HTTP. */
import { afterAll, beforeAll } from 'vitest'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { call, type Loose, type Reply } from '../setup/http.ts'
import type { StoreUnderTest } from '../setup/stores.ts'

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
