/** Rule 50: in a turn that no user message began, a model speaks or stays silent by a tool call. Its text is never delivered. */
import { afterEach, expect, it, vi } from 'vitest'
import { type FakeModel, fakeModel, type Say } from '../agents/fake-model.ts'
import { sent } from '../langgraph/graphs.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { ADAPTERS, exampleOf, saying, using } from './frameworks.ts'

// The examples name the package; here that is the source, not what was built last.
vi.mock('wakeful', () => import('../../src/index.ts'))
vi.mock('wakeful/ai-sdk', () => import('../../packages/ai-sdk/src/index.ts'))
vi.mock('wakeful/openai-agents', () => import('../../packages/openai-agents/src/index.ts'))
vi.mock('wakeful/mastra', () => import('../../packages/mastra/src/index.ts'))
vi.mock('wakeful/langgraph', () => import('../../packages/langgraph/src/index.ts'))
vi.mock('wakeful/claude-agent-sdk', () => import('../../packages/claude-agent-sdk/src/index.ts'))
vi.mock('@mastra/core/agent', () => import('./mastra-core/agent.js'))

const MINUTE = 60_000
const NARRATIONS = [
  'NOTHING',
  'NOTHING.',
  'NOTHING - all quiet',
  'Nothing to report.',
  'I will stay silent.',
  'I will remain silent for now, since the user has not written.',
  'No action needed.',
  'No response is necessary.',
  'No follow-up is needed at this time.',
  'OK',
  'Done.',
  '(silence)',
  '*stays silent*',
  '[no message]',
  'stay_silent',
  '{"action":"stay_silent","reason":"all quiet"}',
  '<stay_silent/>',
  'The reminder has been noted. I do not need to write to the user.',
  'As the user is probably asleep, I decided not to send a message.',
  'Good morning! Your plan for today is empty.',
]

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

eachStore('a turn that no user message began', (store) => {
  const at = sharedStage(store, { agents })
  const wake = (agent: string, schedule: string) =>
    at().set(
      { schedule, wake_message: 'look around', agent_id: agent, conversation_id: 'main' },
      { 'wakeful-act-as': 'ann' },
    )
  const verdicts = async (agent: string) => {
    const { data } = (await at().call('GET', `/v1/sessions/ann:${agent}:main/turns`)).body
    return (data as { verdicts: object[] }[]).map((turn) => turn.verdicts)
  }

  it.each(ADAPTERS)('%s: delivers no narration, and records each as undecided', async (name) => {
    const { asked } = await modelOf(...NARRATIONS.map((text) => saying(text)))
    await wake(name, 'every 10 minutes')
    await at().advanceBy(NARRATIONS.length * 10 * MINUTE)
    expect(asked).toHaveLength(NARRATIONS.length)
    expect(await sent(at())).toEqual([])
    expect(await verdicts(name)).toEqual(
      NARRATIONS.map((text) => [{ allowed: true, rule: 'undecided', text }]),
    )
    const { data } = (await at().call('GET', '/v1/ledger?user_id=ann')).body
    expect(data[0]).toMatchObject({ outcome: 'silent', reason: { rule: 'undecided' } })
    expect(data.at(-1).words).toContain('it wrote, not delivered: "NOTHING"')
  })

  it.each(ADAPTERS)('%s: narrates over no other event either', async (name) => {
    await modelOf(saying('NOTHING - all quiet'))
    const path = `/v1/sessions/ann:${name}:main`
    await at().call('POST', `${path}/tool-results`, { tool_id: 'search', payload: { hits: 0 } })
    await at().call('PUT', `${path}/timers/again`, { delay_seconds: 1 })
    await at().call('POST', '/v1/intents', {
      user_id: 'ann',
      agent_id: name,
      thread_id: 'main',
      intent_name: 'look',
      trigger_type: 'cron',
      trigger_schedule: { cron: '0 * * * *' },
      action_context: 'look around',
    })
    await at().advanceBy(90 * MINUTE)
    const rules = (await verdicts(name)).flat() as { rule: string }[]
    expect(rules.map(({ rule }) => rule)).toEqual(['undecided', 'undecided', 'undecided'])
    expect(await sent(at())).toEqual([])
  })

  it.each(ADAPTERS)('%s: sends what the model sends by the tool, and no more', async (name) => {
    const { asked } = await modelOf(
      using('send_message', { text: 'The oven is hot!' }),
      saying('I have told them.'),
    )
    await wake(name, 'in 1 minute')
    await at().advanceBy(MINUTE)
    expect(await sent(at())).toEqual(['The oven is hot!'])
    const said = (await verdicts(name)).flat()
    expect(said).toContainEqual({ allowed: true, rule: 'promised' })
    if (asked.length > 1)
      expect(said).toContainEqual({
        ...{ allowed: true, rule: 'not_delivered', text: 'I have told them.' },
      })
  })

  it.each(ADAPTERS)('%s: keeps the reason of a silence', async (name) => {
    await modelOf(using('stay_silent', { reason: 'they sleep' }), saying(''))
    await wake(name, 'in 1 minute')
    await at().advanceBy(MINUTE)
    expect(await sent(at())).toEqual([])
    expect(await verdicts(name)).toEqual([
      [{ allowed: true, rule: 'silent', reason: 'they sleep' }],
    ])
  })

  it.each(ADAPTERS)('%s: is not offered silence over a message', async (name) => {
    const { asked } = await modelOf(saying(''), saying(''), saying(''), saying(''))
    await at().call('POST', `/v1/sessions/ann:${name}:main/messages`, { text: 'hello' })
    await at().advanceBy(MINUTE)
    expect(asked).toHaveLength(4)
    expect(JSON.stringify(asked[0]?.body)).not.toContain('stay_silent')
    // Rule 50: a model without an answer has failed.
    expect(await sent(at())).toEqual(['Sorry, something went wrong. Please try again.'])
  })
})
