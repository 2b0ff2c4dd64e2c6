/** Conditions that Wakeful looks at itself: edges, freshness, cooldown, and each fact once; on both stores. */
import { expect, it } from 'vitest'
import type { Row } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { HOUR, intentsStage, MINUTE, NVDA } from './intents-stage.ts'

const NEWS = { trigger_type: 'news', trigger_condition: { keywords: ['rate cut', 'NVIDIA'] } }
const CALENDAR = { trigger_type: 'calendar', trigger_condition: { value: 20 } }

eachStore('conditions', (store) => {
  let act: (turn: Row) => unknown = () => undefined
  const open = intentsStage(store, {
    agents: { bot: (turn) => act(turn) },
    env: { AUTONOMY_COOLDOWN_MS: '0', AUTONOMY_MAX_CONSECUTIVE: '100' },
  })
  const fresh = async () => {
    act = (turn) => turn.say(`about ${turn.event.payload.intent_name}`)
    return open()
  }

  it('a price that crosses fires at once, with the event the contract names; while it stays so, not again', async () => {
    const i = await fresh()
    const made = await i.make({
      ...NVDA,
      thread_id: 't1',
      metadata: { n: 1 },
      action_type: 'analysis',
    })
    await i.s.settle()
    expect(await i.events()).toHaveLength(0)
    expect((await i.price(131)).promoted).toBe(0)
    await i.s.advanceBy(1000)
    const told = await i.price(129.5)
    expect(told).toMatchObject({
      promoted: 1,
      known: false,
      signal: { kind: 'price', ticker: 'NVDA', price: 129.5 },
    })
    const [event] = await i.events()
    expect(event).toMatchObject({ session_key: 'ann:bot:t1', seq: 1, trigger_id: made.id })
    expect(JSON.parse(event.payload)).toEqual({
      intent_id: made.id,
      intent_name: 'watch',
      action_type: 'analysis',
      action_context: 'tell her',
      action_priority: 'normal',
      trigger_type: 'price',
      trigger_data: {
        ticker: 'NVDA',
        operator: '<',
        value: 130,
        price: 129.5,
        at: '2026-01-01T00:00:01.000Z',
      },
      scheduled_for: '2026-01-01T00:00:01.000Z',
      missed_count: 0,
      metadata: { n: 1 },
    })
    await i.price(128)
    await i.s.advanceBy(30 * MINUTE)
    expect(await i.events()).toHaveLength(1)
  })

  it('129, then 140, then 129 fires twice, also when told faster than turns run', async () => {
    const i = await fresh()
    await i.make(NVDA)
    await i.s.settle()
    for (const price of [129, 140, 129]) {
      await i.price(price)
      await i.s.advanceBy(1000)
    }
    expect(await i.events()).toHaveLength(2)
    for (const price of [141, 128, 141, 127, 150]) {
      await i.price(price, false)
      i.s.sleep(1000)
    }
    await i.s.advanceBy(1000)
    const prices = (await i.payloads()).map((payload) => payload.trigger_data.price)
    expect(prices).toEqual([129, 129, 128, 127])
  })

  it('prices told together count one by one, in the order of their instants', async () => {
    const i = await fresh()
    await i.make(NVDA)
    await i.s.settle()
    const at = (second: number) => new Date(i.s.now().getTime() - 60_000 + second * 1000)
    const signals = [129, 140, 128].map((price, n) => ({
      kind: 'price' as const,
      userId: null,
      key: 'NVDA',
      fact: `NVDA ${n}`,
      payload: JSON.stringify({ ticker: 'NVDA', price }),
      at: at(n),
    }))
    const taken = await i.s.app.takeSignals(signals.toReversed())
    expect(taken.map((each) => each.promoted)).toEqual([0, 0, 1])
    await i.s.settle()
    expect((await i.payloads()).map((p) => p.trigger_data.price)).toEqual([129, 128])
  })

  it('a price from before the newest we know changes nothing', async () => {
    const i = await fresh()
    await i.make(NVDA)
    await i.s.settle()
    await i.price(140)
    await i.tell({ kind: 'price', ticker: 'NVDA', price: 100, at: '2025-12-31T23:59:00Z' })
    await i.s.advanceBy(20 * MINUTE)
    expect(await i.events()).toHaveLength(0)
  })

  it('unknown, stale and false are told apart, and only false ends what was true', async () => {
    const i = await fresh()
    const made = await i.make({
      ...NVDA,
      trigger_condition: { ...NVDA.trigger_condition, max_age_minutes: 30 },
    })
    await i.s.settle()
    await i.price(129)
    expect(await i.events()).toHaveLength(1)
    await i.s.advanceBy(40 * MINUTE)
    await i.price(128)
    expect(await i.events()).toHaveLength(1)
    await i.price(131)
    await i.s.advanceBy(1000)
    await i.price(128)
    expect(await i.events()).toHaveLength(2)
    const reasons = (await i.history(made.id))
      .toReversed()
      .map((row) => row.trigger_data.reason ?? row.status)
    expect(reasons).toEqual([
      'unknown',
      'success',
      'still_true',
      'stale',
      'still_true',
      'false',
      'success',
    ])
  })

  it('rule 29: cooldown fires again while it stays true, no sooner than asked', async () => {
    const i = await fresh()
    await i.make({
      ...NVDA,
      trigger_condition: { ...NVDA.trigger_condition, cooldown_minutes: 7, max_age_minutes: 600 },
    })
    await i.price(129)
    await i.s.advanceBy(15 * MINUTE)
    const seconds = (await i.events()).map(
      (event) => (event.created_at - +new Date('2026-01-01T00:00:00Z')) / 1000,
    )
    expect(seconds).toEqual([0, 420, 840])
  })

  it("a person's own price counts for them alone", async () => {
    const i = await fresh()
    await i.make(NVDA)
    await i.make({ ...NVDA, user_id: 'bob' })
    await i.s.settle()
    const told = await i.tell({ kind: 'price', ticker: 'nvda', price: 120, user_id: 'bob' })
    expect(told.promoted).toBe(1)
    await i.s.advanceBy(10 * MINUTE)
    expect((await i.events()).map((event) => event.session_key.split(':')[0])).toEqual(['bob'])
  })

  it('silence: from the last word in any session, once, and again after the next', async () => {
    const i = await fresh()
    const made = await i.make({
      trigger_type: 'silence',
      trigger_condition: { threshold_hours: 48 },
    })
    await i.s.advanceBy(HOUR)
    expect((await i.history(made.id))[0]).toMatchObject({
      status: 'condition_not_met',
      trigger_data: { reason: 'unknown' },
    })
    const say = () => i.s.call('POST', '/v1/sessions/ann:bot:other/messages', { text: 'hi' })
    await say()
    await i.s.advanceBy(48 * HOUR - 1)
    expect(await i.events()).toHaveLength(0)
    await i.s.advanceBy(1)
    expect((await i.payloads())[0].trigger_data).toEqual({
      threshold_hours: 48,
      last_user_at: '2026-01-01T01:00:00.000Z',
      silent_hours: 48,
    })
    await i.s.advanceBy(60 * HOUR)
    expect(await i.events()).toHaveLength(1)
    await say()
    await i.s.advanceBy(49 * HOUR)
    expect(await i.events()).toHaveLength(2)
  })

  it('a headline fires by whole words in any case, once; one told before the intent was made counts', async () => {
    const i = await fresh()
    await i.tell({
      kind: 'news',
      headline: 'Surprise RATE-CUT in Europe',
      url: 'https://news.test/1',
    })
    await i.make(NEWS)
    await i.s.settle()
    await i.tell({ kind: 'news', headline: 'Nvidias rivals cut the rate' })
    await i.tell({ kind: 'news', headline: 'Quiet day', body: 'but “Nvidia” rose.' })
    const again = await i.tell({
      kind: 'news',
      headline: 'Another title',
      url: 'https://news.test/1',
    })
    expect(again).toMatchObject({ known: true, promoted: 0 })
    await i.s.advanceBy(3 * HOUR)
    expect(
      (await i.payloads()).map((p) => [p.trigger_data.headline, p.trigger_data.keyword]),
    ).toEqual([
      ['Surprise RATE-CUT in Europe', 'rate cut'],
      ['Quiet day', 'NVIDIA'],
    ])
  })

  it('headlines that come while a turn is under way each fire afterwards, at once', async () => {
    const i = await fresh()
    await i.make(NEWS)
    await i.s.settle()
    for (let n = 0; n < 4; n++) {
      await i.tell({ kind: 'news', headline: `Nvidia number ${n}` }, false)
      i.s.sleep(1)
    }
    await i.s.settle()
    expect((await i.payloads()).map((p) => p.trigger_data.headline)).toEqual(
      [0, 1, 2, 3].map((n) => `Nvidia number ${n}`),
    )
  })

  it('events by name and text; each occurrence is one', async () => {
    const i = await fresh()
    await i.make({
      trigger_type: 'event',
      trigger_condition: { keywords: ['order_shipped', 'überfällig'] },
    })
    await i.s.settle()
    await i.tell({ kind: 'event', name: 'order_shipped' })
    await i.s.advanceBy(1000)
    await i.tell({ kind: 'event', name: 'order_shipped' })
    await i.tell({ kind: 'event', name: 'invoice', text: 'Die Rechnung ist ÜBERFÄLLIG!' })
    await i.tell({ kind: 'event', name: 'reorder_shipped_late' })
    await i.s.advanceBy(10 * MINUTE)
    expect((await i.payloads()).map((p) => p.trigger_data.name)).toEqual([
      'order_shipped',
      'order_shipped',
      'invoice',
    ])
  })

  it('a calendar entry fires at its lead time, once; moved it fires again, called off it does not', async () => {
    const i = await fresh()
    const made = await i.make(CALENDAR)
    await i.s.settle()
    const entry = { kind: 'calendar', uid: 'u1', title: 'Dentist', user_id: 'ann' }
    await i.tell({ ...entry, starts_at: '2026-01-01T02:00:00Z', ends_at: '2026-01-01T03:00:00Z' })
    await i.tell({
      ...entry,
      uid: 'u2',
      title: 'Not hers',
      user_id: 'bob',
      starts_at: '2026-01-01T01:00:00Z',
    })
    await i.s.advanceBy(100 * MINUTE - 1)
    expect(await i.events()).toHaveLength(0)
    await i.s.advanceBy(1)
    expect((await i.payloads())[0]).toMatchObject({
      scheduled_for: '2026-01-01T01:40:00.000Z',
      trigger_data: {
        uid: 'u1',
        title: 'Dentist',
        starts_at: '2026-01-01T02:00:00.000Z',
        minutes_left: 20,
      },
    })
    await i.s.advanceBy(5 * MINUTE)
    await i.tell({ ...entry, starts_at: '2026-01-01T04:00:00Z' })
    await i.s.advanceBy(3 * HOUR)
    expect(await i.events()).toHaveLength(2)
    await i.tell({ ...entry, starts_at: '2026-01-02T00:00:00Z' })
    await i.s.app.takeSignals([
      {
        kind: 'calendar',
        userId: 'ann',
        key: 'u1',
        fact: 'u1',
        payload: '{}',
        at: i.s.now(),
        gone: true,
      },
    ])
    await i.s.advanceBy(24 * HOUR)
    expect(await i.events()).toHaveLength(2)
    expect((await i.get(made.id)).execution_count).toBe(2)
  })

  it('once per headline, also told by many at once', async () => {
    const i = await fresh()
    await i.make(NEWS)
    await i.s.settle()
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => i.tell({ kind: 'news', headline: 'Nvidia again' }, false)),
    )
    expect(answers.filter((answer) => !answer.known)).toHaveLength(1)
    await i.s.advanceBy(HOUR)
    expect(await i.events()).toHaveLength(1)
  })
})
