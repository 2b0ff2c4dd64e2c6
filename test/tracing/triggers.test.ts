/** One trace from a standing wish or a task to the person: intents that signals fire, work and its runs. */

import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fakeModel, saying } from '../agents/fake-model.ts'
import { connect } from '../mcp/stage.ts'
import { stage as openStage, type Stage, type StageOptions } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { type Collector, collector, hear, type SeenSpan } from './collector.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const OTHER = '1bf7651916cd43dd8448eb211c80319d'
const CALLER = 'b7ad6b7169203331'
const within = (trace: string) => ({ traceparent: `00-${trace}-${CALLER}-01` })
const NVDA = { ticker: 'NVDA', operator: '<', value: 130 }
const WATCH = {
  ...{ user_id: 'ann', agent_id: 'bot', thread_id: 'main', intent_name: 'cheap' },
  ...{ trigger_type: 'price', trigger_condition: NVDA, action_context: 'tell her' },
}
const PRICE = { kind: 'price', ticker: 'NVDA', price: 120 }

let seen: Collector
beforeEach(async () => {
  seen = await collector()
})
afterEach(() => seen.stop())

const stage = async (database: string, options: StageOptions = {}): Promise<Stage> =>
  openStage(database, {
    agents: { bot: (turn) => turn.say('now') },
    work: { echo: async (run) => ({ title: 'Echo', content: run.task }) },
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: seen.url },
    ...options,
  })

async function ok(s: Stage, path: string, body: unknown, headers = {}) {
  const answer = await s.call('POST', path, body, headers)
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}

function one(spans: readonly SeenSpan[], name: string): SeenSpan {
  const found = spans.filter((span) => span.name === name)
  expect(found.map((span) => span.name)).toEqual([name])
  return found[0] as SeenSpan
}

