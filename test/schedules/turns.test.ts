/** `turn.schedule`: one verb for timers, alarms, intents and work, written with the turn's commit or not at all. */
import { beforeEach, expect, it } from 'vitest'
import type { Turn } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { specFromWire } from '../../src/features/schedules/spec.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const COUNTS = `select
  (select count(*)::int from wakeful.autonomy_timers where status = 'pending') as timers,
  (select count(*)::int from wakeful.alarms where status = 'active') as alarms,
  (select count(*)::int from wakeful.scheduled_intents) as intents,
  (select count(*)::int from wakeful.work) as work`

eachStore('schedules of turns', (store) => {
  let act: (turn: Turn) => unknown = () => undefined
  const woken: Row[] = []
  const hear = (turn: Turn) => {
    const { type, payload } = turn.event
    return type === 'user_message'
      ? act(turn)
      : woken.push({ type, payload, key: turn.session.key })
  }
  const shared = sharedStage(store, {
    agents: { bot: hear, other: hear },
    work: { report: async () => ({ title: 'Report', content: 'all is well' }) },
  })
  beforeEach(async () => {
    for (const table of ['scheduled_intents', 'work', 'signals', 'people'])
      await shared().query(`delete from wakeful.${table}`)
  })
  const say = async (s: Stage, run: typeof act, key = 'ann:bot:t') => {
    woken.length = 0
    act = run
    await s.call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })
    await s.settle()
  }
  const counts = async (s: Stage) => (await s.query<Row>(COUNTS))[0]
  const texts = async (s: Stage) =>
    (
      await s.query<Row>(
        `select payload from wakeful.effects where type = 'send_message' order by id`,
      )
    ).map(({ payload }) => (typeof payload === 'string' ? JSON.parse(payload) : payload).content)

  it('each time becomes the kind that keeps it, answers at once, and is written with the commit', async () => {
    const s = shared()
    const made: object[] = []
    await say(s, async (turn) => {
      made.push(
        turn.schedule('nudge', { in: '10 minutes', cancelOnReply: true, note: 'still there?' }),
        turn.schedule('dentist', { at: 'tomorrow at 9am', note: 'call the dentist' }),
        turn.schedule('plan', { every: 'weekday at 8:30', data: { list: 1 } }),
        turn.schedule('nvda', { when: { price: 'NVDA', below: 130 } }),
        turn.schedule('report', { every: 'day at 18:00', run: 'report', with: { deep: true } }),
      )
      expect(await counts(s)).toEqual({ timers: 0, alarms: 0, intents: 0, work: 0 })
    })
    expect(made).toMatchObject([
      { id: 'nudge', kind: 'timer', next: [new Date('2026-01-01T00:10:00Z')] },
      { id: 'dentist', kind: 'alarm', next: [new Date('2026-01-02T09:00:00Z')] },
      { id: 'plan', kind: 'alarm', description: 'every weekday at 08:30 (UTC)' },
      { id: 'nvda', kind: 'intent', description: 'when NVDA is < 130', next: [] },
      { id: 'report', kind: 'work', description: 'every day at 18:00 (UTC)' },
    ])
    expect(await counts(s)).toEqual({ timers: 1, alarms: 2, intents: 1, work: 1 })
    await s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 125 })
    await s.advanceBy(10 * MINUTE)
    expect(woken).toMatchObject([
      { type: 'intent', payload: { intent_name: 'nvda', action_context: 'when NVDA is < 130' } },
      { type: 'timer', payload: { timer_id: 'nudge', payload: { note: 'still there?' } } },
    ])
    await s.advanceBy(33 * HOUR)
    expect(woken.slice(2)).toMatchObject([
      { type: 'alarm', payload: { label: 'plan', wake_message: 'plan', payload: { list: 1 } } },
      { type: 'alarm', payload: { label: 'plan' } },
      { type: 'alarm', payload: { label: 'dentist', wake_message: 'call the dentist' } },
    ])
    expect(new Set(woken.map(({ key }) => key))).toEqual(new Set(['ann:bot:t']))
  })

  it('the same name again is one schedule, whatever kind of time it had before', async () => {
    const s = shared()
    const specs = [
      { at: 'tomorrow at 9am' },
      { every: '2 hours' },
      { when: { silentFor: '2 days' } },
      { in: 300, cancelOnReply: true },
      { every: 'day at 18:00', run: 'report' },
      { at: 'tomorrow at 10am' },
    ] as const
    const kinds = ['alarms', 'alarms', 'intents', 'timers', 'work', 'alarms']
    for (const [nth, spec] of specs.entries()) {
      await say(s, (turn) => turn.schedule('x', spec))
      const none = { timers: 0, alarms: 0, intents: 0, work: 0 }
      expect([nth, await counts(s)]).toEqual([nth, { ...none, [kinds[nth] ?? '']: 1 }])
    }
    const rows = await s.query<Row>(
      `select name, label from wakeful.alarms where status = 'active'`,
    )
    expect(rows).toEqual([{ name: 'x', label: 'x' }])
  })

  it('names are of one person and agent, a timer’s of its session', async () => {
    const s = shared()
    for (const key of ['ann:bot:t', 'ann:bot:u', 'ann:other:t', 'bea:bot:t']) {
      await say(s, (turn) => turn.schedule('x', { at: 'tomorrow at 9am' }), key)
      await say(s, (turn) => turn.schedule('y', { in: 60, cancelOnReply: true }), key)
    }
    expect(await counts(s)).toMatchObject({ alarms: 3, timers: 4 })
  })

  it('a schedule set again for the same times keeps its place in them', async () => {
    const s = shared()
    const set = (turn: Turn) => turn.schedule('water', { every: '@every 2h', note: 'drink' })
    await say(s, set)
    for (let hour = 0; hour < 3; hour++) {
      await s.advanceBy(HOUR)
      act = set
      await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'again' })
      await s.settle()
    }
    expect(woken.map(({ type }) => type)).toEqual(['alarm'])
    const [row] = await s.query<Row>('select next_fire_at from wakeful.alarms')
    expect(row?.next_fire_at).toEqual(new Date('2026-01-01T04:00:00Z'))
  })

  it('cancel removes a schedule of any kind, by name or by ref, and only this agent’s', async () => {
    const s = shared()
    await say(s, (turn) => {
      turn.schedule('a', { at: 'tomorrow at 9am' })
      turn.schedule('b', { when: { news: ['rain'] } })
      turn.schedule('c', { every: 'day at 18:00', run: 'report' })
      turn.schedule('d', { in: 600, cancelOnReply: true })
      turn.schedule('e', { at: 'tomorrow at 9am' })
      turn.cancel('e')
    })
    expect(await counts(s)).toEqual({ timers: 1, alarms: 1, intents: 1, work: 1 })
    const refs = await s.query<Row>(
      `select 'alarm:' || id as ref from wakeful.alarms where status = 'active'`,
    )
    const cancel = (turn: Turn) => {
      for (const { ref } of refs) turn.cancel(ref)
      for (const name of ['b', 'c', 'd', 'none']) turn.cancel(name)
    }
    await say(s, cancel, 'ann:other:t')
    await say(s, cancel, 'bea:bot:t')
    expect(await counts(s)).toMatchObject({ alarms: 1, intents: 1, work: 1 })
    await say(s, cancel)
    expect(await counts(s)).toEqual({ timers: 0, alarms: 0, intents: 0, work: 0 })
  })

  it('scheduled lists all kinds with what this turn has asked for, soonest first', async () => {
    const s = shared()
    await say(s, (turn) => {
      turn.schedule('late', { at: '2026-01-03T09:00:00Z' })
      turn.schedule('gone', { at: '2026-01-04T09:00:00Z' })
      turn.schedule('watch', { when: { price: 'NVDA', above: 200 }, note: 'sell' })
    })
    const seen: unknown[] = []
    await say(s, async (turn) => {
      turn.schedule('soon', { in: '5 minutes', cancelOnReply: true })
      turn.schedule('late', { every: 'day at 7am' })
      turn.cancel('gone')
      for (const { ref, kind, status, nextAt, note } of await turn.scheduled())
        seen.push([ref, kind, status, nextAt?.toISOString() ?? null, note])
    })
    expect(seen).toEqual([
      ['soon', 'timer', 'active', '2026-01-01T00:05:00.000Z', ''],
      ['late', 'alarm', 'active', '2026-01-01T07:00:00.000Z', 'late'],
      ['watch', 'intent', 'active', null, 'sell'],
    ])
  })

  it('what is wrong is refused at the call, in the names of the library, all at once', async () => {
    const s = shared()
    const refusals: unknown[] = []
    await say(s, (turn) => {
      const wrong: [string, object][] = [
        ['x', { at: 'tomorrow at 9am', every: 'day' }],
        ['x', {}],
        ['x', { in: '10 minutes', cancelOnReply: true, catchUp: 'all' }],
        ['x', { at: 'often' }],
        ['x', { at: '2020-01-01T00:00:00Z' }],
        ['x', { in: 5, timeZone: 'Mars' }],
        ['x', { in: 5, time_zone: 'UTC' }],
        ['x', { in: 5, cancel_on_reply: true }],
        ['alarm:x', { in: 5 }],
        ['x', { run: 'nobody' }],
        ['x', { when: { price: 'NVDA' } }],
      ]
      for (const [name, spec] of wrong)
        try {
          turn.schedule(name, spec as never)
          refusals.push('set')
        } catch (error) {
          refusals.push(error instanceof Refusal ? error.errors[0] : error)
        }
    })
    expect(refusals).toEqual([
      'takes exactly one of in, at, every, when; with run, none of them means now',
      'takes exactly one of in, at, every, when; with run, none of them means now',
      'catchUp: does not go with cancelOnReply',
      expect.stringContaining('at: "often" is refused'),
      expect.stringContaining('at: 2020-01-01 00:00 UTC is in the past'),
      expect.stringContaining('timeZone: "Mars" is not an IANA time zone'),
      'time_zone: is not a known field',
      'cancel_on_reply: is not a known field; use cancelOnReply',
      'name: must not begin with a kind and a colon',
      expect.stringContaining('run: no executor "nobody" does work here'),
      'when: price takes exactly one of above and below',
    ])
    expect(await counts(s)).toEqual({ timers: 0, alarms: 0, intents: 0, work: 0 })
  })

  it('invariant 3: a failing turn sets and removes nothing', async () => {
    const s = shared()
    await say(s, (turn) => turn.schedule('kept', { at: 'tomorrow at 9am' }))
    await say(s, (turn) => {
      turn.cancel('kept')
      turn.schedule('never', { when: { news: 'rain' } })
      throw new TypeError('no')
    })
    expect(await counts(s)).toMatchObject({ alarms: 1, intents: 0 })
  })

  it('a schedule that is refused at the commit fails its turn alone, and the person is answered', async () => {
    const s = shared()
    const fill = (turn: Turn) => {
      for (let n = 0; n < 25; n++) turn.schedule(`w${n}`, { when: { news: [`word${n}`] } })
    }
    await say(s, fill)
    act = (turn) => {
      turn.say(`hello ${turn.session.userId}`)
      if (turn.session.userId === 'ann') turn.schedule('more', { when: { news: 'rain' } })
    }
    for (const key of ['ann:bot:t', 'bea:bot:t'])
      await s.call('POST', `/v1/sessions/${key}/messages`, { text: 'go' })
    await s.settle()
    expect(await texts(s)).toEqual(
      expect.arrayContaining(['Sorry, something went wrong. Please try again.', 'hello bea']),
    )
    expect(await texts(s)).not.toContain('hello ann')
    expect(await counts(s)).toMatchObject({ intents: 25 })
    // The same name needs no room of its own.
    await say(s, (turn) => turn.schedule('w3', { when: { news: 'snow' } }))
    expect(await counts(s)).toMatchObject({ intents: 25 })
  })

  it('until and times bound a rhythm; work can run once, later', async () => {
    const s = shared()
    await say(s, (turn) => {
      turn.schedule('thrice', { every: '1 hour', times: 3 })
      turn.schedule('later', { at: '2026-01-01T05:30:00Z', run: 'report', note: 'the report' })
      turn.schedule('now', { run: 'report' })
    })
    await s.advanceBy(12 * HOUR)
    expect(woken.filter(({ type }) => type === 'alarm')).toHaveLength(3)
    const runs = await s.query<Row>(
      `select w.name, o.status, o.scheduled_for from wakeful.work w join wakeful.work_outputs o on o.work_id = w.id order by 3`,
    )
    expect(runs).toEqual([
      { name: 'now', status: 'completed', scheduled_for: new Date('2026-01-01T00:00:00Z') },
      { name: 'later', status: 'completed', scheduled_for: new Date('2026-01-01T05:30:00Z') },
    ])
  })

  it('the person is known by their zone, their clock and their preferences', async () => {
    const s = shared()
    await s.call('PUT', '/v1/people/ann', { timezone: 'Europe/Berlin', most_unasked_per_day: 3 })
    const seen: unknown[] = []
    await say(s, (turn) => {
      const { id, timeZone, now, localTime, preferences } = turn.person
      seen.push(id, timeZone, now.toISOString(), localTime, preferences.mostUnaskedPerDay)
      seen.push(turn.schedule('x', { at: 'today at 9am' }).next[0]?.toISOString())
    })
    expect(seen).toEqual([
      'ann',
      'Europe/Berlin',
      '2026-01-01T00:00:00.000Z',
      'Thursday 2026-01-01 01:00',
      3,
      '2026-01-01T08:00:00.000Z',
    ])
  })
})

it('a model’s arguments are read in the names of HTTP', () => {
  const wire = { when: { silent_for: '2 days' }, catch_up: 'skip', timezone: 'UTC', note: 'hi' }
  expect(specFromWire(wire)).toEqual({
    ...{ when: { silentFor: '2 days' }, catchUp: 'skip', timeZone: 'UTC', note: 'hi' },
  })
})

it('the type of an event is known with its payload, and the state as it is declared', () => {
  const wrong = (turn: Turn<{ count: number }>) => {
    // @ts-expect-error there is no such type
    if (turn.event.type === 'alrm') return null
    // @ts-expect-error exactly one time
    turn.schedule('x', { in: 5, at: 'tomorrow' })
    // @ts-expect-error a number
    turn.state.count = 'three'
    if (turn.event.type === 'alarm') return turn.event.payload.wake_message.length
    return turn.event.type === 'user_message'
      ? turn.event.payload.text
      : (turn.state.count ?? 0) + 1
  }
  expect(wrong).toBeTypeOf('function')
})
