/** Alarms that people can live with: changed, paused over slots that pass, resumed, and retried when they have failed. */
import fc from 'fast-check'
import { beforeEach, expect, it } from 'vitest'
import { TerminalError } from '../../src/core/errors.ts'
import { problem } from '../setup/http.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

eachStore('changes of alarms', (store) => {
  let fails = false
  const woken: Row[] = []
  const shared = sharedStage(store, {
    agents: {
      bot: (turn) => {
        if (fails) throw new TerminalError('no such luck')
        woken.push(turn.event.payload as Row)
      },
    },
  })
  beforeEach(() => {
    fails = false
    woken.length = 0
  })
  const post = (s: Stage, alarm: Row, verb: string) =>
    s.call('POST', `/v1/alarms/${alarm.id}/${verb}`)
  const patch = (s: Stage, alarm: Row, body: object) =>
    s.call('PATCH', `/v1/alarms/${alarm.id}`, body)

  it('changes what is said and keeps when, and changes when and keeps what is said', async () => {
    const s = shared()
    const alarm = await s.set({ schedule: 'every day at 9am', label: 'pill', payload: { n: 1 } })
    const said = await patch(s, alarm, { wake_message: 'take two', payload: { n: 2 } })
    expect(said.body).toMatchObject({
      ...{ wake_message: 'take two', payload: { n: 2 }, label: 'pill', status: 'active' },
      next_fire_at: alarm.next_fire_at,
    })
    const moved = await patch(s, alarm, { schedule: 'every day at 10am' })
    expect(moved.body).toMatchObject({
      ...{ wake_message: 'take two', cron_expr: '0 10 * * *' },
      next_fire_at: '2026-01-01T10:00:00.000Z',
    })
    await s.advanceBy(12 * HOUR)
    expect(woken.map(({ wake_message, scheduled_for }) => [wake_message, scheduled_for])).toEqual([
      ['take two', '2026-01-01T10:00:00.000Z'],
    ])
  })

  it('becomes another kind, and reads its times in another zone', async () => {
    const s = shared()
    const alarm = await s.set({ schedule: 'every day at 9am' })
    const zoned = await patch(s, alarm, { timezone: 'Asia/Tokyo' })
    expect(zoned.body.next_fire_at).toBe('2026-01-02T00:00:00.000Z')
    const once = await patch(s, alarm, { schedule: 'in 2 hours' })
    expect(once.body).toMatchObject({ kind: 'once', next_fire_at: '2026-01-01T02:00:00.000Z' })
    expect(once.body.cron_expr).toBeUndefined()
    await s.advanceBy(2 * DAY)
    expect(woken).toHaveLength(1)
  })

  it('refuses two times, none at all, a past one, and one that has ended', async () => {
    const s = shared()
    const alarm = await s.set({ schedule: 'in 1 hour' })
    problem(await patch(s, alarm, {}), 422)
    problem(await patch(s, alarm, { schedule: 'in 1 hour', delay_seconds: 5 }), 422)
    problem(await patch(s, alarm, { fire_at: '2020-01-01T00:00:00Z' }), 400)
    problem(await patch(s, alarm, { timezone: 'Mars/Olympus' }), 400)
    await s.call('DELETE', `/v1/alarms/${alarm.id}`)
    problem(await patch(s, alarm, { label: 'x' }), 409)
    for (const verb of ['pause', 'resume', 'retry']) problem(await post(s, alarm, verb), 409)
    problem(
      await s.call('PATCH', '/v1/alarms/00000000-0000-7000-8000-000000000000', { label: 'x' }),
      404,
    )
  })

  it('paused and resumed over any number of slots: goes on with the next, and records the others', async () => {
    const s = shared()
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 100 }),
        fc.boolean(),
        async (before, hours, changed) => {
          await s.reset()
          woken.length = 0
          const alarm = await s.set({ schedule: 'every day at 9am' })
          await s.advanceBy(before * HOUR)
          const fired = Math.floor((before + 15) / 24)
          expect(woken).toHaveLength(fired)
          expect((await post(s, alarm, 'pause')).body).toMatchObject({ status: 'paused' })
          await s.advanceBy(hours * HOUR)
          if (changed) await patch(s, alarm, { label: 'other' })
          expect(woken).toHaveLength(fired)
          const resumed = await post(s, alarm, 'resume')
          const passed = Math.floor((before + hours + 15) / 24) - fired
          const next = new Date(Date.parse('2026-01-01T09:00:00Z') + (fired + passed) * DAY)
          expect(resumed.body).toMatchObject({ status: 'active', next_fire_at: next.toISOString() })
          expect(await s.query(`select slots::int as slots, rule from wakeful.missed`)).toEqual(
            passed === 0 ? [] : [{ slots: passed, rule: 'paused' }],
          )
          await s.advanceBy(DAY)
          expect(woken).toHaveLength(fired + 1)
          expect(woken.at(-1)).toMatchObject({
            scheduled_for: next.toISOString(),
            missed_count: 0,
          })
        },
      ),
      { numRuns: 12 },
    )
  })

  it('resumed after its only time has passed, it wakes at once and tells the time it was for', async () => {
    const s = shared()
    const alarm = await s.set({ schedule: 'in 1 hour' })
    await post(s, alarm, 'pause')
    await s.advanceBy(3 * HOUR)
    expect(woken).toEqual([])
    await post(s, alarm, 'resume')
    await s.settle()
    expect(woken).toMatchObject([{ scheduled_for: '2026-01-01T01:00:00.000Z' }])
    const ledger = await s.call('GET', '/v1/ledger?user_id=local')
    expect(ledger.text).toContain('It began 2 h late.')
  })

  it('is cancelled while it is paused', async () => {
    const s = shared()
    const alarm = await s.set({ schedule: 'in 1 hour' })
    await post(s, alarm, 'pause')
    expect((await s.call('DELETE', `/v1/alarms/${alarm.id}`)).body.status).toBe('cancelled')
    problem(await post(s, alarm, 'resume'), 409)
  })

  it('one that failed is retried: active, due now, and fired', async () => {
    const s = shared()
    fails = true
    const alarm = await s.set({ schedule: 'in 1 hour' })
    await s.advanceBy(2 * HOUR)
    expect(await s.get(String(alarm.id))).toMatchObject({ status: 'failed' })
    problem(await post(s, alarm, 'pause'), 409)
    fails = false
    const retried = await post(s, alarm, 'retry')
    expect(retried.body).toMatchObject({ status: 'active', failure_count: 0 })
    await s.settle()
    expect(woken).toHaveLength(1)
    expect(await s.get(String(alarm.id))).toMatchObject({ status: 'fired' })
    // It fires again on request, and is not retried while it is active.
    await post(s, alarm, 'retry')
    problem(await post(s, alarm, 'retry'), 409)
    await s.settle()
    expect(woken).toHaveLength(2)
  })
})
