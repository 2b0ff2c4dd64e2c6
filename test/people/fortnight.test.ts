/**
 * A fortnight of a person in New York across the autumn change, with quiet hours, a limit, eight triggers of all kinds, a pause and
 * two nights of downtime: what is said when, and why (invariant 11a, rules 40 to 42).
 */
import { expect, it } from 'vitest'
import { formatLocal } from '../../packages/schedule/src/index.ts'
import { agent } from '../../src/agents/function.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { anyCall } from '../setup/worlds.ts'

const ZONE = 'America/New_York'
const HOUR = 3_600_000

eachStore('a fortnight', (store) => {
  it('is as the table says', { timeout: 600_000 }, async () => {
    const app = await testWakeful({
      database: await store.database(),
      // A Monday, 06:00 in New York; the clock is put back in the night to Sunday.
      startAt: '2026-10-26T10:00:00Z',
      agents: {
        bot: agent((turn) => {
          const payload = (turn.event.payload ?? {}) as Loose
          const rule = payload.deferred === undefined ? '' : `, ${payload.deferred.rule}`
          const missed = payload.missed === undefined ? '' : ', others missed'
          const names = payload.items?.map(({ name }: Loose) => name).join(' + ')
          const name =
            names ?? payload.label ?? payload.intent_name ?? payload.timer_id ?? payload.text
          turn.say(`${turn.event.type}: ${name}${rule}${missed}`)
        }),
      },
      work: { report: async (run) => ({ title: run.task, content: 'x' }) },
      env: { LOG_LEVEL: 'silent' },
    })
    afterEachTest(() => app.stop())
    const call = (name: string, args: object) =>
      anyCall(app)(name, args, { actAs: 'ann' }) as Promise<Loose>
    const at = (local: string) =>
      new Date(`${local}:00${local < '2026-11-01T02' ? '-04:00' : '-05:00'}`)
    const away = async (until: Date) => {
      const { engine } = app.app
      const quiesce = engine.quiesce.bind(engine)
      engine.quiesce = async () => null
      await app.advanceTo(until)
      engine.quiesce = quiesce
      await app.settle()
    }
    const event = async (name: string) => {
      await call('post_signal', { kind: 'event', name })
      await app.settle()
    }

    await call('set_preferences', {
      ...{ user_id: 'ann', timezone: ZONE, most_unasked_per_day: 5 },
      quiet_hours: [{ from: '22:00', to: '07:30' }],
    })
    const common = { agent_id: 'bot', conversation_id: 't' }
    const alarm = (label: string, cron_expr: string, more: object = {}) =>
      call('set_alarm', { ...common, kind: 'cron', cron_expr, label, wake_message: label, ...more })
    // Eight triggers of all kinds.
    await alarm('pill', '0 9 * * *')
    await alarm('bed', '0 23 * * fri,sat')
    await alarm('stretch', '0 2 * * *', { catch_up: 'skip' })
    const intent = (intent_name: string, trigger_type: string, more: object) =>
      call('create_intent', {
        ...{ user_id: 'ann', intent_name, trigger_type, action_context: intent_name },
        ...{ agent_id: 'bot', thread_id: 't', ...more },
      })
    await intent('plan', 'cron', { trigger_schedule: { cron: '0 8 * * mon' } })
    await call('create_work', {
      ...{ user_id: 'ann', task: 'report', agent_type: 'report', frequency: '30 6 * * wed' },
      ...{ run_first: false, notify_session: 'ann:bot:t' },
    })
    const days = async (until: string) => app.advanceTo(at(until))

    await days('2026-10-28T23:30')
    // In quiet hours: a condition waits, what is critical does not, a follow-up is dropped.
    const door = await intent('door', 'event', { trigger_condition: { keywords: ['door'] } })
    await intent('fire', 'event', {
      ...{
        trigger_condition: { keywords: ['fire'] },
        action_priority: 'critical',
        max_executions: 1,
      },
    })
    await call('put_timer', { session_key: 'ann:bot:t', timer_id: 'nudge', delay_seconds: 60 })
    await event('the door is open')
    await event('the door is shut')
    await event('fire in the kitchen')
    await days('2026-10-29T08:00')
    await call('delete_intent', { id: door.id })

    // Too much for one day.
    for (const n of [1, 2, 3, 4, 5, 6])
      await call('set_alarm', {
        ...{ ...common, kind: 'once', label: `call ${n}`, wake_message: 'x' },
        fire_at: new Date(at('2026-10-30T10:00').getTime() + n * HOUR).toISOString(),
      })
    // Two nights of downtime: the one in which the clock is put back, and another.
    await days('2026-10-31T21:00')
    await away(at('2026-11-01T12:00'))
    await days('2026-11-02T18:00')
    await call('pause', { user_id: 'ann', until: '2026-11-04T12:00' })
    await days('2026-11-05T21:00')
    await away(at('2026-11-06T09:30'))
    await days('2026-11-08T23:59')

    const { data } = await call('list_effects', { session_key: 'ann:bot:t', limit: 500 })
    const said = data.map(({ created_at, payload }: Loose) => {
      const [date = '', time = ''] = formatLocal(Date.parse(created_at), ZONE).split(' ')
      return `${date.slice(5)} ${time} ${payload.content.split('\n')[0]}`
    })
    expect(said).toEqual(TABLE)
    const { data: slots } = await call('get_ledger', { user_id: 'ann', limit: 200 })
    const outcomes = new Set(slots.map(({ outcome }: Loose) => outcome))
    expect([...outcomes].filter((each) => !KNOWN.includes(String(each)))).toEqual([])
    expect(await call('get_preferences', { user_id: 'ann' })).toMatchObject({ deferred: 0 })
  })
})

