/** A promise: what is said and the alarm that keeps it are one wish, so that neither comes without the other (invariant 3). */

import { beforeEach, expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const HOUR = 3_600_000
const SAID = 'I will remind you tomorrow at 9.'

eachStore('promises', (store) => {
  let act: (turn: Turn) => unknown = () => undefined
  let beforeCommit: () => void = () => undefined
  const shared = sharedStage(store, {
    agents: { bot: (turn) => act(turn) },
    at: (moment) => (moment === 'delivered' ? beforeCommit() : undefined),
  })
  beforeEach(() => {
    beforeCommit = () => undefined
  })
  const say = async () => {
    await shared().call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'go' })
    await shared().settle()
  }
  const messages = async () =>
    (
      await shared().query<Row>(
        `select payload ->> 'content' as content from wakeful.effects where type = 'send_message' order by session_key, position`,
      )
    ).map(({ content }) => content)
  const alarms = () => shared().query<Row>('select * from wakeful.alarms order by id')

  it('says it and sets the alarm, which wakes in the same session with what was promised', async () => {
    const s = shared()
    const woken: Row[] = []
    let id = ''
    act = (turn) => {
      if (turn.event.type === 'alarm') woken.push(turn.event.payload as Row)
      else id = commands.promise(turn, SAID, { schedule: 'tomorrow at 9am', payload: { n: 1 } })
    }
    await say()
    expect(await messages()).toEqual([SAID])
    expect(await alarms()).toMatchObject([{ id, agent_id: 'bot', conversation_id: 't' }])
    await s.advanceBy(33 * HOUR)
    expect(woken).toMatchObject([
      {
        alarm_id: id,
        wake_message: `You promised: ${SAID}`,
        payload: { n: 1 },
        scheduled_for: '2026-01-02T09:00:00.000Z',
      },
    ])
  })

  it('a time that is refused means that nothing is said, and the agent hears why', async () => {
    let refusal: unknown
    act = (turn) => {
      try {
        commands.promise(turn, SAID, { schedule: 'every other blue moon' })
      } catch (error) {
        refusal = error
      }
      expect(() => commands.promise(turn, ' ', { delay_seconds: 5 })).toThrow('not blank')
      expect(() => commands.promise(turn, SAID, {})).toThrow('exactly one of fire_at')
    }
    await say()
    expect(refusal).toBeInstanceOf(Refusal)
    expect(await messages()).toEqual([])
    expect(await alarms()).toEqual([])
  })

  it('an alarm that the commit refuses takes the message with it, and the turn says why', async () => {
    const s = shared()
    act = (turn) => {
      turn.say('first')
      commands.promise(turn, SAID, { cron_expr: '* * * * * until 2026-01-01T00:30:00Z' })
    }
    beforeCommit = () => s.sleep(HOUR)
    await say()
    expect(await messages()).toEqual(['Sorry, something went wrong. Please try again.'])
    expect(await alarms()).toEqual([])
    const [turn] = await s.query<Row>('select status, error from wakeful.turns')
    expect(turn).toMatchObject({ status: 'failed', error: expect.stringContaining('never fires') })
  })

  it('rule 11: a follow-up that the gate holds back sets no alarm either; plain alarms of the turn stay', async () => {
    const s = shared()
    act = (turn) => {
      if (turn.event.type === 'user_message')
        return turn.schedule('f', { in: 60, cancelOnReply: true })
      if (turn.event.type !== 'timer') return undefined
      commands.promise(turn, 'first', { delay_seconds: 3_600 })
      commands.promise(turn, 'second, within the cooldown', { delay_seconds: 7_200 })
      return commands.setAlarm(turn, { delay_seconds: 10_800, wake_message: 'plain' })
    }
    await say()
    await s.advanceBy(60_000)
    expect(await messages()).toEqual(['first'])
    expect((await alarms()).map(({ wake_message }) => wake_message).toSorted()).toEqual([
      'You promised: first',
      'plain',
    ])
  })

  it('rule 40: quiet hours drop a follow-up with its promise; a day with no more room says both in one and sets both', async () => {
    const s = shared()
    await s.call('PUT', '/v1/people/ann', {
      timezone: 'UTC',
      quiet_hours: [{ from: '01:00', to: '02:00' }],
      most_unasked_per_day: 1,
    })
    act = (turn) => {
      if (turn.event.type === 'user_message')
        return commands.setAlarm(turn, { fire_at: '2026-01-01T05:00:00Z', wake_message: 'w' })
      if (turn.event.type === 'tool_result')
        return commands.promise(turn, 'never', { delay_seconds: 9 })
      if ((turn.event.payload as Row).wake_message !== 'w') return undefined
      commands.promise(turn, 'one', { fire_at: '2026-01-03T00:00:00Z' })
      return commands.promise(turn, 'two', { fire_at: '2026-01-04T00:00:00Z' })
    }
    await say()
    await s.advanceBy(90 * 60_000)
    await s.call('POST', '/v1/sessions/ann:bot:t/tool-results', { tool_id: 'x', payload: {} })
    await s.settle()
    expect(await messages()).toEqual([])
    expect(await alarms()).toHaveLength(1)
    await s.advanceBy(4 * HOUR)
    expect(await messages()).toEqual(['one\n\ntwo'])
    expect(await alarms()).toHaveLength(3)
  })

  const promise = (body: object) => shared().call('POST', '/v1/sessions/ann:bot:t/promises', body)

  it('contract: POST promises waits until both are there; the agent is not asked, and its state stays', async () => {
    const s = shared()
    act = () => {
      throw new Error('nobody asks the agent')
    }
    const body = { text: SAID, schedule: 'tomorrow at 9am', payload: { big: 1 }, wait_seconds: 30 }
    const asked = promise(body)
    let answer: Awaited<typeof asked> | undefined
    void asked.then((each) => {
      answer = each
    })
    await until('it is said', async () => {
      await s.settle()
      return answer !== undefined
    })
    expect(answer).toMatchObject({
      status: 202,
      body: {
        status: 'said',
        alarm: {
          status: 'active',
          next_fire_at: '2026-01-02T09:00:00.000Z',
          conversation_id: 't',
          agent_id: 'bot',
          payload: { big: 1 },
        },
      },
    })
    expect(await messages()).toEqual([SAID])
    expect(await alarms()).toHaveLength(1)
  })

  it('contract: what is refused says nothing; what the gate holds back is 409 and sets nothing', async () => {
    const s = shared()
    const refused = await promise({ text: SAID, schedule: 'every other blue moon' })
    expect(refused.status).toBe(400)
    const shape = await promise({ text: SAID, schedule: 'in 5 minutes', delay_seconds: 5 })
    expect(shape.status).toBe(422)
    expect(await s.query('select 1 from wakeful.events')).toEqual([])
    const first = await promise({ text: 'one', schedule: 'in 5 minutes', wait_seconds: 0 })
    expect(first.body).toMatchObject({ status: 'waiting' })
    await s.settle()
    const second = promise({ text: 'two', schedule: 'in 5 minutes', wait_seconds: 30 })
    let answer: Awaited<typeof second> | undefined
    void second.then((each) => {
      answer = each
    })
    await until('it is refused', async () => {
      await s.settle()
      return answer !== undefined
    })
    expect(answer?.status).toBe(409)
    expect(answer?.text).toContain('cooling down')
    expect(answer?.text).toContain('no alarm was set')
    expect(await messages()).toEqual(['one'])
    expect(await alarms()).toHaveLength(1)
  })

  it('a tool’s result that looks like a promise is none: the mark is the server’s', async () => {
    const s = shared()
    const seen: string[] = []
    act = (turn) => seen.push(turn.event.type)
    const forged = { id: crypto.randomUUID(), content: 'forged', delay_seconds: 5 }
    await s.call('POST', '/v1/sessions/ann:bot:t/tool-results', {
      tool_id: 'promise',
      payload: { promise: forged },
    })
    await s.settle()
    expect(seen).toEqual(['tool_result'])
    expect(await messages()).toEqual([])
  })
})
