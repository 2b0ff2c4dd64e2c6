/**
 * Rule 43, as one table: whatever happens over a person's message, the person gets one answer. Over every other event they get what the
 * agent says over it.
 */
import { afterEach, expect, it, vi } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { TerminalError } from '../../src/core/errors.ts'
import type { Agent, Turn } from '../../src/index.ts'
import { type FakeModel, fakeModel, json, type Say } from '../agents/fake-model.ts'
import { sent } from '../langgraph/graphs.ts'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { ADAPTERS, exampleOf, saying, using } from './frameworks.ts'

// The examples name the package; here that is the source, not what was built last.
vi.mock('wakeful', () => import('../../src/index.ts'))
vi.mock('wakeful/tools', () => import('../../packages/tools/src/index.ts'))
vi.mock('wakeful/ai-sdk', () => import('../../packages/ai-sdk/src/index.ts'))
vi.mock('wakeful/openai-agents', () => import('../../packages/openai-agents/src/index.ts'))
vi.mock('wakeful/mastra', () => import('../../packages/mastra/src/index.ts'))
vi.mock('wakeful/langgraph', () => import('../../packages/langgraph/src/index.ts'))
vi.mock('wakeful/claude-agent-sdk', () => import('../../packages/claude-agent-sdk/src/index.ts'))
vi.mock('@mastra/core/agent', () => import('./mastra-core/agent.js'))

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const SORRY = 'Sorry, something went wrong. Please try again.'

let model: FakeModel | undefined
afterEach(async () => {
  vi.unstubAllEnvs()
  await model?.stop()
})

const throws = (error: unknown) => () => {
  throw error
}
/** Ways of an agent to end a turn over a message without an answer. */
const ENDS: Readonly<Record<string, Agent>> = {
  refusal: agent((turn) => void turn.schedule('x', { at: 'often' })),
  throw: agent(throws(new Error('the shop is closed'))),
  mistake: agent((turn) => (turn as unknown as { shout(): void }).shout()),
  terminal: agent(throws(new TerminalError('never'))),
  not_an_error: agent(throws('no')),
  rejection: agent(async (turn) => {
    turn.say('lost')
    await Promise.reject(new Error('no'))
  }),
  timeout: agent(() => new Promise(() => undefined), { timeoutMs: 1 }),
  full_state: agent((turn) => {
    turn.say('lost')
    turn.state.big = 'x'.repeat(2 ** 21)
  }),
  refused_at_the_commit: agent((turn) => {
    turn.say('lost')
    for (let n = 0; n < 26; n++) turn.schedule(`w${n}`, { when: { news: [`word${n}`] } })
  }),
}

const garbage =
  (status: number, text: string): Say =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
/** Ways of a model to give none, each time it is asked. */
const MODELS: Readonly<Record<string, Say>> = {
  // The SDKs ask again themselves, at once.
  'status 500': json(500, { error: { message: 'overloaded' } }, { 'retry-after-ms': '1' }),
  'status 400': json(400, { error: { message: 'no such model' } }),
  'a page instead of JSON': garbage(200, '<html>Bad gateway</html>'),
  'half an answer': garbage(200, '{"choices":[{"message":{"role":"assist'),
  'an empty object': json(200, {}),
  'no text': saying(''),
  'a tool that does not exist': using('fly_to_the_moon', {}),
}

const agents = {
  ...ENDS,
  ...Object.fromEntries(await Promise.all(ADAPTERS.map(exampleOf))),
  bot: agent((turn: Turn) => turn.say(`about the ${turn.event.type}`)),
}

/** Brings an event of each type about, for the session ann:bot:main. */
const EVENTS: Readonly<Record<string, (s: Stage) => Promise<unknown>>> = {
  user_message: (s) => s.call('POST', '/v1/sessions/ann:bot:main/messages', { text: 'hello' }),
  tool_result: (s) =>
    s.call('POST', '/v1/sessions/ann:bot:main/tool-results', { tool_id: 't', payload: {} }),
  timer: (s) => s.call('PUT', '/v1/schedules/a', { ...ANN, in: 60, cancel_on_reply: true }),
  alarm: (s) => s.call('PUT', '/v1/schedules/a', { ...ANN, in: 60 }),
  async intent(s) {
    await s.call('PUT', '/v1/schedules/a', { ...ANN, when: { price: 'NVDA', below: 130 } })
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 120 })
  },
  async digest(s) {
    for (const name of ['a', 'b']) await s.call('PUT', `/v1/schedules/${name}`, { ...ANN, in: 60 })
    s.sleep(HOUR)
  },
  work: (s) => s.call('PUT', '/v1/schedules/a', { ...ANN, run: 'report' }),
}
const ANN = { user_id: 'ann', agent_id: 'bot' }
/** The product itself says that work is ready. */
const SAID: Readonly<Record<string, string>> = { work: '"a" is ready (run 1).\n\nall well' }

eachStore('an answer', (store) => {
  const at = sharedStage(store, {
    agents,
    work: { report: async ({ task }) => ({ title: task, content: 'all well' }) },
  })
  const answers = async (name: string) => {
    await at().call('POST', `/v1/sessions/ann:${name}:main/messages`, { text: 'hello' })
    await at().advanceBy(MINUTE)
    return sent(at())
  }

  it.each(Object.keys(EVENTS))('comes over the event %s', async (type) => {
    await EVENTS[type]?.(at())
    await at().advanceBy(2 * MINUTE)
    expect(await sent(at())).toEqual([SAID[type] ?? `about the ${type}`])
  })

  it.each(Object.keys(ENDS))('comes where a function ends in: %s', async (name) => {
    expect(await answers(name)).toEqual([SORRY])
  })

  it.each(
    Object.keys(MODELS).flatMap((name) => ADAPTERS.map((adapter) => [adapter, name] as const)),
  )('comes where the model of %s gives: %s', async (adapter, name) => {
    model = await fakeModel(MODELS[name] as Say)
    vi.stubEnv('WAKEFUL_MODEL_URL', model.url)
    vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
    expect(await answers(adapter)).toEqual([SORRY])
    expect(model.asked.length).toBeGreaterThan(0)
  })
})
