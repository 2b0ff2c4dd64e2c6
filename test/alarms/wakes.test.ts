/** Alarms for the wake URL: signed calls under a lease, settled by the answer. */
import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { wallClock } from '../../src/clock.ts'
import { lockByToken } from '../../src/features/alarms/settle-rows.ts'
import { claimWakes } from '../../src/features/alarms/slot-rows.ts'
import {
  type Receiver,
  type Row,
  receiver,
  type Stage,
  sharedWakes,
  stage,
} from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

eachStore('wakes by HTTP', (store) => {
  /** A stage of its own, where the shared one does not do. */
  async function open(
    hook: Receiver,
    more: { env?: Record<string, string>; startAt?: Date } = {},
  ): Promise<Stage> {
    const env = { WAKEFUL_WAKE_URL: hook.url, WAKEFUL_WEBHOOK_SECRET: SECRET, ...more.env }
    return stage(await store.database(), { ...more, env })
  }
  let moment: (name: string, key: string) => Promise<void> = async () => undefined
  const shared = sharedWakes(store, {
    env: { WAKEFUL_WEBHOOK_SECRET: SECRET },
    at: (name, key) => moment(name, key),
  })
  const once = { kind: 'once', delay_seconds: 60 }

  it('posts the body of the contract, signed, with the bearer token', async () => {
    const hook = await receiver()
    // The oracle compares with the time of day.
    const startAt = new Date(wallClock() - MINUTE)
    const s = await open(hook, { startAt, env: { WAKEFUL_WAKE_TOKEN: 'secret-token' } })
    const text =
      '{"kind":"once","delay_seconds":60,"wake_message":"drink \\"tea\\" 🙂","conversation_id":"c1","payload":{"n":9007199254740993,"x":1E2}}'
    const alarm = (await s.call('POST', '/v1/alarms', text)).body
    await s.advanceBy(MINUTE)
    expect(hook.received).toHaveLength(1)
    const [wake] = hook.received as [Row]
    expect(wake.text).toBe(
      `{"user_id":"local","conversation_id":"c1","message":"drink \\"tea\\" 🙂","payload":{"n":9007199254740993,"x":1E2},` +
        `"alarm_id":"${alarm.id}","scheduled_for":"${alarm.next_fire_at}","missed_count":0,"attempt":1,"origin":"wakeful"}`,
    )
    expect(wake.headers.authorization).toBe('Bearer secret-token')
    expect(wake.headers['content-type']).toBe('application/json')
    expect(() => new Webhook(SECRET).verify(wake.text, wake.headers)).not.toThrow()
    expect(wake.headers['webhook-id']).not.toContain('.')
    expect(await s.get(alarm.id)).toMatchObject({ status: 'fired' })
  })

  it('leaves the conversation out when it is empty', async () => {
    const { s, hook } = shared()
    await s.set(once)
    await s.advanceBy(MINUTE)
    expect(hook.received[0]?.body).not.toHaveProperty('conversation_id')
  })

  it('rule 21: all attempts at a slot carry the same webhook-id, and new timestamps', async () => {
    const { s, hook } = shared()
    hook.answer = (request, response) =>
      response.writeHead(request.body.attempt < 3 ? 500 : 200).end('out of tea')
    const alarm = await s.set({ kind: 'cron', cron_expr: '0 * * * *' })
    await s.advanceBy(3_600_000)
    expect(await s.get(alarm.id)).toMatchObject({
      failure_count: 1,
      last_error: 'HTTP 500: out of tea',
      next_fire_at: '2026-01-01T01:00:30.000Z',
    })
    await s.advanceBy(3_600_000)
    const seen = hook.received.map(({ headers, body }) => [
      headers['webhook-id'],
      Number(headers['webhook-timestamp']),
      body.attempt,
      body.scheduled_for,
    ])
    const [first] = seen as [Row]
    expect(seen.slice(0, 3).map((each) => each[0])).toEqual(Array(3).fill(first[0]))
    expect(seen.slice(0, 3).map((each) => Number(each[1]) - first[1])).toEqual([0, 30, 90])
    expect(seen.map((each) => each[2])).toEqual([1, 2, 3, 1])
    expect(seen[3]?.[0]).not.toBe(first[0])
    expect(seen[3]?.[3]).toBe('2026-01-01T02:00:00.000Z')
  })

  it.each([
    [301, { location: 'http://127.0.0.1:1/' }, 30],
    [404, {}, 30],
    [410, {}, 30],
    [429, { 'retry-after': '120' }, 120],
    [503, { 'retry-after': 'Thu, 01 Jan 2026 00:11:00 GMT' }, 600],
    [503, { 'retry-after': '99999999' }, 3600],
    [500, { 'retry-after': '5' }, 30],
  ])(
    'rules 18, 21: %i %j is a failure, tried again after %i s',
    async (status, headers, seconds) => {
      const { s, hook } = shared()
      hook.answer = (_, response) => response.writeHead(status, headers).end('no')
      const alarm = await s.set(once)
      await s.advanceBy(MINUTE)
      expect(hook.received).toHaveLength(1)
      const after = await s.get(alarm.id)
      expect(after).toMatchObject({
        status: 'active',
        failure_count: 1,
        last_error: `HTTP ${status}: no`,
      })
      const wait = new Date(after.next_fire_at).getTime() - s.now().getTime()
      expect(wait).toBe(seconds * 1000)
    },
  )

  it('rule 18: after max_failures attempts a once has failed; nobody calls again', async () => {
    const { s, hook } = shared()
    hook.answer = (_, response) => response.writeHead(500).end('x'.repeat(5000))
    const alarm = await s.set({ ...once, max_failures: 3 })
    await s.advanceBy(3_600_000)
    expect(hook.received).toHaveLength(3)
    const ended = await s.get(alarm.id)
    expect(ended).toMatchObject({ status: 'failed', failure_count: 3 })
    expect(ended.last_error).toHaveLength(2000)
  })

  it('a receiver that is not there is a failure, in words', async () => {
    const hook = await receiver()
    const s = await open(hook)
    await hook.stop()
    const alarm = await s.set(once)
    await s.advanceBy(MINUTE)
    expect((await s.get(alarm.id)).last_error).toMatch(/^the call failed: .*ECONNREFUSED/)
  })

  it('rule 6: a late cron says which slot it is and how many more it stands for', async () => {
    const { s, hook } = shared()
    await s.set({ kind: 'cron', cron_expr: '@every 10m' })
    s.sleep(45 * MINUTE)
    await s.settle()
    expect(hook.received.map(({ body }) => [body.scheduled_for, body.missed_count])).toEqual([
      ['2026-01-01T00:10:00.000Z', 3],
    ])
  })

  it('rule 6: slots that pass while a call is under way are told with the next one, also when that is tried again', async () => {
    const { s, hook } = shared()
    let fails = false
    hook.answer = (_, response) => {
      s.sleep(25 * MINUTE)
      response.writeHead(fails ? 500 : 200).end()
    }
    const alarm = await s.set({ kind: 'cron', cron_expr: '@every 10m' })
    const told = () =>
      hook.received.map(({ body }) => [body.scheduled_for.slice(11, 16), body.missed_count])
    s.sleep(12 * MINUTE)
    await s.app.engine.home.round()
    expect(told()).toEqual([['00:10', 0]])
    fails = true
    s.sleep(3 * MINUTE)
    await s.app.engine.home.round()
    expect(told().slice(1)).toEqual([['00:40', 2]])
    fails = false
    s.sleep(MINUTE)
    await s.app.engine.home.round()
    // While the second call was under way 00:50 and 01:00 passed as well.
    expect(told().slice(2)).toEqual([['00:40', 4]])
    await s.call('DELETE', `/v1/alarms/${alarm.id}`)
  })

  it('fire-now calls at once, for a once and beside a cron', async () => {
    const { s, hook } = shared()
    const one = await s.set({ kind: 'once', delay_seconds: 3600 })
    const cron = await s.set({ kind: 'cron', cron_expr: '0 * * * *' })
    for (const { id } of [one, cron])
      expect((await s.call('POST', `/v1/alarms/${id}/fire-now`)).status).toBe(202)
    await s.settle()
    expect(new Set(hook.received.map(({ body }) => body.alarm_id))).toEqual(
      new Set([one.id, cron.id]),
    )
    expect((await s.get(one.id)).status).toBe('fired')
    expect((await s.get(cron.id)).next_fire_at).toBe('2026-01-01T01:00:00.000Z')
  })

  it.each(['claimed', 'delivered', 'committed'])(
    'invariant 10: a cancel at the moment %s of a wake stays as it was answered',
    async (at) => {
      const { s, hook } = shared()
      const answers = new Map<string, string>()
      moment = async (name, id) => {
        if (name !== at || answers.has(id)) return
        answers.set(id, (await s.call('DELETE', `/v1/alarms/${id}`)).body.status)
      }
      const one = await s.set(once)
      const cron = await s.set({ kind: 'cron', cron_expr: '@every 1m' })
      await s.advanceBy(5 * MINUTE)
      expect(answers.size).toBe(2)
      for (const [id, status] of answers) expect((await s.get(id)).status).toBe(status)
      expect(answers.get(cron.id)).toBe('cancelled')
      expect(answers.get(one.id)).toBe(at === 'committed' ? 'fired' : 'cancelled')
      expect(hook.received).toHaveLength(2)
      moment = async () => undefined
    },
  )

  it('invariant 5: a dead worker is followed after its lease, attempt + 1, same id; it can write nothing', async () => {
    const { s, hook } = shared()
    const alarm = await s.set(once)
    s.sleep(MINUTE)
    const token = randomUUID()
    const { wakes } = await claimWakes(s.app.store.db, 10, 30_000, token)
    expect(wakes).toHaveLength(1)
    await s.settle()
    expect(hook.received).toHaveLength(0)
    expect(await s.get(alarm.id)).toMatchObject({ next_fire_at: '2026-01-01T00:01:00.000Z' })
    await s.advanceBy(30_000)
    expect(hook.received).toHaveLength(1)
    expect(hook.received[0]?.body.attempt).toBe(2)
    expect(hook.received[0]?.headers['webhook-id']).toBe(wakes[0]?.delivery_id)
    const held = [{ bucket: wakes[0]?.bucket ?? 0, id: alarm.id, token }]
    expect((await lockByToken(s.app.store.db, held)).size).toBe(0)
    expect(await s.get(alarm.id)).toMatchObject({ status: 'fired', failure_count: 0 })
  })

  it('rule 14: a wake that kills its process ten times ends, and the next cron slot comes', async () => {
    const { s, hook } = shared()
    const alarm = await s.set({ kind: 'cron', cron_expr: '0 * * * *' })
    s.sleep(3_600_000)
    for (let death = 0; death < 10; death++) {
      const { wakes } = await claimWakes(s.app.store.db, 10, 30_000, randomUUID())
      expect(wakes).toHaveLength(1)
      s.sleep(30_000)
    }
    await s.settle()
    expect(hook.received).toHaveLength(0)
    expect(await s.get(alarm.id)).toMatchObject({
      status: 'active',
      next_fire_at: '2026-01-01T02:00:00.000Z',
      last_error: 'given up: the process died 10 times at this wake',
    })
  })

  it('the made secret is kept: every start signs with the same', async () => {
    const hook = await receiver()
    const database = await store.database()
    const env = { WAKEFUL_WAKE_URL: hook.url }
    const startAt = new Date(wallClock())
    const s = await stage(database, { env, startAt })
    const [row] = await s.query<Row>(
      `select value from wakeful.settings where key = 'webhook_secret'`,
    )
    expect(row.value).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await s.set({ kind: 'once', delay_seconds: 1 })
    await s.advanceBy(1000)
    const [wake] = hook.received as [Row]
    expect(() => new Webhook(row.value).verify(wake.text, wake.headers)).not.toThrow()
    if (store.name === 'postgres') {
      const again = await stage(database, { env })
      expect(
        await again.query(`select value from wakeful.settings where key = 'webhook_secret'`),
      ).toEqual([row])
    }
  })

  it('an alarm at the instant that stops hold things until is not let go with them, nor at a start (rule 7)', async () => {
    const hook = await receiver()
    const s = await open(hook)
    const alarm = await s.set({ kind: 'once', fire_at: '9999-01-01T00:00:00Z' })
    // The first look of a process lets go what a stop has left behind.
    await s.settle()
    const stop = await s.call('POST', '/v1/stops', { level: 'everything', reason: 'x' })
    await s.settle()
    await s.call('POST', `/v1/stops/${stop.body.id}/resume`, {})
    await s.settle()
    expect(hook.received).toHaveLength(0)
    const kept = { status: 'active', next_fire_at: '9999-01-01T00:00:00.000Z' }
    expect(await s.get(alarm.id)).toMatchObject(kept)
  })
})
