/** What is to come, the rules in force, and who asks. */
import fc from 'fast-check'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { repeatingCron, slotsUntil } from '../../src/features/ledger/upcoming.ts'
import { sharedStage as keyedStage } from '../identity/stage.ts'
import { type Loose, problem, type Reply } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const AS = (user: string) => ({ 'wakeful-act-as': user })
function refused(reply: Reply<Loose>, status: number, words: RegExp): void {
  problem(reply, status)
  expect(reply.body.errors.join()).toMatch(words)
}
const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('slots of a window, on the day before clocks go forward in Berlin', () => {
  const now = new Date('2026-03-28T10:00:00Z')
  const slots = (cron: string, first: string, to: string, max = 20) =>
    slotsUntil(
      new Date(first),
      repeatingCron(cron, 'Europe/Berlin', now),
      now,
      new Date(to),
      max,
    ).map((at) => at.toISOString().slice(5, 16))

  test.each([
    [
      'daily at 9 there',
      '0 9 * * *',
      '2026-03-29T07:00:00Z',
      '2026-03-31T07:00:00Z',
      ['03-29T07:00', '03-30T07:00', '03-31T07:00'],
    ],
    [
      'late: the one in hand, and nothing else that was missed',
      '0 9 * * *',
      '2026-03-25T08:00:00Z',
      '2026-03-29T12:00:00Z',
      ['03-25T08:00', '03-29T07:00'],
    ],
    [
      'an interval keeps its grid',
      '@every 7m',
      '2026-03-28T10:07:00Z',
      '2026-03-28T10:27:59Z',
      ['03-28T10:07', '03-28T10:14', '03-28T10:21'],
    ],
    [
      'the end belongs to it',
      '*/30 * * * *',
      '2026-03-28T10:30:00Z',
      '2026-03-28T11:30:00Z',
      ['03-28T10:30', '03-28T11:00', '03-28T11:30'],
    ],
    [
      'months',
      '0 0 1 * *',
      '2026-03-31T22:00:00Z',
      '2026-05-31T00:00:00Z',
      ['03-31T22:00', '04-30T22:00'],
    ],
    ['none within it', '0 0 1 * *', '2026-03-31T22:00:00Z', '2026-03-30T00:00:00Z', []],
  ])('%s', (_, cron, first, to, expected) => {
    expect(slots(cron, first, to)).toEqual(expected)
  })

  test('no more than asked for', () => {
    const [first, to] = ['2026-03-28T10:30:00Z', '2026-03-29T10:30:00Z']
    expect(slots('*/30 * * * *', first, to, 3)).toEqual([
      '03-28T10:30',
      '03-28T11:00',
      '03-28T11:30',
    ])
  })

  test('whatever the window: ascending, each once, within it, and after now but for the one in hand', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('0 9 * * *', '*/30 * * * *', '@every 7m', '0 0 1 * *'),
        fc.integer({ min: -3 * DAY, max: 3 * DAY }),
        fc.integer({ min: 0, max: 8 * DAY }),
        (cron, firstMs, spanMs) => {
          const first = new Date(now.getTime() + firstMs)
          const to = new Date(now.getTime() + spanMs)
          const found = slotsUntil(first, repeatingCron(cron, 'Europe/Berlin', now), now, to, 20)
          expect(found.slice(0, 1)).toEqual(first > to ? [] : [first])
          expect(found.length).toBeLessThanOrEqual(20)
          found.slice(1).forEach((at, index) => {
            expect(at > now && at > (found[index] ?? at) && at <= to).toBe(true)
          })
        },
      ),
      { numRuns: 100 },
    )
  })
})

test('what cannot be read any more shows the slot it waits for', () => {
  const at = new Date('2026-01-01T00:00:00Z')
  expect(repeatingCron('61 * * * *', 'UTC', at)).toBeNull()
  expect(slotsUntil(at, null, at, at, 9)).toEqual([at])
})

