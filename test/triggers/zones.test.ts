/** Rules of time zones change between two starts: what waits for a time of day keeps that time, and comes once (rules 2, 3 and 7). */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { movedSlot } from '../../packages/schedule/src/moved.ts'
import { followRules } from '../../src/store/zoned.ts'
import { folder } from '../process/server.ts'
import { type Row, type Stage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const START = '2026-01-01T00:00:00Z'
const NINE_IN_BERLIN = new Date('2026-01-01T08:00:00Z')
const BERLIN = { timezone: 'Europe/Berlin' }
const HOUR = 3_600_000

/** As if they had been reckoned under rules by which Berlin is an hour behind. */
const OLD_RULES = [
  `update wakeful.alarms set due_at = due_at + interval '1 hour', scheduled_for = scheduled_for + interval '1 hour', next_fire_at = next_fire_at + interval '1 hour' where timezone = 'Europe/Berlin'`,
  `update wakeful.scheduled_intents set next_check = next_check + interval '1 hour'`,
  `update wakeful.work set next_run_at = next_run_at + interval '1 hour'`,
  `update wakeful.settings set value = 'older' where key = 'tz_data'`,
]

async function arranged(s: Stage): Promise<void> {
  const as = { 'wakeful-act-as': 'ann' }
  const daily = { kind: 'cron', cron_expr: '0 9 * * *', wake_message: 'up', agent_id: 'bot' }
  await s.call('POST', '/v1/alarms', { ...daily, ...BERLIN }, as)
  await s.call('POST', '/v1/alarms', { ...daily, timezone: 'UTC', label: 'UTC' }, as)
  await s.call('POST', '/v1/alarms', { ...daily, cron_expr: '@every 5h', ...BERLIN }, as)
  await s.call('POST', '/v1/intents', {
    ...{ user_id: 'ann', intent_name: 'brief', agent_id: 'bot', action_context: 'x', ...BERLIN },
    ...{ trigger_type: 'cron', trigger_schedule: { cron: '0 9 * * *' } },
  })
  await s.call('POST', '/v1/work', {
    ...{ task: 't', agent_type: 'echo', frequency: 'daily at 9am', run_first: false, ...BERLIN },
    user_id: 'ann',
  })
}

const waiting = (s: Stage) =>
  s.query<Row>(
    `select 'alarm' || cron_expr || timezone as of, due_at as at from wakeful.alarms
     union all select 'intent', next_check from wakeful.scheduled_intents
     union all select 'work', next_run_at from wakeful.work order by 1`,
  )

eachStore('zones whose rules change', (store) => {
  const open = (database: string) =>
    stage(database, { startAt: START, work: { echo: async () => ({ title: 't', content: '' }) } })

  it('what was stored under others is reckoned again at the next start, and fires once, at its time', async () => {
    const database =
      store.name === 'pglite' ? `pglite:${join(folder(), 'data')}` : await store.database()
    const first = await open(database)
    await arranged(first)
    const before = await waiting(first)
    for (const statement of OLD_RULES) await first.query(statement)
    const old = await waiting(first)
    await first.stop()
    const second = await open(database)
    expect(await waiting(second)).toEqual(
      before.map((row, at) => (String(row.of).includes('@every') ? old[at] : row)),
    )
    await second.advanceBy(24 * HOUR - 1)
    const fired = await second.query<Row>(
      `select type, created_at from wakeful.events where scheduled_for = $1 order by type`,
      [NINE_IN_BERLIN],
    )
    expect(fired.map(({ type }) => type)).toEqual(['alarm', 'intent', 'work'])
    for (const { created_at } of fired) expect(created_at).toEqual(NINE_IN_BERLIN)
  })

  it('moves nothing that is on its way, due, or tried again, and nothing twice', async () => {
    const s = await open(await store.database())
    await arranged(s)
    for (const statement of OLD_RULES) await s.query(statement)
    await s.query(`update wakeful.alarms set attempt = 1`)
    await s.query(`update wakeful.scheduled_intents set last_execution_status = 'failed'`)
    await s.query(`update wakeful.work set next_run_at = $1`, [new Date(START)])
    const before = await waiting(s)
    const { engine } = s.app.store
    expect(await followRules(engine, 'newer')).toEqual({ alarms: 0, scheduled_intents: 0, work: 0 })
    expect(await waiting(s)).toEqual(before)
    await s.query(`update wakeful.alarms set attempt = 0`)
    expect(await followRules(engine, 'newest')).toMatchObject({ alarms: 1 })
    expect(await followRules(engine, 'newest')).toBeNull()
  })
})

it('a slot keeps its time of day, never comes before now, and an instant that is none of its own stays', () => {
  const daily = { cron_expr: '0 9 * * *', ...BERLIN }
  const at = (hour: number, minute = 0) => new Date(Date.UTC(2026, 0, 1, hour, minute))
  expect(movedSlot(daily, at(9), at(0))).toEqual(at(8))
  expect(movedSlot(daily, at(7), at(0))).toEqual(at(8))
  expect(movedSlot(daily, at(8), at(0))).toBeNull()
  // By the new rules it has passed: the next comes tomorrow, which is no move of this one.
  expect(movedSlot(daily, at(9), at(8, 30))).toBeNull()
  expect(movedSlot(daily, at(9), at(9))).toBeNull()
  expect(movedSlot(daily, at(20), at(0))).toBeNull()
  expect(movedSlot({ ...daily, cron_expr: '@every 1h' }, at(9), at(0))).toBeNull()
})
