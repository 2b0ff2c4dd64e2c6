/** One answer to "what became of it" and one to "what is ahead", whoever is asked: the agent, the ledger, the overview, the report. */

import { expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { Turn } from '../../src/agents/function.ts'
import type { Explained, Planned } from '../../src/agents/reads.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const KEY = 'local:bot:t'
const PRICE = {
  intent_name: 'NVDA below 130',
  trigger_type: 'price',
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  action_context: 'say so',
} as const

eachStore('one answer', (store) => {
  let told: Explained[] = []
  let plans: Planned[] = []
  let asked: (turn: Turn) => unknown = () => undefined
  const shared = sharedStage(store, {
    agents: {
      async bot(turn) {
        if (turn.event.type === 'user_message') {
          await asked(turn)
          told = await turn.explained()
          plans = await commands.planned(turn)
          return
        }
        const { wake_message } = turn.event.payload as { wake_message?: string }
        if (wake_message === 'fail') throw new TerminalError('no luck')
        if (wake_message !== 'quiet') turn.say('hello')
      },
    },
  })
  const say = async () => {
    await shared().call('POST', `/v1/sessions/${KEY}/messages`, { text: 'go' })
    await shared().settle()
  }

  it('to what became of it: the agent says of each slot what the ledger says', async () => {
    const s = shared()
    asked = async (turn) => {
      for (const wake_message of ['speak', 'quiet', 'fail'])
        commands.setAlarm(turn, { schedule: 'in 2 hours', wake_message })
      for (const name of ['first', 'second']) turn.schedule(name, { in: 60, cancelOnReply: true })
      await commands.createIntent(turn, PRICE)
    }
    await say()
    await s.advanceBy(3 * HOUR)
    asked = () => undefined
    await say()
    const ledger = (await s.call('GET', `/v1/ledger?session_key=${KEY}`)).body.data as Row[]
    const byName = (pairs: (readonly [string, string])[]) => pairs.toSorted()
    const expected = byName(ledger.map(({ trigger, outcome }) => [trigger.name, outcome]))
    expect(byName(told.map(({ title, outcome }) => [title, outcome]))).toEqual(expected)
    expect(Object.fromEntries(expected)).toEqual({
      ...{ speak: 'sent', quiet: 'silent', fail: 'failed' },
      ...{ first: 'sent', second: 'suppressed', 'NVDA below 130': 'condition_false' },
    })
    expect(told.find(({ title }) => title === 'fail')?.reason).toBe('no luck')
    expect(told.find(({ title }) => title === 'second')?.reason).toBe('cooldown_active')
  })

  it('to what is ahead: the agent, the overview and the report tell the same instants', async () => {
    const s = shared()
    asked = async (turn) => {
      turn.schedule('nudge', { in: 600, cancelOnReply: true })
      commands.setAlarm(turn, { schedule: 'in 2 hours', wake_message: 'tea' })
      commands.setAlarm(turn, { schedule: 'every day at 8:30', wake_message: 'stretch' })
      await commands.createIntent(turn, {
        ...{ intent_name: 'look', trigger_type: 'interval', action_context: 'look' },
        trigger_schedule: { interval_minutes: 180 },
      })
      commands.createWork(turn, {
        task: 'tidy',
        agent_type: 'reporting',
        frequency: 'daily at 6pm',
      })
    }
    await say()
    asked = (turn) => turn.schedule('nudge', { in: 600, cancelOnReply: true })
    await say()
    asked = () => undefined
    const before = plans.filter(({ kind }) => kind !== 'follow_up')
    const { lanes } = (await s.call('GET', '/v1/overview?user_id=local')).body as Row
    const first = (lane: Row, name: string) =>
      lane.slots.find((slot: Row) => slot.name === name)?.at as string
    expect(before.filter(({ next_at }) => next_at !== null)).toHaveLength(4)
    for (const { kind, title, next_at } of before)
      if (next_at !== null) expect(first(lanes[kind], title)).toBe(next_at.toISOString())
    const made = await s.call('POST', '/v1/work', { task: 'Tell me', agent_type: 'reporting' })
    await s.settle()
    const path = `/v1/work/${made.body.work.id}/outputs/1`
    const { content } = (await s.call('GET', path)).body as { content: string }
    const coming = content.slice(content.indexOf('Coming up'))
    const named = [...coming.matchAll(/\| (\w+) \|$/gm)].map(([, name]) => name)
    expect(named.slice(1)).toEqual(['nudge', 'tea', 'look', 'stretch', 'tidy'])
  })
})
