/** Intents and work that a turn asks for: written and deleted with its commit, or not at all. */

import { beforeEach, expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const INTENTS = 'select * from wakeful.scheduled_intents order by id'
const WORK = 'select * from wakeful.work order by id'
const PRICE = {
  intent_name: 'NVDA below 130',
  trigger_type: 'price',
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  action_context: 'say so',
} as const

eachStore('wishes of turns', (store) => {
  let act: (turn: Turn) => unknown = () => undefined
  const shared = sharedStage(store, {
    agents: { bot: (turn) => hear(turn), other: (turn) => hear(turn) },
  })
  beforeEach(async () => {
    for (const table of ['scheduled_intents', 'intent_executions', 'work', 'signals'])
      await shared().query(`delete from wakeful.${table}`)
  })
  const woken: Row[] = []
  const hear = (turn: Turn) =>
    turn.event.type === 'user_message' ? act(turn) : woken.push(turn.event.payload as Row)
  const say = async (key = 'ann:bot:t') => {
    await shared().call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })
    await shared().settle()
  }

  it('createIntent writes with the commit, is watched by signals, and wakes in the same thread', async () => {
    const s = shared()
    let id = ''
    act = async (turn) => {
      id = await commands.createIntent(turn, PRICE)
      expect(await s.query(INTENTS)).toHaveLength(0)
    }
    await say()
    expect(await s.query<Row>(INTENTS)).toMatchObject([
      { id, user_id: 'ann', agent_id: 'bot', thread_id: 't', created_by: 'bot', enabled: true },
    ])
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 125 })
    await s.settle()
    expect(woken).toMatchObject([{ intent_id: id, trigger_data: { price: 125 } }])
    const [event] = await s.query<Row>(
      `select session_key from wakeful.events where type = 'intent'`,
    )
    expect(event?.session_key).toBe('ann:bot:t')
  })

  it('createWork writes with the commit, runs at once, and deleteWork takes it away', async () => {
    const s = shared()
    let id = ''
    act = async (turn) => {
      if (id !== '') return commands.deleteWork(turn, id)
      id = commands.createWork(turn, {
        task: 'report',
        agent_type: 'reporting',
        frequency: 'daily at 6pm',
      })
      expect(await s.query(WORK)).toHaveLength(0)
    }
    await say()
    expect(await s.query<Row>(WORK)).toMatchObject([
      { id, user_id: 'ann', agent_type: 'reporting', frequency_cron: '0 18 * * *', run_count: 1 },
    ])
    const [output] = await s.query<Row>('select status, run_number from wakeful.work_outputs')
    expect(output).toEqual({ status: 'completed', run_number: 1 })
    await say()
    expect(await s.query(WORK)).toHaveLength(0)
  })

  it('invariant 3: a failing turn creates and deletes nothing', async () => {
    const s = shared()
    let id = ''
    act = async (turn) => {
      id = await commands.createIntent(turn, PRICE)
    }
    await say()
    act = async (turn) => {
      await commands.createIntent(turn, { ...PRICE, intent_name: 'never' })
      commands.deleteIntent(turn, id)
      commands.createWork(turn, { task: 'never', agent_type: 'reporting' })
      throw new Error('no luck')
    }
    await say()
    expect(await s.query<Row>(INTENTS)).toMatchObject([{ id }])
    expect(await s.query(WORK)).toHaveLength(0)
  })

  it('deletes reach what is this user’s and agent’s only; what a turn makes and deletes was never there', async () => {
    const s = shared()
    let id = ''
    act = async (turn) => {
      id = await commands.createIntent(turn, PRICE)
    }
    await say()
    act = async (turn) => {
      commands.deleteIntent(turn, id)
      commands.deleteIntent(turn, await commands.createIntent(turn, PRICE))
      commands.deleteWork(turn, commands.createWork(turn, { task: 'x', agent_type: 'reporting' }))
    }
    await say('ann:other:t')
    await say('bea:bot:t')
    expect(await s.query<Row>(INTENTS)).toMatchObject([{ id }])
    await say()
    expect(await s.query(INTENTS)).toHaveLength(0)
    expect(await s.query(WORK)).toHaveLength(0)
  })

  it('rules 22 and 25: refuses when asked, with all reasons, also the twenty-sixth', async () => {
    const s = shared()
    const refused: unknown[] = []
    const tries = async (ask: () => unknown) => {
      try {
        await ask()
      } catch (error) {
        refused.push(error instanceof Refusal ? [error.code, ...error.errors] : error)
      }
    }
    act = async (turn) => {
      await tries(() => commands.createIntent(turn, { ...PRICE, trigger_condition: {} }))
      await tries(() =>
        commands.createIntent(turn, { ...PRICE, intent_name: ' ', timezone: 'Mars' }),
      )
      await tries(() => commands.createIntent(turn, { ...PRICE, action_context: 'nul \0' }))
      await tries(() =>
        commands.createWork(turn, { task: 'x', agent_type: 'nobody', frequency: 'often' }),
      )
      await tries(() => commands.createWork(turn, { task: ' ', agent_type: 'reporting' }))
      const parameters = { notify_session: 'bea:bot:t' }
      await tries(() =>
        commands.createWork(turn, { task: 'x', agent_type: 'reporting', parameters }),
      )
      for (let n = 0; n < 26; n++) await tries(() => commands.createIntent(turn, PRICE))
    }
    await say()
    expect(refused).toEqual([
      [
        'rule',
        "trigger_condition.ticker required for type 'price'",
        "trigger_condition.operator required for type 'price'",
        "trigger_condition.value required for type 'price'",
      ],
      ['shape', 'intent_name: must not be blank'],
      ['shape', expect.stringContaining('NUL')],
      [
        'rule',
        expect.stringContaining('agent_type: no executor "nobody"'),
        ...[expect.stringContaining('frequency: '), expect.stringContaining('frequency: ')],
      ],
      ['shape', expect.stringContaining('task: ')],
      ['rule', expect.stringContaining('notify_session: takes a session key of this user')],
      ['rule', 'Limit reached: 25 active triggers max'],
    ])
    expect(await s.query(INTENTS)).toHaveLength(25)
  })

  it('planned() lists what is ahead, soonest first, of this user and agent', async () => {
    let seen: unknown
    act = async (turn) => {
      if (turn.event.seq > 1) {
        seen = await commands.planned(turn)
        return
      }
      commands.setAlarm(turn, { schedule: 'in 10 minutes', wake_message: 'tea' })
      commands.setAlarm(turn, {
        schedule: 'every weekday at 8:30',
        wake_message: 'stretch',
        label: 'body',
      })
      await commands.createIntent(turn, { ...PRICE, max_executions: 1 })
      commands.createWork(turn, {
        task: 'report',
        agent_type: 'reporting',
        frequency: 'daily at 6pm',
      })
    }
    await say()
    await say('bea:bot:t')
    await say()
    expect(seen).toMatchObject([
      { kind: 'alarm', title: 'tea', again: false },
      { kind: 'alarm', title: 'body', when: 'every weekday at 08:30 (UTC)', again: true },
      { kind: 'work', title: 'report', when: 'every day at 18:00 (UTC)', again: true },
      { kind: 'intent', when: 'when NVDA is < 130', next_at: null, again: false },
    ])
  })

  it('updateWork pauses, resumes and retimes with the commit, and reads what runs came to', async () => {
    const s = shared()
    let id = ''
    act = (turn) => {
      id = commands.createWork(turn, {
        task: 'report',
        agent_type: 'reporting',
        frequency: 'daily at 6pm',
      })
    }
    await say()
    act = async (turn) => {
      expect(await commands.listWork(turn)).toMatchObject([{ id, is_active: true, task: 'report' }])
      expect(await turn.workOutputs(id)).toMatchObject([{ run_number: 1, status: 'completed' }])
      expect(await turn.workOutputs('nonsense')).toBeNull()
      expect(await commands.updateWork(turn, id, { is_active: false, task: 'report less' })).toBe(
        true,
      )
      await expect(commands.updateWork(turn, id, { frequency: 'every blue moon' })).rejects.toThrow(
        Refusal,
      )
      expect(await s.query<Row>(WORK)).toMatchObject([{ is_active: true }])
    }
    await say()
    expect(await s.query<Row>(WORK)).toMatchObject([
      { is_active: false, next_run_at: null, task: 'report less' },
    ])
    act = async (turn) => {
      expect(await commands.listWork(turn)).toMatchObject([{ id, is_active: false }])
      await commands.updateWork(turn, id, { is_active: true, frequency: 'daily at 7am' })
    }
    await say()
    expect(await s.query<Row>(WORK)).toMatchObject([
      { is_active: true, frequency_cron: '0 7 * * *' },
    ])
    // Nobody else's, and not what the same turn deletes.
    act = async (turn) => {
      expect(await commands.updateWork(turn, id, { is_active: false })).toBe(false)
      expect(await commands.listWork(turn)).toEqual([])
    }
    await say('eve:bot:t')
    act = async (turn) => {
      await commands.updateWork(turn, id, { is_active: false })
      commands.deleteWork(turn, id)
    }
    await say()
    expect(await s.query<Row>(WORK)).toEqual([])
  })

  it('updateIntent switches off and on and changes what it waits for, and only its own', async () => {
    const s = shared()
    let id = ''
    act = async (turn) => {
      id = await commands.createIntent(turn, PRICE)
    }
    await say()
    act = async (turn) => {
      expect(await commands.updateIntent(turn, id, { enabled: false })).toBe(true)
      await expect(commands.updateIntent(turn, id, { trigger_type: 'cron' })).rejects.toThrow(
        Refusal,
      )
    }
    await say()
    expect(await s.query<Row>(INTENTS)).toMatchObject([{ enabled: false, next_check: null }])
    act = async (turn) => {
      expect(await commands.listIntents(turn)).toMatchObject([{ id, enabled: false }])
      const trigger_condition = { ticker: 'NVDA', operator: '<', value: 100 } as const
      await commands.updateIntent(turn, id, { enabled: true, trigger_condition })
    }
    await say()
    woken.length = 0
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 120 })
    await s.settle()
    expect(woken).toEqual([])
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 99 })
    await s.settle()
    expect(woken).toMatchObject([{ intent_id: id }])
    act = async (turn) =>
      expect(await commands.updateIntent(turn, id, { enabled: false })).toBe(false)
    await say('ann:other:t')
    expect(await s.query<Row>(INTENTS)).toMatchObject([{ enabled: true }])
  })

  it('listAlarms tells what rings, and what has rung or was cancelled', async () => {
    let id = ''
    act = (turn) => {
      id = commands.setAlarm(turn, { schedule: 'every day at 9am', wake_message: 'up' })
    }
    await say()
    act = async (turn) => {
      const own = (await commands.listAlarms(turn)).find((alarm) => alarm.id === id)
      expect(own).toMatchObject({ status: 'active', description: 'every day at 09:00 (UTC)' })
      commands.cancelAlarm(turn, id)
    }
    await say()
    act = async (turn) => {
      const own = (await commands.listAlarms(turn)).find((alarm) => alarm.id === id)
      expect(own).toMatchObject({ status: 'cancelled', next_fire_at: null })
    }
    await say()
  })
})
