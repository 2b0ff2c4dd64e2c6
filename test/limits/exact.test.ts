/** Limits up to 100 are exact, what is cancelled frees its place at once, and the notice tells the number that was reached (invariant 15). */

import { expect, it } from 'vitest'
import * as commands from '../../src/agents/commands.ts'
import type { AgentFunction } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

const DAY_S = 86_400

/** Sets as many as it may in each fire; the message begins the chain. */
const filling: AgentFunction = (turn) => {
  if (turn.event.type === 'user_message') {
    commands.setAlarm(turn, { delay_seconds: 1, wake_message: 'fill', conversation_id: 't' })
    return
  }
  try {
    for (let n = 0; n < 150; n++)
      commands.setAlarm(turn, {
        delay_seconds: DAY_S,
        wake_message: String(n),
        conversation_id: 't',
      })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

/** Each fire sets the next, a second later. */
const ticking: AgentFunction = (turn) => {
  commands.setAlarm(turn, { delay_seconds: 1, wake_message: 'x', conversation_id: 't' })
}

const waiting = async (w: World) =>
  (await w.query(`select 1 from wakeful.alarms where status = 'active'`)).length
const said = async (w: World) =>
  (
    await w.query<{ payload: string }>(
      `select payload from wakeful.effects where type = 'send_message'`,
    )
  ).map(({ payload }) => (JSON.parse(payload) as { content: string }).content)

eachStore('exact limits', (store) => {
  it.each([1, 6, 100])('no more than %i wait, and the notice says so', async (max) => {
    const w = await world(store, { bot: filling }, { env: { WAKEFUL_PENDING_MAX: String(max) } })
    await w.say('ann:bot:t', 'go')
    await w.advanceBy(5_000)
    expect(await waiting(w)).toBe(max)
    expect(await said(w)).toEqual([expect.stringContaining(`${max} triggers that agents set`)])
  })

  it.each([1, 100])('no more than %i fire in a day, and the notice says so', async (max) => {
    const w = await world(store, { bot: ticking }, { env: { WAKEFUL_FIRES_A_DAY: String(max) } })
    await w.say('ann:bot:t', 'go')
    await w.advanceBy((max + 20) * 1000)
    const turns = await w.query<{ committed: boolean }>(
      `select t.status = 'committed' as committed from wakeful.turns t join wakeful.events e on e.session_key = t.session_key and e.seq = t.event_seq
       where e.type = 'alarm' and e.lineage not like '1.%'`,
    )
    // The last one may not set another: its turn ends there.
    expect(turns.filter(({ committed }) => committed)).toHaveLength(max - 1)
    expect(await said(w)).toEqual([expect.stringContaining(`has fired ${max} times today`)])
  })

  it('what is cancelled frees its place at once', async () => {
    const w = await world(store, { bot: filling }, { env: { WAKEFUL_PENDING_MAX: '3' } })
    await w.say('ann:bot:t', 'go')
    await w.advanceBy(5_000)
    expect(await waiting(w)).toBe(3)
    const ids = await w.query<{ id: string }>(
      `select id from wakeful.alarms where status = 'active' order by id limit 2`,
    )
    for (const { id } of ids) await w.call('cancel_alarm', { id })
    await w.say('ann:bot:t', 'again')
    await w.advanceBy(5_000)
    expect(await waiting(w)).toBe(3)
  })

  it('above 100 what was cancelled frees its place, too', async () => {
    const w = await world(store, { bot: filling }, { env: { WAKEFUL_PENDING_MAX: '120' } })
    await w.say('ann:bot:t', 'go')
    await w.advanceBy(5_000)
    expect(await waiting(w)).toBe(120)
    await w.query(
      `update wakeful.alarms set status = 'cancelled', due_at = null where status = 'active'`,
    )
    await w.say('ann:bot:t', 'again')
    await w.advanceBy(5_000)
    expect(await waiting(w)).toBe(120)
  })

  it('what another process sets while a turn runs counts in its commit', async () => {
    const others = (status: string, due: string) =>
      `update wakeful.alarms set status = '${status}', due_at = ${due} where status <> 'fired' and wake_message <> 'fill'`
    let meanwhile: () => Promise<unknown> = async () => undefined
    const bot: AgentFunction = async (turn) => {
      filling(turn)
      if (turn.event.type === 'alarm') await meanwhile()
    }
    const w = await world(store, { bot }, { env: { WAKEFUL_PENDING_MAX: '5' } })
    await w.say('ann:bot:t', 'go')
    await w.advanceBy(2_000)
    expect(await waiting(w)).toBe(5)
    await w.query(others('cancelled', 'null'))
    meanwhile = () => w.query(others('active', 'next_fire_at'))
    await w.say('ann:bot:t', 'again')
    await w.advanceBy(2_000)
    expect(await waiting(w)).toBe(5)
    expect(await w.query(`select 1 from wakeful.turns where cause = 'over_budget'`)).toHaveLength(1)
  })

  if (store.name !== 'pglite')
    it('two processes share one limit', async () => {
      const database = await store.database()
      const env = { WAKEFUL_PENDING_MAX: '5', WAKEFUL_FIRES_A_DAY: '3' }
      const open = () => world(store, { bot: filling }, { env, database })
      const [a, b] = [await open(), await open()]
      for (const [n, w] of [a, b, a, b, a, b].entries()) {
        await w.say(`ann:bot:${n}`, 'go')
        await w.settle()
      }
      await Promise.all([a.advanceBy(2_000), b.advanceBy(2_000)])
      expect(await waiting(a)).toBe(5)
    })
})