const KNOWN = ['sent', 'delivered', 'suppressed', 'missed', 'condition_false', 'expired']

/** Local time, the event, what it is about, and why it comes then. */
const TABLE: readonly string[] = [
  '10-26 08:00 intent: plan',
  '10-26 09:00 alarm: pill',
  // at a stated time: quiet hours let it through
  '10-27 02:00 alarm: stretch',
  '10-27 09:00 alarm: pill',
  '10-28 02:00 alarm: stretch',
  // a notice of 06:30, deferred until quiet hours ended
  '10-28 07:30 "report" is ready (run 1).',
  '10-28 09:00 alarm: pill',
  // critical
  '10-28 23:30 intent: fire',
  '10-29 02:00 alarm: stretch',
  // two events of the night, as one; the follow-up was dropped
  '10-29 07:30 digest: door + door',
  '10-29 09:00 alarm: pill',
  '10-30 02:00 alarm: stretch',
  '10-30 09:00 alarm: pill',
  '10-30 11:00 alarm: call 1',
  '10-30 12:00 alarm: call 2',
  // the fifth of the day
  '10-30 13:00 alarm: call 3',
  '10-31 02:00 alarm: stretch',
  // beyond the most of yesterday, at the first open minute of today
  '10-31 07:30 digest: call 4 + call 5 + call 6 + bed',
  '10-31 09:00 alarm: pill',
  // late after downtime, gathered; stretch was skipped. The clock was put back
  '11-01 12:00 digest: bed + pill',
  '11-02 02:00 alarm: stretch',
  '11-02 08:00 intent: plan',
  '11-02 09:00 alarm: pill',
  // the pause ended; later slots of stretch and pill are covered
  '11-04 12:00 digest: stretch + pill + report',
  '11-05 02:00 alarm: stretch, others missed',
  '11-05 09:00 alarm: pill, others missed',
  // late after downtime, alone; stretch was skipped
  '11-06 09:30 alarm: pill',
  '11-06 23:00 alarm: bed',
  '11-07 02:00 alarm: stretch',
  '11-07 09:00 alarm: pill',
  '11-07 23:00 alarm: bed',
  '11-08 02:00 alarm: stretch',
  '11-08 09:00 alarm: pill',
]
