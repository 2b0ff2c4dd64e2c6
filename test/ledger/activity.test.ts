/** What plots are drawn from equals what the ledger tells, for everybody and for one person (contract). */
import { expect, it } from 'vitest'
import { call, type Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const HOUR = 3_600_000
const START = '2026-03-02T10:10:00Z'

eachStore('activity', (store) => {
  it('counts slots by hour and trigger with their lateness, and what was held back by rule', async () => {
    const w = await world(
      store,
      {
        bot: (turn) => {
          if (turn.event.type !== 'user_message') turn.say('psst')
          for (const minute of [1, 2, 3, 4, 5])
            if (turn.event.type === 'user_message')
              turn.schedule(`m${minute}`, { in: minute * 60, cancelOnReply: true })
        },
      },
      { startAt: START },
    )
    const url = await w.listen()
    const read = async (query = '') =>
      (await call(`${url}/v1/activity${query}`, 'GET')).body as Loose
    expect(await read()).toMatchObject({ slots: [], held: [], runs: [] })

    await w.say('ann:bot:t', 'go')
    await w.say('ben:bot:t', 'go')
    await w.call('set_alarm', { schedule: 'in 30 minutes', wake_message: 'x', agent_id: 'bot' })
    await w.advanceBy(2 * HOUR)
    const { slots, held } = await read()
    expect(slots).toEqual([
      { at: '2026-03-02T10:00:00.000Z', kind: 'alarm', slots: 1, late: 0, worst_ms: 0 },
      { at: '2026-03-02T10:00:00.000Z', kind: 'timer', slots: 10, late: 0, worst_ms: 0 },
    ])
    expect(held).toEqual([
      { at: '2026-03-02T10:00:00.000Z', rule: 'hard_cap_reached', messages: 4 },
    ])
    const ofAnn = await read('?user_id=ann')
    expect(ofAnn.slots).toMatchObject([{ kind: 'timer', slots: 5 }])
    expect(ofAnn.held).toMatchObject([{ rule: 'hard_cap_reached', messages: 2 }])
    const told = (await call(`${url}/v1/ledger?outcome=suppressed`, 'GET')).body.data as Loose[]
    expect(told).toHaveLength(4)

    await w.advanceBy(25 * HOUR)
    const later = await read()
    expect(later.slots).toEqual([])
    expect(later.held).toHaveLength(1)
    await w.advanceBy(7 * 24 * HOUR)
    expect((await read()).held).toEqual([])
  })

  it('says how late the latest was, and counts attempts after the first as none of their own', async () => {
    const w = await world(
      store,
      {
        bot: (turn) => {
          if (turn.event.type === 'alarm') throw new Error('not now')
        },
      },
      { startAt: START },
    )
    const url = await w.listen()
    await w.call('set_alarm', { schedule: 'in 5 minutes', wake_message: 'x', agent_id: 'bot' })
    // As after a downtime: nothing looks while its time passes.
    await w.query(
      `update wakeful.alarms set due_at = due_at - interval '1 hour', scheduled_for = scheduled_for - interval '1 hour'`,
    )
    await w.settle()
    await w.advanceBy(HOUR)
    const { slots } = (await call(`${url}/v1/activity`, 'GET')).body as Loose
    expect(slots).toEqual([
      { at: '2026-03-02T10:00:00.000Z', kind: 'alarm', slots: 1, late: 1, worst_ms: 55 * 60_000 },
    ])
  })
})