eachStore('the overview', (store) => {
  const get = sharedStage(store, {
    agents: { bot: () => undefined },
    work: { echo: async () => ({ title: 'Echo', content: 'x' }) },
  })
  beforeEach(async () => {
    await get().query('delete from wakeful.autonomy_timers')
    await get().query('delete from wakeful.scheduled_intents')
  })
  const look = async (query = '', headers = {}) => {
    const answer = await get().call('GET', `/v1/overview${query}`, undefined, headers)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const in_ = (ms: number) => new Date(get().now().getTime() + ms).toISOString()

  it('shows what comes in each lane, soonest first, what recurs with each of its slots', async () => {
    const s = get()
    const alarm = { agent_id: 'bot', wake_message: 'wake', label: 'Stand up' }
    await s.set({ ...alarm, kind: 'cron', cron_expr: '0 9 * * *' })
    await s.set({ ...alarm, kind: 'once', delay_seconds: 60, label: '' })
    await s.set({ ...alarm, kind: 'once', delay_seconds: 8 * 86_400 })
    await s.call('PUT', '/v1/sessions/ann:bot:t/timers/tea', { delay_seconds: 90 })
    const intent = { intent_name: 'NVDA', action_context: 'tell', user_id: 'ann', agent_id: 'bot' }
    await s.call('POST', '/v1/intents', {
      ...intent,
      trigger_type: 'price',
      trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
    })
    const work = { task: 'digest', agent_type: 'echo', user_id: 'ann', run_first: false }
    await s.call('POST', '/v1/work', { ...work, frequency: 'daily at 6pm' })
    const body = await look(`?to=${in_(7 * DAY)}`)
    expect(body.now).toBe(s.now().toISOString())
    expect(body.lanes.alarm).toMatchObject({ triggers: 2, more: false })
    expect(body.lanes.alarm.slots).toHaveLength(8)
    expect(body.lanes.alarm.slots[0]).toEqual({
      trigger_id: expect.any(String),
      name: 'wake',
      at: in_(60_000),
      user_id: 'local',
      by: 'bot',
      repeats: false,
    })
    expect(body.lanes.alarm.slots[1]).toMatchObject({ name: 'Stand up', repeats: true })
    expect(body.lanes.timer.slots).toMatchObject([
      { name: 'tea', at: in_(90_000), user_id: 'ann', session_key: 'ann:bot:t', by: 'bot' },
    ])
    expect(body.lanes.intent.slots).toMatchObject([{ name: 'NVDA', checks: true, user_id: 'ann' }])
    expect(body.lanes.work.slots).toHaveLength(7)
    expect(body.lanes.work.slots[0]).toMatchObject({ name: 'digest', by: 'echo', repeats: true })
  })

  it('is a day unless said, and ends where it is told', async () => {
    const s = get()
    await s.set({ agent_id: 'bot', wake_message: 'w', kind: 'cron', cron_expr: '@every 1h' })
    expect((await look()).lanes.alarm.slots).toHaveLength(24)
    expect((await look(`?to=${in_(3 * HOUR)}`)).lanes.alarm.slots).toHaveLength(3)
    const later = await look(`?from=${in_(HOUR / 2)}&to=${in_(2 * HOUR)}`)
    expect(later.lanes.alarm.slots).toHaveLength(2)
  })

  it('is bounded, and says that there is more', async () => {
    const s = get()
    await s.set({ agent_id: 'bot', wake_message: 'w', kind: 'cron', cron_expr: '@every 1s' })
    const one = await look(`?to=${in_(HOUR)}`)
    expect(one.lanes.alarm.slots).toHaveLength(60)
    expect(one.lanes.alarm.more).toBe(true)
    await s.query(
      `insert into wakeful.autonomy_timers (bucket, id, session_key, timer_id, fire_at, status, created_at, updated_at)
       select 0, gen_random_uuid(), 'many:bot:t', 't' || n, $1::timestamptz + n * interval '1 second', 'pending', $1, $1
       from generate_series(1, 500) n`,
      [s.now()],
    )
    const { timer } = (await look(`?to=${in_(HOUR)}`)).lanes
    expect(timer.slots).toHaveLength(200)
    expect(timer).toMatchObject({ triggers: 500, more: true })
  })

  it('tells how long due things have waited, and what no reader has taken', async () => {
    const s = get()
    expect((await look()).figures).toEqual({
      due_lag_ms: 0,
      undelivered: 0,
      oldest_undelivered_at: null,
      sessions_waiting: 0,
    })
    await s.set({ agent_id: 'bot', wake_message: 'w', kind: 'once', delay_seconds: 10 })
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hi' })
    s.sleep(25_000)
    const { figures, lanes } = await look()
    expect(figures).toMatchObject({ due_lag_ms: 25_000, sessions_waiting: 1 })
    expect(lanes.alarm.slots).toHaveLength(1)
    expect((await look(`?from=${in_(0)}`)).lanes.alarm.slots).toEqual([])
    // A turn that was taken up waits no more, however long it runs.
    await s.query(
      `update wakeful.sessions set leased_until = $1::timestamptz + interval '20 seconds', claim_token = gen_random_uuid(), claimed_at = $1`,
      [s.now()],
    )
    expect((await look()).figures).toMatchObject({ due_lag_ms: 15_000, sessions_waiting: 0 })
    s.sleep(30_000)
    expect((await look()).figures).toMatchObject({ sessions_waiting: 1 })
  })

  it('shows one person nothing of another (invariant 12)', async () => {
    const s = get()
    await s.set({ agent_id: 'bot', wake_message: 'w', kind: 'once', delay_seconds: 10 }, AS('bea'))
    await s.call('PUT', '/v1/sessions/bea:bot:t/timers/tea', { delay_seconds: 90 })
    await s.call('PUT', '/v1/sessions/bea2:bot:t/timers/tea', { delay_seconds: 90 })
    await s.call('POST', '/v1/sessions/bea:bot:t/messages', { text: 'hi' })
    await s.call('PUT', '/v1/sessions/bea:bot:t/timers/tea', { delay_seconds: 90 })
    for (const seen of [await look('', AS('eve')), await look('?user_id=eve')]) {
      expect(Object.values<{ slots: [] }>(seen.lanes).flatMap(({ slots }) => slots)).toEqual([])
      expect(seen.figures.sessions_waiting).toBe(0)
    }
    for (const seen of [await look('', AS('bea')), await look('?user_id=bea')]) {
      expect(seen.lanes.alarm.slots).toMatchObject([{ user_id: 'bea' }])
      expect(seen.lanes.timer.slots).toMatchObject([{ session_key: 'bea:bot:t' }])
      expect(seen.figures.sessions_waiting).toBe(1)
    }
    expect((await look()).lanes.timer.slots).toHaveLength(2)
  })

  it('refuses windows that are none', async () => {
    const ask = (query: string) => get().call('GET', `/v1/overview${query}`)
    refused(await ask('?to=soon'), 422, /to: must be an instant/)
    refused(await ask(`?to=${in_(-1)}`), 400, /to: must not be before now/)
    refused(await ask(`?from=${in_(HOUR)}&to=${in_(0)}`), 400, /before from/)
    refused(await ask(`?to=${in_(40 * DAY)}`), 400, /31 days/)
    refused(await ask('?user_id=a:b'), 422, /user_id/)
  })

  it('ends at the last instant there is', async () => {
    const last = '9999-12-31T23:59:59.999Z'
    const answer = await get().call('GET', `/v1/overview?from=${last}`)
    expect(answer).toMatchObject({ status: 200, body: { from: last, to: last } })
  })
})

describe('rules and who asks', () => {
  eachStore('with keys', (store) => {
    const get = keyedStage(store, { AUTONOMY_MAX_CONSECUTIVE: '4', AUTONOMY_COOLDOWN_MS: '9000' })

    it('tells the numbers in force', async () => {
      const { key } = await get().key({ role: 'user', user_id: 'ann' })
      expect((await get().call(key, 'GET', '/v1/rules')).body).toEqual({
        autonomy_enabled: true,
        max_consecutive: 4,
        cooldown_ms: 9000,
        intents_max: 25,
      })
    })

    it('tells each key whom it stands for, and nobody else anything', async () => {
      const { key } = await get().key({ role: 'agent', user_id: 'ann', agent_id: 'bot' })
      const me = { role: 'agent', user_id: 'ann', agent_id: 'bot', acting_for: false }
      expect((await get().call(key, 'GET', '/v1/me')).body).toEqual(me)
      problem(await get().call(null, 'GET', '/v1/me'), 401)
    })

    it('keeps workers out of the overview', async () => {
      const { key } = await get().key({ role: 'worker' })
      expect((await get().call(key, 'GET', '/v1/overview')).status).toBe(403)
    })
  })
})
