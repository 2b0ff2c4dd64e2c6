/** What agents of other frameworks share: what is kept, what counts as an answer, and that a turn which is over stops its model. */
import { ToolLoopAgent } from 'ai'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { aiSdkAgent } from '../../packages/ai-sdk/src/index.ts'
import { mastraAgent } from '../../packages/mastra/src/index.ts'
import { openAiAgent } from '../../packages/openai-agents/src/index.ts'
import { remembered } from '../../packages/tools/src/framework-agent.ts'
import type { TurnInput } from '../../src/agents/agent.ts'
import { yesOrNo } from '../../src/features/questions/rules.ts'
import { type FakeModel, fakeModel } from '../agents/fake-model.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ref, world } from '../setup/worlds.ts'
import { FRAMEWORKS, type Framework } from './frameworks.ts'
import { Agent as StandIn } from './mastra-core/agent.js'

const role = fc.constantFrom('user', 'assistant', 'tool')
const message = fc.record({ role, content: fc.string({ unit: 'binary' }) })

describe('what is remembered', () => {
  it('is the newest, begins with the user, and can be kept', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 30 }),
        fc.integer({ min: 1, max: 30 }),
        (all, most) => {
          const kept = remembered(all, most) as { role: string; content: string }[]
          expect(kept.length).toBeLessThanOrEqual(Math.max(most, 0))
          expect(kept.map((each) => each.role)).toEqual(
            all.slice(all.length - kept.length).map((each) => each.role),
          )
          if (kept.length < all.length && kept.length > 0) expect(kept[0]?.role).toBe('user')
          // Nothing is forgotten without need.
          if (all.length <= most) expect(kept).toHaveLength(all.length)
          expect(JSON.stringify(kept)).not.toMatch(/\\u0000|\\ud[89a-f]/i)
        },
      ),
    )
  })

  it('is bounded in bytes', () => {
    const long = { role: 'user', content: 'x'.repeat(100_000) }
    expect(remembered(Array(20).fill(long), 200)).toHaveLength(5)
  })
})

it.each([
  ['Yes!', 'yes'],
  [' ok ', 'yes'],
  ['no.', 'no'],
  ['No thanks', 'no'],
  ['yes, but only half', null],
  ['what?', null],
  ['', null],
])('reads %j as %s', (text, answer) => {
  expect(yesOrNo(text)).toBe(answer)
})

describe('a turn that is over', () => {
  let model: FakeModel | undefined
  afterEach(() => model?.stop())

  /** As short as each can be. */
  async function agentOf(framework: Framework, url: string) {
    if (framework === 'ai-sdk') {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const endpoint = createOpenAICompatible({ name: 'endpoint', baseURL: url })
      return aiSdkAgent(({ tools }) => new ToolLoopAgent({ model: endpoint('fake-1'), tools }))
    }
    if (framework === 'mastra')
      return mastraAgent(new StandIn({ id: 'h', model: { id: 'endpoint/fake-1', url } }))
    const { Agent } = await import('@openai/agents-core')
    const { OpenAIChatCompletionsModel } = await import('@openai/agents-openai')
    const { default: OpenAI } = await import('openai')
    const client = new OpenAI({ baseURL: url, apiKey: 'none' })
    const chat = new OpenAIChatCompletionsModel(client, 'fake-1')
    return openAiAgent(({ tools }) => new Agent({ name: 'h', model: chat, tools }))
  }

  it.each(FRAMEWORKS)('ends the call of the model of %s', async (framework) => {
    let left = false
    model = await fakeModel((response) => {
      response.on('close', () => {
        left = true
      })
    })
    const agent = await agentOf(framework, model.url)
    const ending = new AbortController()
    const event = { id: 'e', seq: 1, type: 'user_message', payload: '{"text":"hi"}' }
    const turn = { session: ref('ann:h:t'), event, state: null, signal: ending.signal }
    const running = agent.run({ ...turn, startedAt: new Date(0) } as unknown as TurnInput)
    running.catch(() => undefined)
    await until('the model is asked', () => (model?.asked.length ?? 0) > 0)
    ending.abort(new Error('time is up'))
    await expect(running).rejects.toThrow('time is up')
    await until('the call has ended', () => left)
  })
})

eachStore('turn.spent', (store) => {
  it('adds up, is kept with the turn, and takes amounts alone', async () => {
    const made = await world(store, {
      bot: (turn) => {
        turn.spent({ tokens: 10 })
        turn.spent({ tokens: 5, usd: 0.25 })
        expect(() => turn.spent({ tokens: -1 })).toThrow('each a number from 0 on')
      },
    })
    await made.say('ann:bot:t', 'hello')
    await made.settle()
    const [row] = await made.query<{ metadata: string }>('select metadata from wakeful.checkpoints')
    expect(JSON.parse(row?.metadata ?? '{}')).toMatchObject({
      spent: { tokens: 15, usd: 0.25 },
      event_seq: 1,
    })
  })
})
