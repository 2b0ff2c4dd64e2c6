/** The tools of a turn: small, bound to the turn, in the shapes of frameworks and raw SDKs. */
import { afterEach, expect, it, vi } from 'vitest'
import { toolsFor } from '../../packages/tools/src/index.ts'
import { type TurnToolOptions, toolsOfTurn } from '../../packages/tools/src/turn-tools.ts'
import type { Turn } from '../../src/index.ts'
import { type FakeModel, fakeModel, json, type Say } from '../agents/fake-model.ts'
import { sent, turns } from '../langgraph/graphs.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
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
const ALL = [...ADAPTERS, 'openai', 'anthropic'] as const
type Each = (typeof ALL)[number]

let model: FakeModel | undefined
afterEach(async () => {
  vi.unstubAllEnvs()
  await model?.stop()
})

const block = (content: object, stop_reason: string): Say =>
  json(200, {
    ...{ id: 'msg', type: 'message', role: 'assistant', model: 'fake-1', stop_reason },
    content: [content],
    usage: { input_tokens: 10, output_tokens: 5 },
  })

/** The same answers in the words of the adapter's endpoint. */
const wireOf = (adapter: Each) =>
  adapter === 'anthropic'
    ? {
        saying: (text: string) => block({ type: 'text', text }, 'end_turn'),
        using: (name: string, input: object) =>
          block({ type: 'tool_use', id: 'call', name, input }, 'tool_use'),
      }
    : { saying, using }

async function modelOf(...answers: Say[]): Promise<FakeModel> {
  model = await fakeModel(...answers)
  vi.stubEnv('WAKEFUL_MODEL_URL', model.url)
  vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
  return model
}

const agents = Object.fromEntries(await Promise.all(ALL.map(exampleOf)))

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

eachStore('the tools of a turn', (store) => {
  const at = sharedStage(store, { agents })

  it.each(ALL)('%s: what is scheduled comes back into the same conversation', async (name) => {
    const say = wireOf(name)
    const { asked } = await modelOf(
      say.using('schedule', { name: 'oven', every: 'nonsense' }),
      say.using('schedule', { name: 'oven', in: '20 minutes', note: 'the oven is hot', at: null }),
      say.saying('I will tell you.'),
      say.using('send_message', { text: 'The oven is hot!' }),
      say.saying('Told.'),
    )
    const made = at()
    await made.call('PUT', '/v1/people/ann', { timezone: 'Europe/Berlin' })
    const path = `/v1/sessions/ann:${name}:main`
    await made.call('POST', `${path}/messages`, { text: 'Tell me when the oven is hot.' })
    await made.settle()
    const results = JSON.stringify(asked.slice(1, 3))
    expect(results).toContain('Refused, nothing was changed')
    expect(results).toContain('Scheduled \\\\"oven\\\\"'.replaceAll('\\\\', '\\'))
    expect(results).toContain('Thursday 2026-01-01 01:20 (Europe/Berlin)')
    expect(await sent(made)).toEqual(['I will tell you.'])
    await made.advanceBy(20 * MINUTE)
    expect(await sent(made)).toEqual(['I will tell you.', 'The oven is hot!'])
    const woken = JSON.stringify(asked[3]?.body.messages)
    expect(woken).toContain('I will tell you.')
    expect(woken).toContain('[why you run: alarm')
    expect(woken).toContain('when the user wrote')
    expect(woken).toContain('the oven is hot')
    expect(await turns(made)).toMatchObject([{ status: 'committed' }, { status: 'committed' }])
  })

  it.each(ALL)('%s: offers at most 8 kB of tools, 6 kB of them parameters', async (name) => {
    const { asked } = await modelOf(wireOf(name).saying('hm'))
    await at().set(
      { schedule: 'in 1 minute', wake_message: 'x', agent_id: name, conversation_id: 'main' },
      { 'wakeful-act-as': 'ann' },
    )
    await at().advanceBy(MINUTE)
    type Offered = { function?: Offered; name: string; parameters?: object; input_schema?: object }
    const { tools = [] } = (asked[0]?.body ?? {}) as { tools?: Offered[] }
    const own = tools
      .map((tool) => tool.function ?? tool)
      .filter((tool) => tool.name !== 'order_flour')
    expect(own.map((tool) => tool.name)).toEqual([
      ...['schedule', 'list_scheduled', 'cancel_scheduled', 'ask_user'],
      ...['send_message', 'stay_silent'],
    ])
    expect(sizeOf(tools)).toBeLessThanOrEqual(8 * 1024)
    const schemas = own.map((tool) => tool.parameters ?? tool.input_schema)
    expect(sizeOf(schemas)).toBeLessThanOrEqual(6 * 1024)
  })
})

eachStore('a tool', (store) => {
  const KEY = 'ann:bot:main'
  const lived = async (act: (turn: Turn) => Promise<void>) => {
    const made = await world(store, { bot: act })
    await made.say(KEY, 'hello')
    await made.settle()
    return made
  }
  const toolOf = (turn: Turn, name: string, options?: TurnToolOptions) =>
    toolsOfTurn(turn, options).find((tool) => tool.name === name)

  it('lists and cancels what was scheduled, and says what does not exist', async () => {
    const heard: (string | undefined)[] = []
    await lived(async (turn) => {
      const run = async (name: string, args: object) => {
        heard.push(await toolOf(turn, name)?.run(args))
      }
      await run('list_scheduled', {})
      await run('schedule', {
        name: 'plan',
        every: 'weekday at 8:30',
        note: 'plan the day',
        when: {},
      })
      await run('schedule', { name: 'nvda', when: { price: 'NVDA', below: 130, news: null } })
      await run('list_scheduled', {})
      await run('cancel_scheduled', { name: 'plan' })
      await run('cancel_scheduled', { name: 'plan' })
    })
    expect(heard).toEqual([
      'Nothing is scheduled.',
      expect.stringMatching(
        /^Scheduled "plan": every weekday at 08:30.* Next: Thursday 2026-01-01 08:30/,
      ),
      expect.stringMatching(/^Scheduled "nvda": when NVDA/),
      expect.stringMatching(/^plan: every weekday.*: plan the day\nnvda: when NVDA/),
      expect.stringMatching(/^Cancelled "plan": every weekday at 08:30/),
      expect.stringMatching(/^Refused, nothing was changed:\n- nothing is scheduled under "plan"/),
    ])
  })

  it('asks the person', async () => {
    const made = await lived(async (turn) => {
      await toolOf(turn, 'ask_user')?.run({
        question: 'Rye?',
        options: ['Rye', 'Wheat'],
        until: '',
      })
    })
    expect(await sent(made)).toEqual(['Rye?'])
    expect(await made.query('select options from wakeful.questions')).toMatchObject([
      { options: expect.anything() },
    ])
  })

  it('is left out by only, and added by also', async () => {
    await lived(async (turn) => {
      const names = (options?: TurnToolOptions) =>
        toolsOfTurn(turn, options).map(({ name }) => name)
      expect(names()).not.toContain('stay_silent')
      expect(names({ only: ['schedule'], also: ['explain'] })).toEqual(['schedule', 'explain'])
      expect(() => names({ only: ['set_alarm'] })).toThrow(
        'there is no set_alarm; there are schedule',
      )
      expect(await toolOf(turn, 'explain', { also: ['explain'] })?.run({})).toContain('woken')
      expect(toolsFor.openai(turn).map((tool) => tool.function.name)).toEqual(names())
      expect(toolsFor.anthropic(turn).map(({ name }) => name)).toEqual(names())
      turn.say('ok')
    })
  })
})
