/** Expressions joined by ` | ` in every place that keeps a cron expression: alarms, intents, work, the preview. */
import { expect, it } from 'vitest'
import { sharedWakes } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000
const JOINED = '30 8 * * * | 0 17 * * *'

eachStore('several times a day', (store) => {
  const stage = sharedWakes(store, {
    work: { note: async () => ({ title: 'done', content: 'done' }) },
  })

  it('an alarm fires at each of them, and once where two of them meet', async () => {
    const { s, hook } = stage()
    const alarm = await s.set({
      kind: 'cron',
      cron_expr: `${JOINED} | 0 17 * * 4`,
      wake_message: 'pill',
    })
    expect(alarm.next_fires).toEqual([
      '2026-01-01T08:30:00.000Z',
      '2026-01-01T17:00:00.000Z',
      '2026-01-02T08:30:00.000Z',
    ])
    await s.advanceBy(12 * HOUR)
    await s.advanceBy(12 * HOUR)
    expect(hook.received).toHaveLength(2)
    s.sleep(48 * HOUR)
    await s.settle()
    expect(hook.received).toHaveLength(3)
    expect(hook.received[2]?.body).toMatchObject({
      scheduled_for: '2026-01-02T08:30:00.000Z',
      missed_count: 3,
    })
  })

  it('a phrase, a frequency and an intent keep them in the same form', async () => {
    const { s } = stage()
    const words = 'daily at 17:00 and 8:30'
    const alarm = await s.set({ schedule: words, wake_message: 'pill' })
    expect(alarm.cron_expr).toBe(JOINED)
    const preview = await s.call('POST', '/v1/schedules/preview', { cron_expr: JOINED })
    expect(preview.body).toMatchObject({
      canonical: JOINED,
      description: 'every day at 08:30 and 17:00 (UTC)',
    })
    const work = await s.call('POST', '/v1/work', {
      task: 'Note',
      agent_type: 'note',
      frequency: words,
    })
    expect(work.body).toMatchObject({ work: { frequency_cron: JOINED } })
    const intent = (cron: string) =>
      s.call('POST', '/v1/intents', {
        user_id: 'ann',
        intent_name: 'pill',
        trigger_type: 'cron',
        trigger_schedule: { cron },
        action_context: 'Take it.',
      })
    expect((await intent(JOINED)).status).toBe(201)
    // The same minutes twice are counted once; together these are 120 a day.
    expect((await intent('*/15 * * * * | 0,15,30,45 * * * *')).status).toBe(201)
    const often = await intent('*/15 * * * * | 5 * * * *')
    expect(often.status).toBe(400)
    expect(JSON.stringify(often.body)).toContain('120x/day')
  })
})
