/** What agents announce is set, too, or is marked: the look of a chat model at answers that nothing stands behind. */

import { beforeEach, expect, it } from 'vitest'
import { backed, REMARK } from '../../packages/promise-check/src/backed.ts'
import type { Agent, TurnInput } from '../../src/agents/agent.ts'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { readConfig } from '../../src/app/packs.ts'
import { afterEachTest } from '../setup/ends.ts'
import { type Row, type Stage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { type FakeModel, fakeModel, json, saying } from './fake-model.ts'

const PROMISE = 'I will remind you tomorrow at 9.'
const SETTINGS = { WAKEFUL_MODEL: 'tiny', WAKEFUL_CHECK_PROMISES: 'true' }
const UNBACKED = { allowed: true, rule: 'unbacked' }

eachStore('announcements', (store) => {
  let s: Stage
  let model: FakeModel
  let act: (turn: Turn) => unknown
  let remarks: (string | null)[]

  beforeEach(async () => {
    remarks = []
    model = await fakeModel()
    afterEachTest(() => model.stop())
    const bot = (turn: Turn) => {
      remarks.push(turn.remark)
      return act(turn)
    }
    const env = { ...SETTINGS, WAKEFUL_MODEL_URL: model.url }
    s = await stage(await store.database(), { agents: { bot }, env })
  })

  async function said(): Promise<{ messages: string[]; verdicts: unknown[] }> {
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'remind me' })
    await s.settle()
    const effects = await s.query<Row>(
      `select payload ->> 'content' as content from wakeful.effects where type = 'send_message' order by position`,
    )
    const turns = await s.call('GET', '/v1/sessions/ann:bot:t/turns')
    const { verdicts } = turns.body.data[0]
    return { messages: effects.map(({ content }) => String(content)), verdicts }
  }

  it('what is announced and not set goes back once, and of the first answer nothing is written', async () => {
    model.answers = [saying('Yes.')]
    act = (turn) => {
      turn.state.runs = ((turn.state.runs as number | undefined) ?? 0) + 1
      if (turn.remark === null) turn.say(PROMISE)
      else commands.promise(turn, PROMISE, { schedule: 'tomorrow at 9am' })
    }
    expect(await said()).toEqual({ messages: [PROMISE], verdicts: [] })
    expect(remarks).toEqual([null, REMARK])
    expect(await s.query('select 1 from wakeful.alarms')).toHaveLength(1)
    expect(await s.query<Row>('select checkpoint::text as state from wakeful.checkpoints')).toEqual(
      [{ state: '{"runs":1}' }],
    )
    expect(model.asked).toHaveLength(1)
    expect(model.asked[0]?.body.messages.at(-1)?.content).toBe(PROMISE)
  })

  it('what still has nothing behind it is sent, once, and marked', async () => {
    model.answers = [saying('yes')]
    act = (turn) => turn.say(turn.remark === null ? PROMISE : 'I will, tomorrow.')
    expect(await said()).toEqual({ messages: ['I will, tomorrow.'], verdicts: [UNBACKED] })
    expect([remarks.length, model.asked.length]).toEqual([2, 2])
  })

  it('invariant 11: the ledger tells it of a slot', async () => {
    model.answers = [saying('yes')]
    act = (turn) => turn.say('Done. I look again tomorrow.')
    await s.call(
      'POST',
      '/v1/alarms',
      {
        ...{ kind: 'once', delay_seconds: 60, wake_message: 'look', agent_id: 'bot' },
        conversation_id: 't',
      },
      { 'wakeful-act-as': 'ann' },
    )
    await s.advanceBy(60_000)
    const { data } = (await s.call('GET', '/v1/ledger?user_id=ann')).body
    expect(data[0].verdicts).toContainEqual(UNBACKED)
    expect(data[0].words).toContain('nothing was set for what it says will come')
  })

  it('nobody is asked about a turn that sets something, or says nothing', async () => {
    act = (turn) => {
      if (turn.event.type !== 'user_message') return
      turn.say(PROMISE)
      turn.schedule('soon', { in: 60, cancelOnReply: true })
    }
    expect(await said()).toEqual({ messages: [PROMISE], verdicts: [] })
    await s.advanceBy(60_000)
    expect(model.asked).toEqual([])
  })

  it('a model that is away, or says no, holds nothing back and marks nothing', async () => {
    model.answers = [json(400, { error: 'gone' }), saying('no')]
    act = (turn) => turn.say(PROMISE)
    expect(await said()).toEqual({ messages: [PROMISE], verdicts: [] })
    expect((await said()).messages).toEqual([PROMISE, PROMISE])
    expect(remarks).toEqual([null, null])
  })

  it('an agent that fails when it is asked again has said what it said first', async () => {
    model.answers = [saying('yes')]
    act = (turn) => {
      if (turn.remark !== null) throw new Error('once is enough')
      turn.say(PROMISE)
    }
    expect(await said()).toEqual({ messages: [PROMISE], verdicts: [UNBACKED] })
  })
})

it('a judge that never answers is not waited for, and what was spent is told together', async () => {
  const answer = { wishes: [{ type: 'send_message', content: PROMISE } as const], points: [] }
  const agent: Agent = {
    ...{ kind: 'function', timeoutMs: 100, runsInForecasts: true },
    run: async () => ({ ...answer, checkpointId: null, spent: { tokens: 5, usd: 0.5 } }),
  }
  const input = { signal: new AbortController().signal } as TurnInput
  const troubles: unknown[] = []
  const trouble = (error: unknown) => troubles.push(error)
  const silent = {
    ask: (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise<never>((_, failed) =>
        signal.addEventListener('abort', () => failed(signal.reason as Error)),
      ),
  }
  const waited = await backed(agent, { model: silent, trouble, judgeMs: 1 }).run(input)
  expect(waited.wishes).toEqual(answer.wishes)
  expect(troubles).toHaveLength(1)
  const yes = { text: 'yes', model: '', cutOff: false, inputTokens: 0, outputTokens: 0 }
  const asked = backed(agent, { model: { ask: async () => yes }, trouble })
  expect((await asked.run(input)).spent).toEqual({ tokens: 10, usd: 1, calls: 2 })
  expect(asked.runsInForecasts).toBe(false)
})

it('is refused at start where there is no model to ask', () => {
  expect(() => readConfig({ WAKEFUL_CHECK_PROMISES: 'true' })).toThrow(
    'WAKEFUL_CHECK_PROMISES: got true, takes true only where WAKEFUL_MODEL_URL and WAKEFUL_MODEL are set',
  )
})
