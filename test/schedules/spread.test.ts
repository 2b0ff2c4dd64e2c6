/** `spread` on alarms, work and schedules: each fires at its own moment after nine, and stays there when it is changed. */
import { beforeEach, expect, it } from 'vitest'
import { spreadOf } from '../../src/core/spread.ts'
import { problem } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const NINE = Date.parse('2026-01-01T09:00:00Z')

const at = (name: string, userId = 'ann') =>
  new Date(NINE + spreadOf('10 minutes', userId, name).offsetMs).toISOString()

eachStore('spread', (store) => {
  const shared = sharedStage(store, {
    work: { note: async () => ({ title: 'done', content: 'done' }) },
  })
  beforeEach(() => shared().query('delete from wakeful.scheduled_intents'))

  it('an alarm, work and a schedule fire at their own moment each day', async () => {
    const s = shared()
    const asked = { spread: '10 minutes', timezone: 'UTC' }
    const alarm = await s.set(
      { schedule: 'every day at 9am', ...asked },
      { 'wakeful-act-as': 'ann' },
    )
    const { body } = await s.call('POST', '/v1/work', {
      ...{ task: 'nine', agent_type: 'note', frequency: 'daily at 9am', run_first: false },
      ...{ ...asked, user_id: 'ann' },
    })
    const plan = await s.call('PUT', '/v1/schedules/plan', {
      ...{ every: 'day at 9:00', user_id: 'ann', ...asked },
    })
    const times = [at(alarm.id), at(body.work.id), at('plan')]
    expect([alarm.next_fire_at, body.work.next_run_at, plan.body.next_at]).toEqual(times)
    expect(plan.body.description).toContain('spread over 10m')
    await s.advanceBy(34 * HOUR)
    const fired = await s.query<{ trigger_id: string; at: Date }>(
      `select trigger_id, scheduled_for as at from wakeful.events where scheduled_for is not null`,
    )
    const later = (iso: string) => new Date(Date.parse(iso) + 24 * HOUR).toISOString()
    expect(fired.map((row) => new Date(row.at).toISOString()).sort()).toEqual(
      [...times, ...times.map(later)].sort(),
    )
  })

  it('is kept when a note is changed, goes with another time, and is the same after a pause', async () => {
    const s = shared()
    await s.call('PUT', '/v1/schedules/plan', {
      ...{
        every: 'day at 9:00',
        user_id: 'ann',
        spread: '10 minutes',
        until: '2026-03-01T00:00:00Z',
      },
    })
    const patch = async (body: object) =>
      (await s.call('PATCH', '/v1/schedules/plan?user_id=ann', body)).body
    expect((await patch({ note: 'other' })).next_at).toBe(at('plan'))
    await s.call('POST', '/v1/schedules/plan/pause?user_id=ann')
    const resumed = await s.call('POST', '/v1/schedules/plan/resume?user_id=ann')
    expect(resumed.body.next_at).toBe(at('plan'))
    expect(resumed.body.description).toContain('until 2026-03-01')
    expect((await patch({ every: 'day at 9:00' })).next_at).toBe(new Date(NINE).toISOString())
    expect((await patch({ spread: '10 minutes' })).next_at).toBe(at('plan'))
  })

  it('moves what happens once, too', async () => {
    const s = shared()
    const { body } = await s.call('PUT', '/v1/schedules/once', {
      ...{ at: '2026-01-01T09:00:00Z', user_id: 'ann', spread: '10 minutes' },
    })
    expect(body.next_at).toBe(at('once'))
  })

  it('refuses what is no length, and what cannot be spread', async () => {
    const s = shared()
    const nine = { user_id: 'ann', every: 'day at 9:00' }
    problem(await s.call('PUT', '/v1/schedules/x', { ...nine, spread: 'often' }), 400)
    problem(await s.call('PUT', '/v1/schedules/x', { ...nine, spread: '2 days' }), 400)
    problem(await s.call('PUT', '/v1/schedules/x', { when: { event: 'a' }, spread: '1 hour' }), 400)
    const alarm = { kind: 'cron', cron_expr: '0 9 * * *', wake_message: 'x', spread: 'often' }
    problem(await s.call('POST', '/v1/alarms', alarm), 400)
  })
})
