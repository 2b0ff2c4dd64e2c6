/** What reaches the model: the time in the person's zone, why the turn runs, and no more of the conversation than it should be shown. */
import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import type { ToolLoopAgent } from 'ai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { aiSdkAgent } from '../../packages/ai-sdk/src/index.ts'
import { langGraphAgent } from '../../packages/langgraph/src/index.ts'
import { causeText } from '../../packages/tools/src/prompt.ts'
import type { Turn } from '../../src/index.ts'
import { type FakeModel, fakeModel, type Say } from '../agents/fake-model.ts'
import { oneNode, sent } from '../langgraph/graphs.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { ADAPTERS, exampleOf, saying, using } from './frameworks.ts'

// The examples name the package; here that is the source, not what was built last.
vi.mock('wakeful', () => import('../../src/index.ts'))
vi.mock('wakeful/ai-sdk', () => import('../../packages/ai-sdk/src/index.ts'))
vi.mock('wakeful/openai-agents', () => import('../../packages/openai-agents/src/index.ts'))
vi.mock('wakeful/mastra', () => import('../../packages/mastra/src/index.ts'))
vi.mock('wakeful/langgraph', () => import('../../packages/langgraph/src/index.ts'))
vi.mock('wakeful/claude-agent-sdk', () => import('../../packages/claude-agent-sdk/src/index.ts'))
vi.mock('@mastra/core/agent', () => import('./mastra-core/agent.js'))

const HOUR = 3_600_000

let model: FakeModel | undefined
afterEach(async () => {
  vi.unstubAllEnvs()
  await model?.stop()
})

async function modelOf(...answers: Say[]): Promise<FakeModel> {
  model = await fakeModel(...answers)
  vi.stubEnv('WAKEFUL_MODEL_URL', model.url)
  vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
  return model
}

const agents = Object.fromEntries(await Promise.all(ADAPTERS.map(exampleOf)))

eachStore('the prompt', (store) => {
  const at = sharedStage(store, { agents })
  const promptIn = (fake: FakeModel) =>
    fake.asked
      .at(-1)
      ?.body.messages.map(({ content }) => String(content))
      .join('\n') ?? ''

  it.each(ADAPTERS)('of %s over a message has the time, weekday and zone', async (name) => {
    const fake = await modelOf(saying('Good morning.'))
    await at().call('PUT', '/v1/people/ann', { timezone: 'Asia/Tokyo' })
    await at().call('POST', `/v1/sessions/ann:${name}:main/messages`, { text: 'Hello!' })
    await at().settle()
    expect(promptIn(fake)).toMatch(/\[now: Thursday 2026-01-01 09:00 Asia\/Tokyo\]/)
    expect(promptIn(fake)).not.toContain('why you run')
  })

  it.each(ADAPTERS)(
    'of %s has what was scheduled, by whom, how late and what was missed',
    async (name) => {
      const fake = await modelOf(using('stay_silent', { reason: 'x' }), saying(''))
      await at().call('PUT', '/v1/people/ann', { timezone: 'Asia/Tokyo' })
      const alarm = {
        ...{ schedule: 'every day at 9:30', timezone: 'Asia/Tokyo', label: 'plan' },
        ...{ wake_message: 'plan the day', agent_id: name, conversation_id: 'main' },
      }
      await at().set(alarm, { 'wakeful-act-as': 'ann' })
      at().sleep(50 * HOUR)
      await at().settle()
      await at().advanceBy(90_000)
      expect(promptIn(fake)).toContain('[now: Saturday 2026-01-03 11:0')
      expect(promptIn(fake)).toMatch(
        /\[why you run: alarm "plan", due Thursday 2026-01-01 09:30 Asia\/Tokyo, 2 days 2 h ago; set Thursday 2026-01-01 09:00 Asia\/Tokyo over the API; 2 more slots were missed, from Friday 2026-01-02 09:30 Asia\/Tokyo to Saturday 2026-01-03 09:30 Asia\/Tokyo\]/,
      )
      expect(promptIn(fake)).toContain('plan the day')
    },
  )
})

