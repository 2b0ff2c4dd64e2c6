/** Agents of other frameworks, as their examples are: answered and woken like any other, and what they set is their turn's. */
import { afterEach, expect, it, vi } from 'vitest'
import { mastraAgent } from '../../packages/mastra/src/index.ts'
import type { Agent } from '../../src/index.ts'
import { type FakeModel, fakeModel, json, type Say } from '../agents/fake-model.ts'
import { sent, turns } from '../langgraph/graphs.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { FRAMEWORKS, type Framework, saying, using } from './frameworks.ts'
import { Agent as StandIn } from './mastra-core/agent.js'

// The examples name the package; here that is the source, not what was built last.
vi.mock('wakeful/ai-sdk', () => import('../../packages/ai-sdk/src/index.ts'))
vi.mock('wakeful/openai-agents', () => import('../../packages/openai-agents/src/index.ts'))
vi.mock('wakeful/mastra', () => import('../../packages/mastra/src/index.ts'))
vi.mock('@mastra/core/agent', () => import('./mastra-core/agent.js'))

const MINUTE = 60_000
const NUDGE = { name: 'nudge', in: '10 minutes', cancel_on_reply: true }

let model: FakeModel | undefined
afterEach(async () => {
  vi.unstubAllEnvs()
  await model?.stop()
})

async function told(...answers: Say[]): Promise<FakeModel> {
  model = await fakeModel(...answers)
  vi.stubEnv('WAKEFUL_MODEL_URL', model.url)
  vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
  vi.stubEnv('WAKEFUL_MODEL_KEY', 'secret')
  return model
}

async function exampleOf(framework: Framework): Promise<[string, Agent]> {
  const path = `../../examples/${framework}/app.mjs`
  const made = (await import(path)) as { default: { agents: { helper: Agent } } }
  return [framework, made.default.agents.helper]
}

/** With a tool that wants leave, which the example of Mastra has not: there it takes a storage. */
const ordering = mastraAgent((turn) => {
  const order_flour = {
    description: 'Order flour.',
    requireApproval: true,
    inputSchema: { jsonSchema: { type: 'object' } },
    execute: async ({ kilos }: { kilos: number }) => {
      turn.state.ordered = Number(turn.state.ordered ?? 0) + kilos
      return `${kilos} kg are ordered.`
    },
  }
  const { WAKEFUL_MODEL_URL: url } = process.env
  const settings = { id: 'h', model: { id: 'endpoint/fake-1', url, apiKey: 'secret' } }
  return new StandIn({ ...settings, tools: { order_flour } })
})
const agents = {
  ...Object.fromEntries(await Promise.all(FRAMEWORKS.map(exampleOf))),
  ordering,
}

