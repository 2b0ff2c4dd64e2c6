/** The switch: what it holds, that it bites for what runs, and how it lets go. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentFunction } from '../../src/agents/function.ts'
import { EVENT_TYPES } from '../../src/core/session.ts'
import {
  judgeStops,
  STOP_LEVELS,
  type Stop,
  type Stoppable,
} from '../../src/features/limits/stops.ts'
import type { Loose } from '../setup/http.ts'
import { type Stage, sharedStage, sharedWakes } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const SECOND = 1000
const NAMES = ['a', 'b'] as const
const instants = fc.integer({ min: 0, max: 20 }).map((n) => new Date(n * SECOND))
const turns: fc.Arbitrary<Stoppable> = fc.record({
  type: fc.constantFrom(...EVENT_TYPES),
  userId: fc.constantFrom(...NAMES),
  agentId: fc.constantFrom(...NAMES),
  triggerId: fc.option(fc.constantFrom(...NAMES)),
  createdAt: instants,
  scheduledFor: fc.option(instants),
})
const stops: fc.Arbitrary<Stop> = fc
  .record({
    level: fc.constantFrom(...STOP_LEVELS),
    name: fc.constantFrom(...NAMES),
    created_at: instants,
    after: fc.integer({ min: 0, max: 10 }),
    ended: fc.option(fc.constantFrom('resumed', 'dropped') as fc.Arbitrary<'resumed' | 'dropped'>),
  })
  .map(({ level, name, created_at, after, ended }) => ({
    ...{ id: 'x', level, created_at, ended },
    target: level === 'everything' ? null : name,
    ended_at: ended === null ? null : new Date(created_at.getTime() + after * SECOND),
  }))

describe('what a switch makes of a turn', () => {
  it('nothing, where nothing is stopped or all was let go', () => {
    fc.assert(
      fc.property(fc.array(stops), turns, (all, turn) => {
        const released = all.map((stop) => ({
          ...stop,
          ended: 'resumed' as const,
          ended_at: stop.ended_at ?? stop.created_at,
        }))
        expect(judgeStops(released, turn)).toBe('run')
      }),
    )
  })

  it('one more stop never lets run what another holds, and their order does not matter', () => {
    fc.assert(
      fc.property(fc.array(stops), stops, turns, (all, more, turn) => {
        const before = judgeStops(all, turn)
        const after = judgeStops([...all, more], turn)
        if (before === 'hold') expect(after).toBe('hold')
        if (before !== 'run') expect(after).not.toBe('run')
        expect(judgeStops([more, ...all], turn)).toBe(after)
      }),
    )
  })

  it('what people said and tools answered is held and never dropped or deferred by a stop of others', () => {
    fc.assert(
      fc.property(fc.array(stops), turns, (all, turn) => {
        for (const type of ['user_message', 'tool_result'] as const) {
          const said = { ...turn, type, triggerId: null }
          expect(['run', 'hold']).toContain(judgeStops(all, said))
        }
      }),
    )
  })

  it('a default that nobody has said is dropped like any other fire', () => {
    fc.assert(
      fc.property(fc.array(stops), turns, fc.uuid(), (all, turn, triggerId) => {
        const fire = { ...turn, triggerId }
        expect(judgeStops(all, { ...fire, type: 'tool_result' })).toBe(
          judgeStops(all, { ...fire, type: 'timer' }),
        )
      }),
    )
  })
})

/** Until a test lets them answer. */
let waiting: { signal: AbortSignal; go: () => void }[] = []

const bot: AgentFunction = async (turn) => {
  const { wake_message, text } = (turn.event.payload ?? {}) as Loose
  if (text === 'slow')
    await new Promise<void>((go) => {
      waiting.push({ signal: turn.signal, go })
    })
  turn.say(`heard ${wake_message ?? text ?? turn.event.type}`)
}

