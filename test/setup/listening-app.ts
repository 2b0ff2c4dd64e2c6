/** An app on a test clock that listens, with moments to stop at, and a receiver that answers as it is told. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { Executor } from '../../src/agents/executor.ts'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { HandClock } from '../../src/clock.ts'
import type { PushChannel } from '../../src/kernel/channel.ts'
import type { Moment, TestSignals } from '../../src/kernel/service.ts'
import { afterEachTest } from './ends.ts'
import { call, type Loose, type Reply } from './http.ts'
import { databaseEnv, execAll, queryAll, type StoreUnderTest } from './stores.ts'

export type Row = Loose

const open = new Set<{ stop(): Promise<void> }>()
afterEachTest(async () => {
  await Promise.all([...open].map((each) => each.stop()))
  open.clear()
})

export interface Stage {
  readonly app: App
  readonly url: string
  now(): Date
  advanceBy(ms: number): Promise<void>
  /** Runs what is due now. */
  settle(): Promise<void>
  /** Moves the clock without running anything: the process was away. */
  sleep(ms: number): void
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply<Loose>>
  /** Sets an alarm and answers with its view. */
  set(body: Record<string, unknown>, headers?: Record<string, string>): Promise<Row>
  get(id: string): Promise<Row>
  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** Empty, and at the first instant again. */
  reset(): Promise<void>
  stop(): Promise<void>
}

export interface StageOptions {
  readonly agents?: Record<string, Agent | AgentFunction>
  readonly work?: Record<string, Executor>
  readonly channels?: readonly PushChannel[]
  readonly env?: Record<string, string>
  readonly startAt?: Date | string
  readonly at?: (moment: Moment, key: string) => void | Promise<void>
}

/** One stage for a whole suite, swept before each test: opening a store takes longer than most tests. */
export function sharedStage(store: StoreUnderTest, options: StageOptions = {}): () => Stage {
  let made: Stage | undefined
  beforeAll(async () => {
    made = await stage(await store.database(), options)
    open.delete(made)
  })
  beforeEach(() => made?.reset())
  afterAll(() => made?.stop())
  return () => ready(made)
}

/** The same with one receiver, at the wake URL. It answers 204 again in each test. */
export function sharedWakes(
  store: StoreUnderTest,
  options: StageOptions = {},
): () => { s: Stage; hook: Receiver } {
  let made: { s: Stage; hook: Receiver } | undefined
  beforeAll(async () => {
    const hook = await receiver()
    const env = { WAKEFUL_WAKE_URL: hook.url, ...options.env }
    const s = await stage(await store.database(), { ...options, env })
    open.delete(s)
    open.delete(hook)
    made = { s, hook }
  })
  beforeEach(async () => {
    await made?.s.reset()
    if (made !== undefined) Object.assign(made.hook, { received: [], answer: taken })
  })
  afterAll(async () => {
    await made?.s.stop()
    await made?.hook.stop()
  })
  return () => ready(made)
}

function ready<T>(made: T | undefined): T {
  if (made === undefined) throw new Error('the stage is not open yet')
  return made
}

export async function stage(database: string, options: StageOptions = {}): Promise<Stage> {
  const startAt = new Date(options.startAt ?? '2026-01-01T00:00:00Z')
  const clock = new HandClock(startAt)
  const moments: TestSignals = { reach: (moment, key) => options.at?.(moment, key) }
  const app = await App.open({
    config: readConfig({
      ...databaseEnv(database),
      PORT: '0',
      LOG_LEVEL: 'silent',
      WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
      ...options.env,
    }),
    agents: new Map(
      Object.entries(options.agents ?? { bot: () => undefined }).map(([name, run]) => [
        name,
        typeof run === 'function' ? agent(run) : run,
      ]),
    ),
    work: new Map(Object.entries(options.work ?? {})),
    channels: options.channels ?? [],
    log: pino({ level: 'silent' }),
    now: clock.now,
    moments,
  })
  await app.start()
  const url = await app.listen()
  const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    call(`${url}${path}`, method, body, headers)
  const advanceBy = (ms: number) =>
    clock.advanceTo(clock.now().getTime() + ms, () => app.engine.quiesce())
  const made: Stage = {
    app,
    url,
    now: clock.now,
    advanceBy,
    settle: () => advanceBy(0),
    sleep: (ms) => {
      clock.set(new Date(clock.now().getTime() + ms))
    },
    call: ask,
    set: async (body, headers) => {
      const answer = await ask('POST', '/v1/alarms', { wake_message: 'wake up', ...body }, headers)
      if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`)
      return answer.body
    },
    get: async (id) => (await ask('GET', `/v1/alarms/${id}`)).body,
    query: (text, values) => queryAll(app, text, values),
    reset: async () => {
      clock.set(startAt)
      await execAll(
        app,
        'truncate wakeful.work, wakeful.work_outputs, wakeful.alarms, wakeful.alarm_wakes, wakeful.autonomy_timers, wakeful.events, wakeful.sessions, wakeful.attempts, wakeful.leases, wakeful.effects, wakeful.checkpoints, wakeful.idempotency_keys, wakeful.langgraph_crons, wakeful.subscriptions, wakeful.subscription_deliveries, wakeful.mcp_sources, wakeful.links, wakeful.deliveries, wakeful.link_codes, wakeful.channel_readers, wakeful.people, wakeful.deferred, wakeful.missed, wakeful.slot_marks, wakeful.questions, wakeful.budgets, wakeful.stops',
      )
    },
    stop: async () => {
      open.delete(made)
      await app.stop()
    },
  }
  open.add(made)
  return made
}

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Loose
}

export interface Receiver {
  readonly url: string
  received: Received[]
  /** How many connections were ever made. */
  connections(): number
  answer: (request: Received, response: ServerResponse) => void
  stop(): Promise<void>
}

const taken: Receiver['answer'] = (_, response) => response.writeHead(204).end()

/** Answers 204 unless told otherwise. */
export async function receiver(answer = taken): Promise<Receiver> {
  let connections = 0
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const one = { headers: request.headers, text, body: JSON.parse(text) as Loose }
      made.received.push(one)
      made.answer(one, response)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const made: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/wake`,
    received: [],
    connections: () => connections,
    answer,
    stop: () =>
      new Promise((done) => {
        open.delete(made)
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  open.add(made)
  return made
}