describe('the cause', () => {
  const root = (kind: string, depth = 1, origin = '') =>
    `${depth}.${Math.floor(Date.UTC(2026, 0, 1) / 1000).toString(36)}.${kind}.0190${origin}`
  const place = { timezone: 'UTC', now: new Date(Date.UTC(2026, 0, 2)) }
  const cause = { scheduled_for: null, set_at: null, message: null }
  it.each([
    ['message', root('message'), 'by you'],
    ['later turn', root('message', 3), 'by you, in a later turn'],
    ['key', root('agent_key'), 'by you, with a key of your own'],
    ['call', root('call'), 'over the API'],
    ['tool', root('tool_result'), 'by you, over the result of a tool'],
    ['outside', root('call', 2, '.news'), 'content from outside (news) led to it'],
  ])('by %s', (_, lineage, words) => {
    const text = causeText('timer', { timer_id: 'nudge' }, { ...cause, lineage }, place)
    expect(text).toContain('why you run: follow-up "nudge"')
    expect(text).toContain(words)
    expect(text).toContain('set Thursday 2026-01-01 00:00 UTC')
  })

  it('of a slot that preferences held back names the rule', () => {
    const deferred = { from: '2026-01-01T22:00:00Z', rule: 'quiet_hours' }
    expect(causeText('intent', { intent_name: 'n', deferred }, null, place)).toBe(
      'why you run: intent "n", held back from Thursday 2026-01-01 22:00 UTC (quiet_hours)',
    )
  })
})

eachStore('a graph that sees its messages alone', (store) => {
  it('finds the time and the cause in them', async () => {
    const seen: string[][] = []
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('only', ({ messages }: { messages: BaseMessage[] }) => {
        seen.push(messages.map(({ text }) => text))
        return { messages: [new AIMessage('hm')] }
      })
      .addEdge(START, 'only')
      .addEdge('only', END)
    const made = await world(store, { graph: langGraphAgent(graph) })
    await made.say('ann:graph:main', 'hello')
    await made.settle()
    await made.call('put_timer', {
      session_key: 'ann:graph:main',
      timer_id: 'n',
      delay_seconds: 60,
    })
    await made.advanceBy(60_000)
    expect(seen[0]).toEqual([expect.stringMatching(/^\[now: .*\]\nhello$/)])
    expect(seen[1]?.at(-1)).toMatch(/\[why you run: follow-up "n"/)
    expect(await sent(made)).toEqual(['hm'])
  })
})

eachStore('before(turn)', (store) => {
  const KEY = 'ann:bot:main'
  const before = (turn: Turn) => turn.event.type === 'user_message'

  it.each(['AI SDK', 'LangGraph'])(
    'false ends the turn of %s before any model is asked',
    async (name) => {
      let asked = 0
      const generate = async () => {
        asked++
        const response = { messages: [] }
        return { text: 'hello', content: [], response, totalUsage: {} }
      }
      const graph = oneNode(() => {
        asked++
        return { messages: [new AIMessage('hello')] }
      })
      const bot =
        name === 'AI SDK'
          ? aiSdkAgent(() => ({ generate }), { before })
          : langGraphAgent(graph, { before })
      const made = await world(store, { bot })
      await made.say(KEY, 'hi')
      await made.settle()
      await made.call('put_timer', { session_key: KEY, timer_id: 'n', delay_seconds: 60 })
      await made.advanceBy(60_000)
      expect(asked).toBe(1)
      expect(await sent(made)).toEqual(['hello'])
      const { data } = (await made.call('list_turns', { session_key: KEY })) as {
        data: { verdicts: object[] }[]
      }
      expect(data.at(-1)?.verdicts).toEqual([
        { allowed: true, rule: 'silent', reason: 'before() answered false' },
      ])
    },
  )
})

eachStore('compact(turn, messages)', (store) => {
  it('is what the model is shown, and what is remembered', async () => {
    const shown: number[] = []
    const answer = { role: 'assistant', content: 'yes' }
    const bot = aiSdkAgent(
      () =>
        ({
          async generate({ messages }: { messages: unknown[] }) {
            shown.push(messages.length)
            return { text: 'yes', content: [], response: { messages: [answer] }, totalUsage: {} }
          },
        }) as unknown as ToolLoopAgent,
      { compact: (turn, messages) => (turn.event.seq === 3 ? [] : messages) },
    )
    const made = await world(store, { bot })
    for (const text of ['one', 'two', 'three', 'four']) {
      await made.say('ann:bot:main', text)
      await made.settle()
    }
    expect(shown).toEqual([1, 3, 1, 3])
  })
})
