/** One trace from setting to delivery, at a receiver that decodes it; across a restart, and for every trigger. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trace } from '@opentelemetry/api'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tracedModelCall } from '../../packages/model/src/trace.ts'
import { operations } from '../../src/app/operations.ts'
import { receiver, type Stage, type StageOptions, stage } from '../setup/listening-app.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { breathe, until } from '../setup/until.ts'
import { type Collector, collector, hear, type SeenSpan } from './collector.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const HEADERS = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'vendor=a:1,other=b' }
const SECRET_TEXT = 'the heron flies at dawn'

let seen: Collector
beforeEach(async () => {
  seen = await collector()
})
afterEach(() => {
  vi.useRealTimers()
  return seen.stop()
})

const made: string[] = []
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

/** A database that outlives the process that opened it. */
async function lasting(store: StoreUnderTest): Promise<string> {
  if (store.name === 'postgres') return store.database()
  const directory = mkdtempSync(join(tmpdir(), 'wakeful-trace-'))
  made.push(directory)
  return `pglite:${join(directory, 'data')}`
}

const tracedStage = (database: string, options: StageOptions = {}): Promise<Stage> =>
  stage(database, {
    ...options,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: seen.url, ...options.env },
  })

function one(spans: readonly SeenSpan[], name: string): SeenSpan {
  const found = spans.filter((span) => span.name === name)
  expect(found.map((span) => span.name)).toEqual([name])
  return found[0] as SeenSpan
}

