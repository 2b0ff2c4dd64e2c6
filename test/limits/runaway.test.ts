/** Runaways: an agent whose fires set more fires is stopped by depth and by budget, recorded, and told once. */

import { expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { AgentFunction } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { house } from '../sessions/house.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

const SECOND = 1000
const HOUR = 3_600_000
const DAY = 86_400_000

/** Each fire sets two more. */
const doubling: AgentFunction = (turn) => {
  for (const half of ['a', 'b'])
    commands.setAlarm(turn, {
      delay_seconds: 1,
      wake_message: half,
      conversation_id: `${turn.event.seq}${half}`,
    })
}

/** Sets itself anew with each fire, and says so. */
const daily: AgentFunction = (turn) => {
  commands.setAlarm(turn, { delay_seconds: 86_400, wake_message: 'again' })
  if (turn.event.type === 'alarm') turn.say('good morning')
}

/** Asks, hears no, and goes on. */
const polite: AgentFunction = (turn) => {
  try {
    turn.schedule(`next ${turn.event.seq}`, { in: 1, cancelOnReply: true })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    turn.say(`refused: ${error.code} ${error.message}`)
  }
}

const thrifty: AgentFunction = (turn) => {
  turn.spent({ tokens: 1000, usd: 0.4 })
  turn.say(turn.event.type)
}

/** Asks anew whenever nobody has answered. */
const nagging: AgentFunction = (turn) => {
  turn.ask('Go on?', { default: 'Yes', until: new Date(turn.startedAt.getTime() + HOUR) })
}

/** Wants what it may not have, and does not catch the answer. */
const greedy: AgentFunction = (turn) => {
  if (turn.event.type === 'intent')
    for (let n = 0; n < 10; n++)
      commands.setAlarm(turn, { delay_seconds: DAY / SECOND, wake_message: String(n) })
}

const agents = { doubling, daily, polite, thrifty, nagging, greedy }

eachStore('runaways', (store) => {
  const deep = house(store, agents, { WAKEFUL_DEPTH_MAX: '4', AUTONOMY_MAX_CONSECUTIVE: '1000' })
  const often = house(store, agents, { WAKEFUL_FIRES_A_DAY: '20' })
  const many = house(store, agents, { WAKEFUL_PENDING_MAX: '6' })
  const alone = house(store, agents, { WAKEFUL_PENDING_MAX: '6' })
  const poor = house(store, agents, { WAKEFUL_USD_A_DAY: '1' })

  const say = async (at: typeof deep, key: string) => {
    const answer = await at().call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })
    expect(answer.status, answer.text).toBe(202)
    await at().wakeful.settle()
  }
  const causes = async (at: typeof deep, agent: string): Promise<Loose> => {
    const rows = await at().query(
      `select coalesce(cause, status) as what, count(*)::int as n from wakeful.turns where session_key like $1 group by 1`,
      [`%:${agent}:%`],
    )
    return Object.fromEntries(rows.map(({ what, n }) => [what, n]))
  }
  const sent = async (at: typeof deep, agent: string): Promise<string[]> => {
    const rows = await at().query(
      `select payload from wakeful.effects where type = 'send_message' and session_key like $1 order by created_at`,
      [`%:${agent}:%`],
    )
    return rows.map(({ payload }) => (JSON.parse(payload) as Loose).content)
  }

  it('each fire sets two more: ends at the depth, each refused one recorded, and the person told once', async () => {
    await say(deep, 'ann:doubling:t')
    await deep().wakeful.advanceBy(60 * SECOND)
    // 1 message, 2 + 4 + 8 fires that set more, 16 at the depth of four whose setting is refused.
    expect(await causes(deep, 'doubling')).toEqual({
      committed: 1 + 2 + 4 + 8 + 1,
      over_budget: 16,
    })
    expect(await sent(deep, 'doubling')).toEqual([expect.stringContaining('stopped doubling')])
    const ledger = (await deep().call('GET', '/v1/ledger?user_id=ann&limit=200')).body.data
    const over = ledger.filter(({ reason }: Loose) => reason?.rule === 'over_budget')
    expect(over).toHaveLength(16)
    expect(over[0]).toMatchObject({
      outcome: 'failed',
      words: expect.stringContaining('over_budget'),
    })
    expect(await deep().query('select over_limit from wakeful.budgets')).toEqual([
      { over_limit: 'depth' },
    ])
  })

  it('the depth of every trigger and event is written by the server, and goes back to the message', async () => {
    const [message] = await deep().query(
      `select id from wakeful.events where type = 'user_message' and session_key = 'ann:doubling:t'`,
    )
    const rows = await deep().query(
      `select split_part(lineage, '.', 1)::int as depth, split_part(lineage, '.', 3) as kind, split_part(lineage, '.', 4) as root, count(*)::int as n
       from wakeful.events where session_key like 'ann:doubling:%' and lineage is not null group by 1, 2, 3 order by 1`,
    )
    const root = { kind: 'message', root: message?.id }
    expect(rows).toEqual([1, 2, 3, 4].map((depth) => ({ depth, ...root, n: 2 ** depth })))
  })

  it('a question whose default asks the next one: ends at the depth, and with a word of the person it begins anew', async () => {
    await say(deep, 'eve:nagging:t')
    await deep().wakeful.advanceBy(6 * HOUR)
    // 1 message and 3 defaults that ask again, 1 at the depth of four whose question is refused, and the notice.
    expect(await causes(deep, 'nagging')).toEqual({ committed: 1 + 3 + 1, over_budget: 1 })
    const depths = await deep().query(
      `select split_part(lineage, '.', 1)::int as depth from wakeful.questions where user_id = 'eve' order by 1`,
    )
    expect(depths).toEqual([1, 2, 3, 4].map((depth) => ({ depth })))
    await say(deep, 'eve:nagging:t')
    await deep().wakeful.advanceBy(6 * HOUR)
    expect(await causes(deep, 'nagging')).toEqual({ committed: 5 + 4, over_budget: 2 })
  })

  it('a self-setting agent at a slow pace goes on for weeks under the same limit', async () => {
    await say(deep, 'bea:daily:t')
    await deep().wakeful.advanceBy(20 * DAY)
    expect(await causes(deep, 'daily')).toEqual({ committed: 21 })
    expect(await sent(deep, 'daily')).toHaveLength(20)
  })

  it('a turn that is refused is told why at the call, and may go on', async () => {
    await say(deep, 'cid:polite:t')
    await deep().wakeful.advanceBy(30 * SECOND)
    const said = await sent(deep, 'polite')
    expect(said[0]).toMatch(/^refused: over_budget over_budget: .*agent polite and the person cid/)
    expect(await causes(deep, 'polite')).toMatchObject({ committed: 6 })
  })

  it('each fire sets two more: ends at the fires of a day; what the person asked for still comes', async () => {
    await say(often, 'ann:doubling:t')
    const alarm = { agent_id: 'thrifty', kind: 'once', delay_seconds: 50, wake_message: 'x' }
    const set = await often().call('POST', '/v1/alarms', alarm)
    expect(set.status, set.text).toBe(201)
    await often().wakeful.advanceBy(60 * SECOND)
    const { over_budget, committed } = await causes(often, 'doubling')
    // The two of the message are not counted: a person's word set them.
    expect(committed).toBeLessThanOrEqual(1 + 2 + 20 + 1)
    expect(over_budget).toBeGreaterThan(0)
    const waiting = await often().query(`select 1 from wakeful.alarms where status = 'active'`)
    expect(waiting).toEqual([])
    expect(await sent(often, 'doubling')).toEqual([expect.stringContaining('stopped doubling')])
    expect(await sent(often, 'thrifty')).toEqual(['alarm'])
    const [row] = await often().query(
      'select fires, over_limit from wakeful.budgets where user_id = $1',
      ['ann'],
    )
    expect(row).toEqual({ fires: 20, over_limit: 'fires' })
  })

  it('what waits is limited by itself', async () => {
    await say(many, 'ann:doubling:t')
    await many().wakeful.advanceBy(60 * SECOND)
    const [row] = await many().query('select over_limit from wakeful.budgets')
    expect(row).toEqual({ over_limit: 'pending' })
  })

  it('an intent whose turn does not catch over_budget is not tried again before its next time', async () => {
    const intent = (intent_name: string, more: object) =>
      alone().call('POST', '/v1/intents', {
        ...{ user_id: 'bea', intent_name, agent_id: 'greedy', action_context: 'x', ...more },
      })
    await intent('daily', { trigger_type: 'interval', trigger_schedule: { interval_minutes: 360 } })
    const once = { datetime: '2026-01-01T06:00:00Z' }
    await intent('once', { trigger_type: 'once', trigger_schedule: once })
    await alone().wakeful.advanceBy(12 * HOUR + SECOND)
    expect((await causes(alone, 'greedy')).over_budget).toBe(3)
    const rows = await alone().query(
      `select intent_name, enabled, next_check from wakeful.scheduled_intents where user_id = 'bea' order by 1`,
    )
    expect(rows.map(({ intent_name, enabled }) => [intent_name, enabled])).toEqual([
      ['daily', true],
      ['once', false],
    ])
  })

  it("money that agents report: fires end with the day's, answers go on, and the next day begins anew", async () => {
    const cron = { agent_id: 'thrifty', kind: 'cron', cron_expr: '@every 1h', wake_message: 'x' }
    const set = await poor().call('POST', '/v1/alarms', { ...cron, conversation_id: 't' })
    expect(set.status, set.text).toBe(201)
    await poor().wakeful.advanceBy(10 * 3600 * SECOND)
    // The third begins within the limit and ends beyond it; one more is the notice.
    expect(await causes(poor, 'thrifty')).toMatchObject({ committed: 3 + 1, over_budget: 7 })
    await say(poor, 'local:thrifty:t')
    expect((await sent(poor, 'thrifty')).at(-1)).toBe('user_message')
    await poor().wakeful.advanceBy(15 * 3600 * SECOND)
    const days = await poor().query(
      'select day::text as day, calls, usd, over_limit from wakeful.budgets order by day',
    )
    expect(days).toMatchObject([
      { day: '2026-01-01', calls: 4, over_limit: 'usd' },
      { day: '2026-01-02' },
    ])
  })
})