eachStore('a trace', (store) => {
  it('goes from an intent through the signal that fires it to turn and delivery', async () => {
    const s = await stage(await store.database())
    const intent = await ok(s, '/v1/intents', WATCH, within(TRACE))
    await s.settle()
    await ok(s, '/v1/signals', PRICE, within(TRACE))
    expect(await hear(s.url, 'ann:bot:main', () => s.settle())).toBe('now')
    const [signal] = await s.query('select traceparent from wakeful.signals')
    await s.stop()
    const spans = seen.of(TRACE)
    const [made, told] = [one(spans, 'create_intent'), one(spans, 'post_signal')]
    const [fire, turn] = [one(spans, 'fire'), one(spans, 'turn')]
    expect([made, told].map((span) => span.parentSpanId)).toEqual([CALLER, CALLER])
    expect(signal?.traceparent).toContain(told.spanId)
    // What fires belongs to the wish it was made for; the signal only said when.
    expect([fire, turn].map((span) => span.parentSpanId)).toEqual([made.spanId, made.spanId])
    expect(one(spans, 'deliver').parentSpanId).toBe(turn.spanId)
    for (const span of [fire, turn])
      expect(span.attributes).toMatchObject({
        'session.id': 'ann:bot:main',
        'wakeful.trigger': 'intent',
        'wakeful.trigger.id': intent.id,
      })
  })

  it('of a signal carries what it fires where the intent was made in none', async () => {
    const database = await store.database()
    const silent = await stage(database, { env: {} })
    await ok(silent, '/v1/intents', WATCH)
    await silent.settle()
    // With its key, too: then keeping and firing share the transaction of the key.
    await ok(silent, '/v1/signals', PRICE, { ...within(OTHER), 'idempotency-key': 'told-1' })
    const rows = await silent.query('select traceparent from wakeful.events')
    expect(rows).toEqual([{ traceparent: within(OTHER).traceparent }])
    await silent.stop()
  })

  it('goes from an intent that the clock fires, late by what is measured', async () => {
    const s = await stage(await store.database())
    const schedule = { trigger_type: 'interval', trigger_schedule: { interval_minutes: 10 } }
    await ok(s, '/v1/intents', { ...WATCH, ...schedule, trigger_condition: null }, within(TRACE))
    s.sleep(601_500)
    await s.settle()
    const metrics = await s.call('GET', '/metrics')
    await s.stop()
    const fire = one(seen.of(TRACE), 'fire')
    expect(fire.attributes['wakeful.lateness_ms']).toBe(1_500)
    expect(one(seen.of(TRACE), 'turn').parentSpanId).toBe(fire.parentSpanId)
    expect(metrics.text).toMatch(/wakeful_lateness_seconds_sum\{trigger="intent"\} 1\.5/)
  })

  it('goes from work to its runs, by its clock or by a request of its own, and to whom it tells', async () => {
    const s = await stage(await store.database())
    const body = {
      ...{ task: 't', agent_type: 'echo', frequency: '@every 10m', user_id: 'ann' },
      parameters: { notify_session: 'ann:bot:main' },
    }
    const { work } = await ok(s, '/v1/work', body, within(TRACE))
    await s.settle()
    await s.advanceBy(600_000)
    await ok(s, `/v1/work/${work.id}/run`, undefined, within(OTHER))
    await s.settle()
    const outputs = await s.query(
      'select run_number, traceparent from wakeful.work_outputs order by run_number',
    )
    await s.stop()
    const [mine, other] = [seen.of(TRACE), seen.of(OTHER)]
    const made = one(mine, 'create_work')
    const ran = one(other, 'run_work')
    expect(one(mine, 'fire').parentSpanId).toBe(made.spanId)
    const turns = (spans: readonly SeenSpan[]) =>
      spans
        .filter(({ name }) => name === 'turn')
        .map(({ parentSpanId, attributes }) => [parentSpanId, attributes['wakeful.agent']])
    // The first run, the one of the clock, and word of both.
    expect(turns(mine).toSorted()).toEqual([
      [made.spanId, 'bot'],
      [made.spanId, 'bot'],
      [made.spanId, 'echo'],
      [made.spanId, 'echo'],
    ])
    expect(turns(other).toSorted()).toEqual([
      [ran.spanId, 'bot'],
      [ran.spanId, 'echo'],
    ])
    expect(outputs.map(({ traceparent }) => traceparent.split('-')[1])).toEqual([
      TRACE,
      TRACE,
      OTHER,
    ])
  })

  it('has the calls of a model that work makes, with what they cost', async () => {
    const model = await fakeModel(saying('A lot.'))
    const s = await stage(await store.database(), {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: seen.url,
        WAKEFUL_MODEL_URL: model.url,
        WAKEFUL_MODEL: 'tiny',
      },
    })
    const body = { task: 'herons', agent_type: 'research' }
    await ok(s, '/v1/work', body, within(TRACE))
    await s.settle()
    await s.stop()
    await model.stop()
    const spans = seen.of(TRACE)
    const chat = one(spans, 'chat tiny')
    expect(chat.parentSpanId).toBe(one(spans, 'turn').spanId)
    expect(chat.attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 34,
      'gen_ai.response.finish_reasons': ['stop'],
    })
  })

  it('comes in with a tool of MCP', async () => {
    const s = await stage(await store.database())
    const { call } = await connect(
      new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`), {
        requestInit: { headers: { ...within(TRACE), 'wakeful-act-as': 'ann' } },
      }),
    )
    const set = await call('set_alarm', { kind: 'once', delay_seconds: 5, wake_message: 'up' })
    expect(set.isError).toBe(false)
    await s.advanceBy(6_000)
    await s.stop()
    const spans = seen.of(TRACE)
    const tool = one(spans, 'set_alarm')
    expect(tool.parentSpanId).toBe(CALLER)
    expect(tool.attributes).toMatchObject({ 'http.response.status_code': 201 })
    expect(one(spans, 'turn').parentSpanId).toBe(tool.spanId)
  })
})
