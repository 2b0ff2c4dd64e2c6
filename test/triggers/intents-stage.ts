/** One app for a suite of intents run by Wakeful: on a test clock, swept before each test. */
import { expect } from 'vitest'
import { type Row, type Stage, type StageOptions, sharedStage } from '../setup/listening-app.ts'
import type { StoreUnderTest } from '../setup/stores.ts'

export const MINUTE = 60_000
export const HOUR = 3_600_000

export interface Intents {
  readonly s: Stage
  /** Creates an intent of agent `bot` for user `ann` and answers with its view. */
  make(body: Record<string, unknown>): Promise<Row>
  get(id: string): Promise<Row>
  history(id: string): Promise<Row[]>
  /** Tells a fact and runs what it started, unless `settle` is false. */
  tell(body: Record<string, unknown>, settle?: boolean): Promise<Row>
  price(price: number, settle?: boolean): Promise<Row>
  events(): Promise<Row[]>
  payloads(): Promise<Row[]>
}

export const NVDA = {
  trigger_type: 'price',
  trigger_condition: { ticker: 'nvda', operator: '<', value: 130 },
}

export function intentsStage(
  store: StoreUnderTest,
  options: StageOptions = {},
): () => Promise<Intents> {
  const shared = sharedStage(store, options)
  return async () => {
    const s = shared()
    await s.app.store.db.exec(
      'truncate wakeful.scheduled_intents, wakeful.intent_watches, wakeful.intent_used, wakeful.intent_executions, wakeful.signals, wakeful.people',
    )
    return over(s)
  }
}

function over(s: Stage): Intents {
  const ok = async (method: string, path: string, body?: unknown): Promise<Row> => {
    const answer = await s.call(method, path, body)
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const tell = async (body: Record<string, unknown>, settle = true) => {
    const told = await ok('POST', '/v1/signals', body)
    if (settle) await s.settle()
    return told
  }
  const events = () =>
    s.query<Row>(
      `select session_key, seq, id, payload, trigger_id, scheduled_for, created_at from wakeful.events where type = 'intent' order by created_at, id`,
    )
  return {
    s,
    make: (body) =>
      ok('POST', '/v1/intents', {
        ...{ user_id: 'ann', agent_id: 'bot', intent_name: 'watch', action_context: 'tell her' },
        ...body,
      }),
    get: (id) => ok('GET', `/v1/intents/${id}`),
    history: async (id) => (await ok('GET', `/v1/intents/${id}/history`)) as unknown as Row[],
    tell,
    price: (price, settle) => tell({ kind: 'price', ticker: 'NVDA', price }, settle),
    events,
    payloads: async () => (await events()).map((event) => JSON.parse(event.payload)),
  }
}