eachStore('the switch', (store) => {
  const at = sharedStage(store, { agents: { bot, other: bot } })
  const stop = async (body: Loose): Promise<Loose> => {
    const answer = await at().call('POST', '/v1/stops', body)
    expect(answer.status, answer.text).toBe(201)
    await at().settle()
    return answer.body
  }
  const end = async (id: string, how: 'resume' | 'drop') => {
    const answer = await at().call('POST', `/v1/stops/${id}/${how}`)
    expect(answer.status, answer.text).toBe(200)
    await at().settle()
  }
  const say = async (key: string, text: string) => {
    const answer = await at().call('POST', `/v1/sessions/${key}/messages`, { text })
    expect(answer.status, answer.text).toBe(202)
    await at().settle()
    return answer.body
  }
  const sent = async (key: string): Promise<string[]> =>
    (await at().call('GET', `/v1/sessions/${key}/effects`)).body.data.map(
      ({ payload }: Loose) => payload.content,
    )
  const alarm = (agent_id: string, wake_message: string, more: Loose = {}) =>
    at().set({
      ...{ kind: 'once', delay_seconds: 5, agent_id, conversation_id: 't', wake_message },
      ...more,
    })
  const outcome = async (s: Stage, trigger: string) =>
    (await s.call('GET', `/v1/ledger?trigger_id=${trigger}`)).body.data[0]

  it('an agent: messages are taken and held, fires wait, others go on, and all runs when let go', async () => {
    const { id } = await stop({ level: 'agent', target: 'bot', reason: 'wild' })
    expect(await say('ann:bot:t', 'hello')).toMatchObject({ held: true })
    expect(await say('ann:other:t', 'hello')).not.toHaveProperty('held')
    await alarm('bot', 'tea')
    await at().advanceBy(10 * SECOND)
    expect(await sent('ann:bot:t')).toEqual([])
    expect(await sent('ann:other:t')).toEqual(['heard hello'])
    const shown = (await at().call('GET', `/v1/stops/${id}`)).body
    expect(shown.held.map(({ session_key, kind }: Loose) => [session_key, kind])).toEqual([
      ['ann:bot:t', 'user_message'],
      ['local:bot:t', 'alarm'],
    ])
    await end(id, 'resume')
    expect(await sent('ann:bot:t')).toEqual(['heard hello'])
    expect(await sent('local:bot:t')).toEqual(['heard tea'])
    expect((await at().call('GET', '/v1/stops')).body.data).toEqual([])
  })

  it('a person, dropped: their fires end and are recorded, what they said is answered, a recurring alarm goes on', async () => {
    const once = await alarm('bot', 'once')
    const every = await alarm('bot', 'tick', {
      kind: 'cron',
      delay_seconds: undefined,
      cron_expr: '@every 10s',
      conversation_id: 'every',
    })
    const { id } = await stop({ level: 'user', target: 'local' })
    await say('local:bot:talk', 'are you there?')
    await at().advanceBy(12 * SECOND)
    expect(await sent('local:bot:t')).toEqual([])
    await end(id, 'drop')
    expect(await sent('local:bot:talk')).toEqual(['heard are you there?'])
    expect(await sent('local:bot:t')).toEqual([])
    expect(await outcome(at(), once.id)).toMatchObject({
      outcome: 'cancelled',
      reason: { rule: 'stopped' },
    })
    await at().advanceBy(10 * SECOND)
    expect(await sent('local:bot:every')).toEqual(['heard tick'])
    await at().call('DELETE', `/v1/alarms/${every.id}`)
  })

  it('a trigger: its slot waits beside a conversation that goes on, and comes once when let go', async () => {
    const { id: trigger } = await alarm('bot', 'tea')
    const { id } = await stop({ level: 'trigger', target: trigger })
    await at().advanceBy(6 * SECOND)
    await say('local:bot:t', 'go on')
    expect(await sent('local:bot:t')).toEqual(['heard go on'])
    expect(await outcome(at(), trigger)).toMatchObject({
      outcome: 'deferred',
      reason: { rule: 'stopped' },
    })
    const { held } = (await at().call('GET', `/v1/stops/${id}`)).body
    expect(held).toMatchObject([{ session_key: 'local:bot:t', kind: 'alarm', trigger_id: trigger }])
    await end(id, 'resume')
    expect(await sent('local:bot:t')).toEqual(['heard go on', 'heard tea'])
  })

  it('a trigger, dropped: its slot ends without a run', async () => {
    const { id: trigger } = await alarm('bot', 'tea')
    const { id } = await stop({ level: 'trigger', target: trigger })
    await at().advanceBy(6 * SECOND)
    await end(id, 'drop')
    await at().advanceBy(6 * SECOND)
    expect(await sent('local:bot:t')).toEqual([])
    expect((await at().get(trigger)).status).toBe('failed')
  })

  it('everything: nothing fires and nobody is answered until it is let go, and a turn that runs commits nothing', async () => {
    waiting = []
    await at().call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'slow' })
    const running = at().settle()
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(1)
    const answer = await at().call('POST', '/v1/stops', { level: 'everything' })
    await at().app.engine.home.stops.tick()
    expect(waiting[0]?.signal.aborted).toBe(true)
    waiting[0]?.go()
    await running
    await alarm('bot', 'tea')
    await at().advanceBy(6 * SECOND)
    expect(await at().query('select 1 from wakeful.turns')).toEqual([])
    expect(await at().query('select 1 from wakeful.effects')).toEqual([])
    waiting = []
    await at().call('POST', `/v1/stops/${answer.body.id}/resume`)
    const again = at().settle()
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(1)
    waiting[0]?.go()
    await again
    expect(await sent('ann:bot:t')).toEqual(['heard slow'])
    expect(await sent('local:bot:t')).toEqual(['heard tea'])
    const turn = (await at().call('GET', '/v1/sessions/ann:bot:t/turns')).body.data
    expect(turn).toMatchObject([{ attempt: 1, status: 'committed' }])
  })

  it('is audited, and the same again is the one that stands', async () => {
    const { id } = await stop({ level: 'agent', target: 'bot' })
    const again = await at().call('POST', '/v1/stops', { level: 'agent', target: 'bot' })
    expect([again.status, again.body.id]).toEqual([200, id])
    await end(id, 'resume')
    const entries = (await at().call('GET', `/v1/audit?object_id=${id}`)).body.data
    expect(entries.map(({ operation }: Loose) => operation)).toEqual(['resume_stop', 'stop'])
    for (const body of [{ level: 'agent' }, { level: 'everything', target: 'x' }])
      expect((await at().call('POST', '/v1/stops', body)).status).toBe(422)
    expect((await at().call('POST', '/v1/stops', { level: 'trigger', target: 'x' })).status).toBe(
      400,
    )
  })
})

eachStore('a stop and alarms that wake by a call', (store) => {
  const at = sharedWakes(store)

  it('no call is made while the person is stopped; it is made when the stop ends', async () => {
    const { s, hook } = at()
    const body = { level: 'user', target: 'local' }
    const stop = await s.call('POST', '/v1/stops', body)
    await s.settle()
    await s.set({ kind: 'once', delay_seconds: 5, wake_message: 'tea' })
    await s.advanceBy(10 * SECOND)
    expect(hook.received).toEqual([])
    await s.call('POST', `/v1/stops/${stop.body.id}/resume`)
    await s.settle()
    expect(hook.received).toHaveLength(1)
  })
})
