/** Adapters stream where their framework does: over a person's message, and only while somebody looks. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { App } from '../../src/app/app.ts'
import { openApp } from '../../src/index.ts'
import { type FakeModel, fakeModel, json, type Say } from '../agents/fake-model.ts'
import { ADAPTERS, exampleOf, saying, using } from '../frameworks/frameworks.ts'
import { Client } from '../sessions/live.ts'

vi.mock('wakeful', () => import('../../src/index.ts'))
vi.mock('wakeful/tools', () => import('../../packages/tools/src/index.ts'))
vi.mock('wakeful/ai-sdk', () => import('../../packages/ai-sdk/src/index.ts'))
vi.mock('wakeful/openai-agents', () => import('../../packages/openai-agents/src/index.ts'))
vi.mock('wakeful/mastra', () => import('../../packages/mastra/src/index.ts'))
vi.mock('wakeful/langgraph', () => import('../../packages/langgraph/src/index.ts'))
vi.mock('wakeful/claude-agent-sdk', () => import('../../packages/claude-agent-sdk/src/index.ts'))
vi.mock('@mastra/core/agent', () => import('../frameworks/mastra-core/agent.js'))

let model: FakeModel | undefined
let app: App | undefined
afterEach(async () => {
  vi.unstubAllEnvs()
  await app?.stop()
  await model?.stop()
})

async function serve(name: string, ...answers: Say[]): Promise<string> {
  model = await fakeModel(...answers)
  vi.stubEnv('WAKEFUL_MODEL_URL', model.url)
  vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
  vi.stubEnv('WAKEFUL_MODEL_KEY', 'k')
  const [id, agent] = await exampleOf(name)
  app = await openApp({
    agents: { [id]: agent },
    env: { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: 'memory:' },
  })
  await app.start()
  return app.listen()
}

const ANSWER = 'Once upon a time there was a fox, and it was very quick.'

describe.each(ADAPTERS)('%s', (name) => {
  const key = `ann:${name}:main`
  const seen = (client: Client) =>
    client.frames.filter(({ type }) => /^(delta|retract|message|agent_follow_up)$/.test(type))
  const shown = (client: Client) => {
    const frames = seen(client)
    const from = frames.findLastIndex(({ type }) => type === 'retract') + 1
    const deltas = frames.slice(from).filter(({ type }) => type === 'delta')
    return deltas.map(({ text }) => text).join('')
  }

  it('contract: the answer is shown while the model writes it', async () => {
    const client = await Client.open(await serve(name, saying(ANSWER)), key)
    client.say('a story')
    const [message] = await client.hears(1)
    expect(message).toMatchObject({ content: ANSWER, in_reply_to: 1 })
    expect(shown(client)).toBe(ANSWER)
    expect(client.of('retract')).toEqual([])
  })

  it('contract: what a model writes before it calls a tool is withdrawn, and the answer is its last text', async () => {
    const call = using('list_scheduled', {}, 'Let me see.')
    const client = await Client.open(await serve(name, call, saying(ANSWER)), key)
    client.say('what is ahead?')
    expect((await client.hears(1))[0].content).toBe(ANSWER)
    expect(shown(client)).toBe(ANSWER)
    expect(model?.asked.length).toBe(2)
  })

  it('rule 44: in a turn that no message began no text is shown', async () => {
    const at = { name: 'n', in: '1 second', note: 'say hello' }
    const url = await serve(
      name,
      ...[using('schedule', at), saying('Set.'), using('send_message', { text: 'Hello!' })],
      saying('I have said hello.'),
    )
    const client = await Client.open(url, key)
    client.say('greet me soon')
    const [, hello] = await client.hears(2)
    expect(hello).toMatchObject({ type: 'agent_follow_up', content: 'Hello!' })
    expect(seen(client).findLast(({ type }) => type === 'delta')?.turn).toBe(1)
  })

  it('nobody looks: the model is not asked to stream', async () => {
    const url = await serve(name, saying(ANSWER))
    await fetch(`${url}/v1/sessions/${key}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"a story"}',
    })
    const client = await Client.open(url, key)
    await client.hears(1)
    expect(model?.asked.filter(({ body }) => body.stream === true)).toEqual([])
  })
})

describe.each(['ai-sdk', 'openai-agents'])('%s', (name) => {
  it('an endpoint that cannot stream is asked without', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: ANSWER } }]
    const plain = { id: 'a', object: 'chat.completion', created: 1, model: 'fake-1' }
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    const answer = { ...plain, choices: [{ ...choices[0], finish_reason: 'stop' }], usage }
    const client = await Client.open(await serve(name, json(200, answer)), `ann:${name}:main`)
    client.say('a story')
    expect(await client.hears(1)).toMatchObject([{ content: ANSWER }])
    expect(model?.asked.map(({ body }) => body.stream === true)).toEqual([true, false])
  })
})
