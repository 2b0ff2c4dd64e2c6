/** /pending, claims, /fire and the history: what outside workers do with intents. */
import { expect, it } from 'vitest'
import { expireIntents } from '../../src/features/intents/report-rows.ts'
import { prunerService } from '../../src/kernel/pruner.ts'
import { house } from '../sessions/house.ts'
import { INSTANT, type Loose, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { CRON, type Desk, desk, INTERVAL, ONCE, PRICE } from './intents-stage.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Enough for any type that waits. */
const ANY = { keywords: ['x'], threshold_hours: 48, value: 15 }
const GONE = '0195f5a0-0000-7000-8000-000000000001'

eachStore('reports of outside workers', (store) => {
  const open = house(store, { bot: () => undefined })

  it('pending: what is due, soonest first, of one person or of all', async () => {
    const h = open()
    const [d, other] = [desk(h), desk(h)]
    const once = await d.make({ ...ONCE, trigger_schedule: { datetime: d.later(2 * MINUTE) } })
    const interval = await d.make({ ...INTERVAL, trigger_schedule: { interval_minutes: 5 } })
    await d.make(CRON)
    await d.make({ ...PRICE, enabled: false })
    const price = await other.make(PRICE)
    const ids = async () => (await d.pending()).map((each) => each.id)
    expect(await ids()).toEqual([])
    await h.wakeful.advanceBy(2 * MINUTE - 1)
    expect(await ids()).toEqual([])
    await h.wakeful.advanceBy(1)
    expect(await ids()).toEqual([once.id])
    await h.wakeful.advanceBy(3 * MINUTE)
    expect(await ids()).toEqual([once.id, interval.id])
    expect((await d.pending())[0]).toEqual({ ...once, words: expect.any(String) })
    expect((await d.pending('&limit=1&offset=1')).map((each) => each.id)).toEqual([interval.id])
    const all = (await h.call('GET', '/v1/intents/pending')).body.map((each: Loose) => each.id)
    expect(all.filter((id: string) => [once.id, interval.id, price.id].includes(id))).toEqual([
      price.id,
      once.id,
      interval.id,
    ])
    for (const query of ['limit=0', 'limit=1001', 'claim=60', 'color=red'])
      problem(await h.call('GET', `/v1/intents/pending?${query}`), 422)
    const refused = await h.call('GET', '/v1/intents/pending?claim=3600')
    expect(refused.body.errors.join()).toContain('POST /v1/intents/claims')
    expect(await ids()).toEqual([once.id, interval.id])
    for (const body of [{}, { seconds: 0 }, { seconds: 3601 }, { seconds: 60, limit: 1001 }])
      problem(await h.call('POST', '/v1/intents/claims', body), 422)
  })

  it('rule 26: pending leaves out what has expired, and a sweep disables it later', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make({ ...PRICE, expires_at: d.later(MINUTE) })
    expect(await d.pending()).toHaveLength(1)
    await h.wakeful.advanceBy(MINUTE)
    expect(await d.pending()).toEqual([])
    expect(await d.claim({ seconds: 60 })).toEqual([])
    problem(await h.call('POST', `/v1/intents/${id}/claim`, { seconds: 60 }), 409)
    const { db } = h.wakeful.app.store
    await expireIntents(db, 100)
    expect(await d.get(id)).toMatchObject({ enabled: true })
    await h.wakeful.advanceBy(HOUR)
    await expireIntents(db, 100)
    expect(await d.get(id)).toMatchObject({ enabled: false, next_check: null })
  })

  it('fire: the state moves as the table says, and the answer says how', async () => {
    const h = open()
    const d = desk(h)
    const fired = async (body: object, report: object) => {
      const { id } = await d.make(body)
      const answer = await d.fire(id, report)
      expect(answer.status, answer.text).toBe(200)
      const { intent_id, ...rest } = answer.body
      expect(intent_id).toBe(id)
      return { rest, row: await d.get(id) }
    }
    await h.wakeful.advanceBy(7 * MINUTE)
    const rows: [object, object, object][] = [
      [CRON, { status: 'success' }, { next_check: '2026-01-05T09:00:00.000Z' }],
      [INTERVAL, { status: 'success' }, { next_check: d.later(HOUR) }],
      [PRICE, { status: 'success' }, { next_check: d.later(30 * MINUTE) }],
      ...['silence', 'event', 'news', 'calendar'].map((trigger_type): [object, object, object] => [
        { ...PRICE, trigger_type, trigger_schedule: null, trigger_condition: ANY },
        { status: 'success' },
        { next_check: d.later(5 * MINUTE) },
      ]),
      [CRON, { status: 'condition_not_met' }, { next_check: d.later(5 * MINUTE) }],
      [PRICE, { status: 'condition_not_met' }, { next_check: d.later(5 * MINUTE) }],
      [INTERVAL, { status: 'gate_blocked' }, { next_check: d.later(5 * MINUTE) }],
      [ONCE, { status: 'failed' }, { next_check: d.later(15 * MINUTE) }],
    ]
    for (const [body, report, expected] of rows) {
      const { rest, row } = await fired(body, report)
      const { status } = report as { status: string }
      const success = status === 'success'
      const execution_count = success ? 1 : 0
      expect(rest).toEqual({ status, enabled: true, execution_count, ...expected })
      expect(row).toMatchObject({
        ...expected,
        enabled: true,
        execution_count,
        last_checked: d.later(0),
        last_executed: success ? d.later(0) : null,
        last_execution_status: status,
      })
    }
    const once = await fired(ONCE, { status: 'success' })
    expect(once.rest).toEqual({
      status: 'success',
      next_check: null,
      enabled: false,
      execution_count: 1,
      was_disabled_reason: 'one-time trigger executed',
    })
    expect(once.row).toMatchObject({ enabled: false, next_check: null, last_executed: d.later(0) })
  })

  it('rule 27: a gate may defer; wrong instants are refused; failed keeps to a sooner slot', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make({ ...INTERVAL, timezone: 'Asia/Tokyo' })
    const blocked = (defer_until: unknown) =>
      d.fire(id, { status: 'gate_blocked', gate_result: { reason: 'quiet', defer_until } })
    expect((await blocked(d.later(3 * HOUR))).body.next_check).toBe(d.later(3 * HOUR))
    expect((await blocked('2030-01-01T09:00')).body.next_check).toBe('2030-01-01T00:00:00.000Z')
    expect((await blocked(null)).body.next_check).toBe(d.later(5 * MINUTE))
    expect((await blocked(d.later(-1))).body.next_check).toBe(d.later(5 * MINUTE))
    for (const wrong of ['soon', 7, {}]) problem(await blocked(wrong), 422)
    expect(await d.history(id)).toHaveLength(4)
    await h.wakeful.advanceBy(50 * MINUTE)
    const failed = await d.fire(id, { status: 'failed', error_message: 'no quote' })
    expect(failed.body.next_check).toBe(d.later(10 * MINUTE))
    expect(await d.get(id)).toMatchObject({ last_execution_error: 'no quote' })
    await d.fire(id, { status: 'success', message_id: 'tg-1' })
    await d.fire(id, { status: 'condition_not_met' })
    expect(await d.get(id)).toMatchObject({
      last_execution_error: null,
      last_execution_status: 'condition_not_met',
      last_message_id: 'tg-1',
    })
  })

  it('ends by count and by time; a disabled one cannot be fired: 409', async () => {
    const h = open()
    const d = desk(h)
    const counted = await d.make({ ...PRICE, max_executions: 2 })
    expect((await d.fire(counted.id, { status: 'success' })).body.enabled).toBe(true)
    expect((await d.fire(counted.id, { status: 'success' })).body).toMatchObject({
      enabled: false,
      next_check: null,
      execution_count: 2,
      was_disabled_reason: 'max_executions (2) reached',
    })
    const over = await d.fire(counted.id, { status: 'success' })
    problem(over, 409)
    expect(over.body.errors).toEqual(['this intent is disabled'])
    const expired = await d.make({ ...CRON, expires_at: d.later(-1) })
    expect((await d.fire(expired.id, { status: 'condition_not_met' })).body).toMatchObject({
      enabled: false,
      execution_count: 0,
      was_disabled_reason: 'expires_at passed',
    })
    expect(await d.history(counted.id)).toHaveLength(2)
  })

  it('parallel reports count each once', async () => {
    const d = desk(open())
    const { id } = await d.make(PRICE)
    const reports = await Promise.all(
      Array.from({ length: 20 }, () => d.fire(id, { status: 'success' })),
    )
    const counts = reports.map((each) => each.body.execution_count).sort((a, b) => a - b)
    expect(counts).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(await d.get(id)).toMatchObject({ execution_count: 20 })
    expect(await d.history(id)).toHaveLength(20)
    const capped = await d.make({ ...PRICE, max_executions: 3 })
    const some = await Promise.all(
      Array.from({ length: 10 }, () => d.fire(capped.id, { status: 'success' })),
    )
    expect(some.filter((each) => each.status === 200)).toHaveLength(3)
    expect(some.filter((each) => each.status === 409)).toHaveLength(7)
  })

  it('refuses reports of the wrong shape, all errors at once, and records nothing', async () => {
    const d = desk(open())
    const { id } = await d.make(PRICE)
    const wrong = await d.fire(id, {
      status: 'done',
      message_id: 'x'.repeat(129),
      evaluation_ms: -1,
      delivery_ms: 1.5,
      claim_token: 'mine',
      color: 'red',
    })
    problem(wrong, 422)
    expect(wrong.body.errors).toHaveLength(6)
    problem(await d.fire(id, {}), 422)
    problem(await d.fire(GONE, { status: 'success' }), 404)
    expect(await d.history(id)).toEqual([])
  })

  it('history: newest first, paged, with everything that was reported, verbatim', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(PRICE)
    const text = `{"status":"success","trigger_data":{"price":129.50,"n":9007199254740993},"gate_result":{"allowed":true},"message_id":"m1","message_preview":"NVDA is below 130","evaluation_ms":12,"generation_ms":900,"delivery_ms":80}`
    expect((await h.call('POST', `/v1/intents/${id}/fire`, text)).status).toBe(200)
    await h.wakeful.advanceBy(1)
    await d.fire(id, { status: 'failed', error_message: 'y'.repeat(5000), trigger_data: null })
    await h.wakeful.advanceBy(1)
    await d.fire(id, { status: 'condition_not_met' })
    const all = await d.history(id)
    expect(all.map((each) => each.status)).toEqual(['condition_not_met', 'failed', 'success'])
    expect(all[2]).toEqual({
      id: expect.stringMatching(UUID),
      intent_id: id,
      user_id: d.user,
      executed_at: expect.stringMatching(INSTANT),
      trigger_type: 'price',
      trigger_data: { price: 129.5, n: Number('9007199254740993') },
      status: 'success',
      gate_result: { allowed: true },
      message_id: 'm1',
      message_preview: 'NVDA is below 130',
      evaluation_ms: 12,
      generation_ms: 900,
      delivery_ms: 80,
      error_message: null,
      scheduled_for: null,
      session_key: null,
      event_seq: null,
      repeats: 1,
      last_seen_at: null,
    })
    expect((await h.call('GET', `/v1/intents/${id}/history`)).text).toContain(
      '"trigger_data":{"price":129.50,"n":9007199254740993}',
    )
    expect(all[1]?.error_message).toHaveLength(2000)
    expect((await d.history(id, '?limit=1&offset=1')).map((each) => each.id)).toEqual([all[1]?.id])
    for (const query of ['limit=0', 'limit=101', 'offset=x'])
      problem(await h.call('GET', `/v1/intents/${id}/history?${query}`), 422)
  })

  it('Idempotency-Key: a report sent again counts once', async () => {
    const d = desk(open())
    const { id } = await d.make(PRICE)
    const key = { 'idempotency-key': `report-${id}` }
    const first = await d.fire(id, { status: 'success' }, key)
    const again = await d.fire(id, { status: 'success' }, key)
    expect(again.text).toBe(first.text)
    expect(await d.history(id)).toHaveLength(1)
  })

  it('the pruner ends what expired unseen and, with an age set, clears old executions', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(PRICE)
    await d.fire(id, { status: 'failed' })
    const unseen = await d.make({ ...PRICE, expires_at: d.later(MINUTE) })
    await h.wakeful.advanceBy(2 * 24 * HOUR)
    await d.fire(id, { status: 'success' })
    const { db } = h.wakeful.app.store
    const retention = { checkpointsKept: 20, keepMs: 24 * HOUR }
    const prune = prunerService({ db, retention })
    while ((await prune.tick()).did > 0);
    expect((await d.history(id)).map((each) => each.status)).toEqual(['success'])
    expect(await d.get(unseen.id)).toMatchObject({ enabled: false, next_check: null })
  })

  const claims = (d: Desk, seconds = 60) => d.claim({ seconds })

  it('rule 26: a claim hides from everybody until its end, and each has its own token', async () => {
    const h = open()
    const d = desk(h)
    for (let n = 0; n < 3; n++) await d.make(PRICE)
    const taken = await claims(d)
    expect(taken).toHaveLength(3)
    expect(new Set(taken.map((each) => each.claim_token)).size).toBe(3)
    for (const each of taken)
      expect(each).toMatchObject({
        claim_token: expect.stringMatching(UUID),
        claimed_until: d.later(MINUTE),
      })
    expect(await d.pending()).toEqual([])
    expect(await claims(d)).toEqual([])
    await h.wakeful.advanceBy(MINUTE - 1)
    expect(await d.pending()).toEqual([])
    await h.wakeful.advanceBy(1)
    const free = await d.pending()
    expect(free).toHaveLength(3)
    expect(free[0]).not.toHaveProperty('claim_token')
  })

  it('claims by several workers at once are disjoint and miss nothing', async () => {
    const h = open()
    const d = desk(h)
    for (let n = 0; n < 24; n++) await d.make(PRICE)
    const taken = await Promise.all(
      Array.from({ length: 6 }, () => d.claim({ seconds: 60, limit: 5 })),
    )
    const ids = taken.flat().map((each) => each.id)
    expect(new Set(ids).size).toBe(ids.length)
    const rest = await claims(d)
    expect(new Set([...ids, ...rest.map((each) => each.id)]).size).toBe(24)
    const order = rest.map((each) => each.next_check)
    expect(order).toEqual([...order].sort())
  })

  it('rule 26: a report under a token counts once and is answered the same, also when it was the last', async () => {
    const h = open()
    const d = desk(h)
    await d.make({ ...PRICE, max_executions: 1 })
    const [{ id, claim_token }] = (await claims(d)) as [Loose]
    const report = { status: 'success', claim_token }
    const first = await d.fire(id, report)
    expect(first.body).toMatchObject({ execution_count: 1, enabled: false })
    await h.wakeful.advanceBy(HOUR)
    await d.put(id, { enabled: true, max_executions: null })
    await d.fire(id, { status: 'success' })
    const again = await d.fire(id, { ...report, claim_token: claim_token.toUpperCase() })
    expect(again).toMatchObject({ status: 200, text: first.text })
    expect(await d.get(id)).toMatchObject({ execution_count: 2 })
    expect(await d.history(id)).toHaveLength(2)
    problem(await d.fire(id, { status: 'failed', claim_token }), 409)
    const twice = await d.make(PRICE)
    const claim = await h.call('POST', `/v1/intents/${twice.id}/claim`, { seconds: 60 })
    const same = { status: 'success', claim_token: claim.body.claim_token }
    const both = await Promise.all([1, 2, 3].map(() => d.fire(twice.id, same)))
    expect(new Set(both.map((each) => each.text)).size).toBe(1)
    expect(await d.history(twice.id)).toHaveLength(1)
  })

  it('rule 26: a lost token is 409 and changes nothing; without a token it works as ever', async () => {
    const h = open()
    const d = desk(h)
    await d.make(PRICE)
    const [{ id, claim_token }] = (await claims(d, 10)) as [Loose]
    await h.wakeful.advanceBy(10_000)
    const [next] = (await claims(d, 10)) as [Loose]
    expect(next.id).toBe(id)
    expect(next.claim_token).not.toBe(claim_token)
    const lost = await d.fire(id, { status: 'success', claim_token })
    problem(lost, 409)
    expect(await d.get(id)).toMatchObject({ execution_count: 0, last_checked: null })
    problem(await d.fire(id, { status: 'success', claim_token: GONE }), 409)
    expect((await d.fire(id, { status: 'success' })).body.execution_count).toBe(1)
    // That settled what was claimed.
    problem(await d.fire(id, { status: 'success', claim_token: next.claim_token }), 409)
  })

  it('a token whose time ran out still reports, as long as nobody else took the intent', async () => {
    const h = open()
    const d = desk(h)
    await d.make(PRICE)
    const [{ id, claim_token }] = (await claims(d, 10)) as [Loose]
    await h.wakeful.advanceBy(MINUTE)
    expect((await d.fire(id, { status: 'success', claim_token })).status).toBe(200)
  })

  it('claims one by its id: once, due or not, and not what is disabled', async () => {
    const h = open()
    const d = desk(h)
    const { id } = await d.make(CRON)
    const claim = () => h.call('POST', `/v1/intents/${id}/claim`, { seconds: 30 })
    const both = await Promise.all([claim(), claim()])
    expect(both.map((each) => each.status).sort()).toEqual([200, 409])
    const { body } = both.find((each) => each.status === 200) ?? both[0]
    expect(body).toMatchObject({
      intent: { id, intent_name: CRON.intent_name },
      claim_token: expect.stringMatching(UUID),
      claimed_until: d.later(30_000),
    })
    problem(await h.call('POST', `/v1/intents/${id}/claim`, {}), 422)
    problem(await h.call('POST', `/v1/intents/${id}/claim`, { seconds: 0 }), 422)
    await d.put(id, { enabled: false })
    problem(await claim(), 409)
    problem(await d.fire(id, { status: 'success', claim_token: body.claim_token }), 409)
  })
})