eachStore('an agent of another framework', (store) => {
  const at = sharedStage(store, { agents })
  const say = async (agent: string, text: string) => {
    const posted = await at().call('POST', `/v1/sessions/ann:${agent}:main/messages`, { text })
    expect(posted.status).toBe(202)
    await at().settle()
  }
  const ordered = async (): Promise<unknown> => {
    const [row] = await at().query(
      'select checkpoint from wakeful.checkpoints order by created_at desc, checkpoint_id desc limit 1',
    )
    return JSON.parse(row?.checkpoint ?? '{}').ordered
  }

  it.each(FRAMEWORKS)(
    '%s: answers, remembers, looks in again and is silent where it wants',
    async (name) => {
      const { asked } = await told(
        using('schedule', { ...NUDGE, note: 'ask what kind' }),
        saying('Nice!'),
        using('send_message', { text: 'Rye or wheat?' }),
        saying('I have asked.'),
        using('schedule', NUDGE),
        saying('Good.'),
        using('stay_silent', { reason: 'they bake' }),
        saying('I stay silent.'),
      )
      const made = at()
      await say(name, 'I bake bread.')
      await made.advanceBy(9 * MINUTE)
      expect(await sent(made)).toEqual(['Nice!'])
      await made.advanceBy(2 * MINUTE)
      expect(await sent(made)).toEqual(['Nice!', 'Rye or wheat?'])
      await say(name, 'Rye.')
      await made.advanceBy(30 * MINUTE)
      expect(await sent(made)).toEqual(['Nice!', 'Rye or wheat?', 'Good.'])
      const said = asked.map(({ body }) => body.messages.map(({ role }) => role[0]).join(''))
      expect(said).toEqual([
        'su',
        'suat',
        'suatau',
        'suatauat',
        'suatauatau',
        'suatauatauat',
        'suatauatauatau',
        'suatauatauatauat',
      ])
      expect(JSON.stringify(asked[2]?.body.messages.at(-1))).toContain('ask what kind')
      expect(asked[0]).toMatchObject({
        headers: { authorization: 'Bearer secret' },
        body: { model: 'fake-1' },
      })
      expect(await turns(made)).toMatchObject([
        { status: 'committed' },
        { status: 'committed' },
        { status: 'committed' },
        { status: 'committed' },
      ])
    },
  )

  it.each(FRAMEWORKS)(
    '%s: sets an alarm with its turn, is woken by it, and reports its tokens and how often it asked its model',
    async (name) => {
      const { asked } = await told(
        using('schedule', { name: 'oven', every: 'nonsense', note: 'x' }),
        using('schedule', { name: 'oven', in: '20 minutes', note: 'the oven is hot' }),
        saying('I will tell you.'),
        using('send_message', { text: 'The oven is hot!' }),
        saying(''),
      )
      const made = at()
      await say(name, 'Tell me when the oven is hot, in 20 minutes.')
      await made.settle()
      expect(JSON.stringify(asked[1]?.body.messages.at(-1))).toContain(
        'Refused, nothing was changed',
      )
      expect(await made.query('select agent_id, conversation_id from wakeful.alarms')).toEqual([
        { agent_id: name, conversation_id: 'main' },
      ])
      await made.advanceBy(20 * MINUTE)
      expect(asked[3]?.body.messages.at(-1)?.content).toMatch(
        /^\[now: .*; the person's time zone is not known\]\n\[why you run: alarm "oven", due Thursday 2026-01-01 00:20 UTC; set Thursday 2026-01-01 00:00 UTC by you, when the user wrote "Tell me when the oven is hot, in 20 minutes\."\]\nthe oven is hot\n\n\[The user has not written\. Call send_message/,
      )
      expect(await sent(made)).toEqual(['I will tell you.', 'The oven is hot!'])
      const spent = await made.query<{ metadata: string }>(
        'select metadata from wakeful.checkpoints order by created_at, checkpoint_id',
      )
      expect(spent.map(({ metadata }) => JSON.parse(metadata).spent)).toEqual([
        { tokens: 45, usd: 0, calls: 3 },
        { tokens: 30, usd: 0, calls: 2 },
      ])
    },
  )

  it.each(FRAMEWORKS)('%s: tells the model the time and zone of the person', async (name) => {
    const { asked } = await told(saying('Good morning.'))
    const made = at()
    await made.call('PUT', '/v1/people/ann', { timezone: 'Asia/Tokyo' })
    await say(name, 'Hello!')
    expect(asked[0]?.body.messages.at(-1)?.content).toMatch(
      /^\[now: Thursday 2026-01-01 \d\d:\d\d Asia\/Tokyo\]\nHello!$/,
    )
  })

  it.each(FRAMEWORKS)(
    '%s: asks before a tool that wants leave, and does as it is told',
    async (name) => {
      const { asked } = await told(
        using('order_flour', { kilos: 5 }),
        saying('Ordered.'),
        using('order_flour', { kilos: 7 }),
        saying('Then not.'),
        using('order_flour', { kilos: 9 }),
        saying('As you like.'),
        saying('It is noon.'),
      )
      const made = at()
      const agent = name === 'mastra' ? 'ordering' : name
      const answer = async (text: string) => {
        await say(agent, text)
        return (await sent(made)).at(-1)
      }
      expect(await answer('We need flour.')).toMatch(
        /^May I do this\? order_flour .*5.*\nAnswer yes or no\.$/,
      )
      expect(await ordered()).toBeUndefined()
      expect(await answer('Yes!')).toBe('Ordered.')
      expect(await ordered()).toBe(5)
      expect(JSON.stringify(asked[1]?.body.messages.at(-1))).toContain('5 kg are ordered.')
      expect(await answer('More.')).toMatch(/^May I do this/)
      expect(await answer('no')).toBe('Then not.')
      expect(await answer('More!')).toMatch(/^May I do this/)
      // Something else comes between: it is answered, and the flour is not ordered.
      expect(await answer('What time is it?')).toBe('It is noon.')
      expect(asked.at(-1)?.body.messages.at(-1)?.content).toMatch(
        /^\[now: .*\]\nWhat time is it\?$/,
      )
      expect(await ordered()).toBe(5)
      expect(asked).toHaveLength(7)
      const kept = await made.query<{ metadata: string }>(
        'select metadata from wakeful.checkpoints',
      )
      const calls = kept.map(({ metadata }) => JSON.parse(metadata).spent.calls as number)
      expect(calls.reduce((sum, each) => sum + each, 0)).toBe(7)
      expect((await turns(made)).every(({ status }) => status === 'committed')).toBe(true)
    },
  )

  it.each(FRAMEWORKS)('%s: gives up at once where no retry helps', async (name) => {
    const { asked } = await told(json(401, { error: { message: 'no such key' } }))
    const made = at()
    await say(name, 'Hello.')
    await made.advanceBy(60 * MINUTE)
    expect(asked).toHaveLength(1)
    expect(await turns(made)).toMatchObject([
      { status: 'failed', error: expect.stringContaining('no such key') },
    ])
  })
})