eachStore('a trace', (store) => {
  it('spans set, fire, turn, model call and delivery, with a restart in between', async () => {
    const database = await lasting(store)
    const first = await tracedStage(database)
    const alarm = await first.set(
      { kind: 'once', delay_seconds: 60, wake_message: SECRET_TEXT, conversation_id: 'main' },
      HEADERS,
    )
    const startAt = first.now()
    await first.stop()

    const second = await tracedStage(database, {
      startAt,
      agents: {
        bot: async (turn) => {
          const mine = trace.getTracer('mine').startSpan('look something up')
          const answer = await tracedModelCall(
            { provider: 'acme', model: 'small-1' },
            async () => ({ text: SECRET_TEXT, tokens: 12 }),
            ({ tokens }) => ({ outputTokens: tokens }),
          )
          mine.end()
          turn.say(answer.text)
        },
      },
    })
    await second.advanceBy(61_000)
    const said = await hear(second.url, 'local:bot:main', () => second.settle())
    expect(said).toBe(SECRET_TEXT)
    await second.stop()

    const spans = seen.of(TRACE)
    const set = one(spans, 'set_alarm')
    const fire = one(spans, 'fire')
    const turn = one(spans, 'turn')
    const deliver = one(spans, 'deliver')
    expect([set.parentSpanId, fire.parentSpanId, turn.parentSpanId]).toEqual([
      CALLER,
      set.spanId,
      set.spanId,
    ])
    expect(deliver.parentSpanId).toBe(turn.spanId)
    expect(one(spans, 'look something up').parentSpanId).toBe(turn.spanId)
    const model = one(spans, 'chat small-1')
    expect(model.parentSpanId).toBe(turn.spanId)
    expect(model.attributes).toMatchObject({
      'gen_ai.request.model': 'small-1',
      'gen_ai.usage.output_tokens': 12,
    })
    expect(set.attributes).toMatchObject({
      'http.route': '/v1/alarms',
      'http.response.status_code': 201,
      'wakeful.actor.role': 'admin',
      'wakeful.request_id': expect.any(String),
    })
    const slot = new Date(startAt.getTime() + 60_000).toISOString()
    expect(turn.attributes).toMatchObject({
      'session.id': 'local:bot:main',
      'user.id': 'local',
      'wakeful.agent': 'bot',
      'wakeful.trigger': 'alarm',
      'wakeful.trigger.id': alarm.id,
      'wakeful.slot': slot,
      'wakeful.attempt': 1,
      'wakeful.status': 'committed',
    })
    expect(fire.attributes).toMatchObject({ 'wakeful.trigger.id': alarm.id, 'wakeful.slot': slot })
    expect(deliver.attributes).toMatchObject({
      'session.id': 'local:bot:main',
      'wakeful.result': 'acknowledged',
    })
    const batches = seen.spans.filter(({ scope }) => scope === 'wakeful.engine')
    expect(batches.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['promote alarm', 'claim turns']),
    )
    // Texts of messages are told only to who asks for them.
    expect(seen.requests.map(({ text }) => text).join('')).not.toContain('heron')
  })

  it('goes on from a message through a follow-up and an alarm that turns set', async () => {
    const s = await tracedStage(await store.database(), {
      agents: {
        bot: (turn) => {
          if (turn.event.type === 'user_message') {
            turn.schedule('nudge', { in: 10, cancelOnReply: true })
            turn.schedule('later', { in: 20 })
          }
        },
      },
    })
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hi' }, HEADERS)
    await s.advanceBy(30_000)
    await s.stop()
    const spans = seen.of(TRACE)
    const turns = spans.filter(({ name }) => name === 'turn')
    const [asked, ...later] = turns
    expect(turns.map(({ attributes }) => attributes['wakeful.trigger'])).toEqual([
      'user_message',
      'timer',
      'alarm',
    ])
    expect(asked?.parentSpanId).toBe(one(spans, 'post_message').spanId)
    expect(later.map(({ parentSpanId }) => parentSpanId)).toEqual([asked?.spanId, asked?.spanId])
    expect(spans.filter(({ name }) => name === 'fire')).toHaveLength(2)
  })

  it('reaches the receiver of a wake by its headers, and says when the call failed', async () => {
    const hook = await receiver()
    const s = await tracedStage(await store.database(), { env: { WAKEFUL_WAKE_URL: hook.url } })
    hook.answer = (_, response) =>
      response.writeHead(hook.received.length === 1 ? 500 : 204).end('no')
    await s.set({ kind: 'once', delay_seconds: 5 }, HEADERS)
    await s.advanceBy(60_000)
    await s.stop()
    const wakes = seen.of(TRACE).filter(({ name }) => name === 'wake')
    expect(wakes.map(({ failed, attributes }) => [failed, attributes['wakeful.result']])).toEqual([
      [true, 'failed'],
      [false, 'taken'],
    ])
    expect(hook.received.map(({ headers }) => [headers.traceparent, headers.tracestate])).toEqual(
      wakes.map(({ spanId }) => [`00-${TRACE}-${spanId}-01`, HEADERS.tracestate]),
    )
  })

  it('passes through without tracing, too', async () => {
    const hook = await receiver()
    const s = await stage(await store.database(), { env: { WAKEFUL_WAKE_URL: hook.url } })
    await s.set({ kind: 'once', delay_seconds: 5 }, HEADERS)
    await s.set({ kind: 'once', delay_seconds: 6 })
    await s.advanceBy(10_000)
    await s.stop()
    const sent = hook.received.map(({ headers }) => [headers.traceparent, headers.tracestate])
    expect(sent).toEqual([
      [HEADERS.traceparent, HEADERS.tracestate],
      [undefined, undefined],
    ])
    expect(seen.requests).toEqual([])
  })

  it('of Langfuse has turns as observations with session and user, and nothing about batches', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      LANGFUSE_PUBLIC_KEY: 'pk-lf-1',
      LANGFUSE_SECRET_KEY: 'sk-lf-2',
      LANGFUSE_BASE_URL: `${seen.url}/`,
      WAKEFUL_TRACE_CONTENT: 'true',
    }
    const agents = { bot: (turn: { say(text: string): void }) => turn.say('aye') }
    const s = await tracedStage(await store.database(), { env, agents })
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: SECRET_TEXT })
    await s.settle()
    await s.stop()
    const auth = `Basic ${Buffer.from('pk-lf-1:sk-lf-2').toString('base64')}`
    expect(new Set(seen.requests.map(({ path }) => path))).toEqual(
      new Set(['/api/public/otel/v1/traces']),
    )
    for (const { headers } of seen.requests) expect(headers.authorization).toBe(auth)
    const turn = one(seen.spans, 'turn')
    expect(turn.attributes).toMatchObject({
      'session.id': 'ann:bot:t',
      'user.id': 'ann',
      'langfuse.observation.type': 'agent',
      'langfuse.observation.input': JSON.stringify({ text: SECRET_TEXT }),
      'langfuse.observation.output': '[{"content":"aye"}]',
    })
    expect(seen.spans.filter(({ scope }) => scope === 'wakeful.engine')).toEqual([])
  })
})

