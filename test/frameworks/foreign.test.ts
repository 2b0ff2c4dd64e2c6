/** What agents of other frameworks share: what is kept, what counts as an answer, and that a turn which is over stops its model. */
import { ToolLoopAgent } from 'ai'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { aiSdkAgent } from '../../packages/ai-sdk/src/index.ts'
import { mastraAgent } from '../../packages/mastra/src/index.ts'
import { openAiAgent } from '../../packages/openai-agents/src/index.ts'
import { newest } from '../../packages/tools/src/compact.ts'
import type { TurnInput } from '../../src/agents/agent.ts'
import { yesOrNo } from '../../src/features/questions/rules.ts'
import { type FakeModel, fakeModel } from '../agents/fake-model.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ref, world } from '../setup/worlds.ts'
import { FRAMEWORKS, type Framework } from './frameworks.ts'
import { Agent as StandIn } from './mastra-core/agent.js'

const text = fc.string({ maxLength: 40 })
/** A turn of a conversation: a message of the user, tool calls with their results, an answer. */
const exchange = fc
  .tuple(text, fc.array(text, { maxLength: 4 }), text)
  .map(([said, calls, answer]) => [
    { role: 'user', content: said },
    ...calls.flatMap((input, at) => [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: `call-${at}`, input }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: `call-${at}` }] },
    ]),
    { role: 'assistant', content: answer },
  ])

describe('what a model is shown of a long conversation', () => {
  it('is the newest within the budget, and no tool call is parted from its result', () => {
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 12 }), fc.nat(400), (exchanges, tokens) => {
        const all = exchanges.flat()
        const shown = newest(all, tokens) as { role: string }[]
        const bytes = (messages: unknown[]) =>
          messages.reduce<number>((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
        expect(shown).toEqual(all.slice(all.length - shown.length))
        expect(bytes(shown)).toBeLessThanOrEqual(tokens * 4)
        expect(shown[0]?.role ?? 'user').toBe('user')
        // Nothing is left out that would have fitted.
        const older = all.slice(0, all.length - shown.length)
        const more = older.slice(older.findLastIndex(({ role }) => role === 'user'))
        if (older.length > 0) expect(bytes(more) + bytes(shown)).toBeGreaterThan(tokens * 4)
      }),
    )
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