describe('a request', () => {
  const memory = { database: async () => 'memory:', name: 'pglite' } as const

  it('to every operation of the table has a span with its name, route and status', async () => {
    const s = await tracedStage(await memory.database())
    const statuses = new Map<string, number>()
    for (const op of operations) {
      const path = op.path
        .replace('{session_key}', 'ann:bot:t')
        .replace(/\{[^}]+\}/g, '00000000-0000-7000-8000-000000000000')
      const body = op.method === 'GET' || op.method === 'DELETE' ? undefined : {}
      statuses.set(op.name, (await s.call(op.method, path, body)).status)
    }
    await s.stop()
    for (const op of operations) {
      const span = one(seen.spans, op.name)
      expect(span).toMatchObject({ parentSpanId: '', kind: 2 })
      expect(span.attributes).toMatchObject({
        'http.route': op.path,
        'http.request.method': op.method,
        'http.response.status_code': statuses.get(op.name),
        // Where no key is asked for, nobody is known.
        ...(op.roles === 'public' ? {} : { 'wakeful.actor.role': 'admin' }),
      })
    }
  })

  it('that is refused at the door is seen, without a role', async () => {
    const key = 'k'.repeat(32)
    const env = { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: key }
    const s = await tracedStage(await memory.database(), { env })
    expect((await s.call('GET', '/v1/alarms')).status).toBe(401)
    await s.stop()
    const span = one(seen.spans, 'list_alarms')
    expect(span.attributes['http.response.status_code']).toBe(401)
    expect(span.attributes['wakeful.actor.role']).toBeUndefined()
    expect(seen.requests.map(({ text }) => text).join('')).not.toContain(key)
  })

  it('with a bad traceparent begins a new trace, and one not sampled is not exported', async () => {
    const s = await tracedStage(await memory.database())
    const bad = [
      `00-${TRACE}-${CALLER}-01-extra`,
      `ff-${TRACE}-${CALLER}-01`,
      `00-${'0'.repeat(32)}-${CALLER}-01`,
      `00-${TRACE.toUpperCase()}-${CALLER}-01`,
    ]
    for (const traceparent of bad) await s.call('GET', '/v1/alarms', undefined, { traceparent })
    const unsampled = { traceparent: `00-${TRACE}-${CALLER}-00` }
    await s.call('GET', '/v1/alarms', undefined, unsampled)
    await s.stop()
    const spans = seen.spans.filter(({ name }) => name === 'list_alarms')
    expect(spans).toHaveLength(bad.length)
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(bad.length)
    for (const span of spans)
      expect([span.parentSpanId, span.traceId === TRACE]).toEqual(['', false])
  })

  it('does not wait for a receiver that never answers, and neither does a stop for long', async () => {
    seen.answers = false
    const database = await memory.database()
    // No timer of ours ends but by our hand: nothing is sent before the stop.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const s = await tracedStage(database)
    expect((await s.call('GET', '/v1/alarms')).status).toBe(200)
    expect(seen.requests).toEqual([])
    const stopping = s.stop()
    await until('the receiver was asked', () => seen.requests.length > 0)
    await vi.advanceTimersByTimeAsync(3_000)
    vi.useRealTimers()
    await stopping
    // The exporter itself has not given up yet: its receiver would have seen it leave.
    await breathe(50)
    expect(seen.left).toBe(0)
  })
})
