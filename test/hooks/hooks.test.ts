/** Hooks: events signed by the schemes of others become signals, once each; what is forged, late or unsigned is refused. */
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { beforeEach, describe, expect, it } from 'vitest'
import { isFrom } from '../../packages/hooks/src/signature.ts'
import type { Turn } from '../../src/agents/function.ts'
import { problem } from '../setup/http.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const GITHUB_SECRET = "It's a Secret to Everybody"

type Headers = Record<string, string>

/** As the official library signs. */
function standard(secret: string, id: string, at: Date, body: string): Headers {
  const signature = new Webhook(secret).sign(id, at, body)
  const seconds = String(Math.floor(at.getTime() / 1000))
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature }
}

/** As GitHub documents it: HMAC-SHA256 in hex over the body. */
function github(secret: string, id: string, body: string): Headers {
  const signature = createHmac('sha256', secret).update(body, 'utf8').digest('hex')
  return { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': id }
}

/** As Stripe documents it: HMAC-SHA256 in hex over timestamp, a dot and the body. */
function stripe(secret: string, at: Date, body: string): Headers {
  const seconds = Math.floor(at.getTime() / 1000)
  const v1 = createHmac('sha256', secret).update(`${seconds}.${body}`, 'utf8').digest('hex')
  return { 'stripe-signature': `t=${seconds},v1=${v1},v0=${'0'.repeat(64)}` }
}

describe('signatures', () => {
  it("takes GitHub's published example", () => {
    const signed = {
      'x-hub-signature-256':
        'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    }
    const call = { headers: signed, now: new Date() }
    expect(isFrom('github', [GITHUB_SECRET], { ...call, body: Buffer.from('Hello, World!') })).toBe(
      true,
    )
    expect(isFrom('github', [GITHUB_SECRET], { ...call, body: Buffer.from('Hello, World?') })).toBe(
      false,
    )
  })
})

eachStore('hooks', (store) => {
  const woken: Row[] = []
  const shared = sharedStage(store, {
    agents: {
      bot: (turn: Turn) => {
        if (turn.event.type === 'intent')
          woken.push({ who: turn.session.userId, ...turn.event.payload })
      },
    },
  })
  beforeEach(async () => {
    woken.length = 0
    for (const table of ['scheduled_intents', 'signals', 'hooks', 'intent_used'])
      await shared().query(`delete from wakeful.${table}`)
  })

  const put = (s: Stage, name: string, body: object = {}) =>
    s.call('PUT', `/v1/hooks/${name}`, body)
  const post = (s: Stage, name: string, body: string, headers: Headers) =>
    s.call('POST', `/v1/hooks/${name}`, body, headers)
  const watch = (s: Stage, userId: string, when: object) =>
    s.call('PUT', '/v1/schedules/watch', { user_id: userId, when, note: 'look at it' })
  const signals = (s: Stage) =>
    s.query<{ user_id: string | null; key: string; data: string }>(
      'select user_id, key, data::text as data from wakeful.signals order by created_at, id',
    )

  const SCHEMES: Readonly<
    Record<string, { secret: string; sign(id: string, at: Date, body: string): Headers }>
  > = {
    standard: { secret: SECRET, sign: (id, at, body) => standard(SECRET, id, at, body) },
    github: { secret: GITHUB_SECRET, sign: (id, _, body) => github(GITHUB_SECRET, id, body) },
    stripe: { secret: SECRET, sign: (_, at, body) => stripe(SECRET, at, body) },
  }
  for (const [scheme, { secret, sign }] of Object.entries(SCHEMES)) {
    it(`${scheme}: takes what is signed, keeps the body verbatim, and takes each delivery once`, async () => {
      const s = shared()
      const made = await put(s, 'shop', { scheme, secret })
      expect(made.status).toBe(200)
      expect(made.text).not.toContain(secret)
      const body = '{"id":"evt_1", "big":9007199254740993,"p":1.10,"b":1E2, "ä":"\u{1F600}"}'
      const first = await post(s, 'shop', body, sign('d1', s.now(), body))
      expect([first.status, first.body.known]).toEqual([202, false])
      expect(await signals(s)).toEqual([{ user_id: null, key: 'shop', data: body }])
      const again = await post(s, 'shop', body, sign('d1', s.now(), body))
      expect([again.status, again.body.known]).toEqual([200, true])
      const other = '{"id":"evt_2"}'
      expect((await post(s, 'shop', other, sign('d2', s.now(), other))).status).toBe(202)
      expect(await signals(s)).toHaveLength(2)
    })

    it(`${scheme}: refuses what is forged, changed or unsigned, and keeps nothing of it`, async () => {
      const s = shared()
      await put(s, 'shop', { scheme, secret })
      const body = '{"id":"evt_1","paid":false}'
      const right = sign('d1', s.now(), body)
      const forged: readonly [string, Headers][] = [
        [body.replace('false', 'true'), right],
        [body, {}],
        ...Object.keys(right).map((name): [string, Headers] => [
          body,
          scheme === 'github' && name === 'x-github-delivery' ? {} : { ...right, [name]: 'v1,x' },
        ]),
        [`${body} `, right],
      ]
      for (const [text, headers] of forged) problem(await post(s, 'shop', text, headers), 401)
      expect(await signals(s)).toEqual([])
    })

    if (scheme !== 'github')
      it(`${scheme}: refuses what is older than five minutes, or from as far ahead`, async () => {
        const s = shared()
        await put(s, 'shop', { scheme, secret })
        const from = (ms: number, id: string) => {
          const body = `{"id":"${id}"}`
          return post(s, 'shop', body, sign(id, new Date(s.now().getTime() + ms), body))
        }
        problem(await from(-5 * MINUTE - 1000, 'late'), 401)
        problem(await from(5 * MINUTE + 1000, 'early'), 401)
        expect((await from(-5 * MINUTE, 'just')).status).toBe(202)
      })
  }

  it('without an id of its own a delivery is known by its body', async () => {
    const s = shared()
    await put(s, 'shop', { scheme: 'stripe', secret: SECRET })
    for (const [body, status] of [
      ['[1]', 202],
      ['[1]', 200],
      ['[2]', 202],
    ] as const)
      expect((await post(s, 'shop', body, stripe(SECRET, s.now(), body))).status).toBe(status)
  })

  it('fires an intent whose where holds, and tells its agent the data verbatim', async () => {
    const s = shared()
    await put(s, 'shop', { secret: SECRET })
    const where = [
      { path: 'order.total', op: '>=', value: 100 },
      { path: 'order.items[0].sku', op: 'in', value: ['A-1', 'B-2'] },
    ]
    const set = await watch(s, 'ann', { event: 'shop', where })
    expect(set.body.description).toBe(
      'when an event mentions shop and order.total >= 100 and order.items[0].sku in ["A-1","B-2"]',
    )
    const tell = (id: string, body: string) =>
      post(s, 'shop', body, standard(SECRET, id, s.now(), body))
    const small = await tell('d1', '{"order":{"total":99.99,"items":[{"sku":"A-1"}]}}')
    expect(small.body.promoted).toBe(0)
    const body = '{"order":{"total":100.0,"items":[{"sku":"B-2"}],"n":9007199254740993}}'
    const large = await tell('d2', body)
    expect(large.body.promoted).toBe(1)
    await s.settle()
    expect(woken).toHaveLength(1)
    expect(woken[0]).toMatchObject({
      who: 'ann',
      trigger_data: { name: 'shop', keyword: 'shop', data: { order: { total: 100 } } },
    })
    const [event] = await s.query<{ payload: string }>(
      `select payload::text as payload from wakeful.events where type = 'intent'`,
    )
    expect(event?.payload).toContain(body)
  })

  it('the clock looks at kept data, too: an intent that is made later finds it', async () => {
    const s = shared()
    await put(s, 'shop', { secret: SECRET })
    const body = '{"n":5}'
    await post(s, 'shop', body, standard(SECRET, 'd1', s.now(), body))
    await watch(s, 'ann', { event: 'shop', where: [{ path: 'n', op: '==', value: 6 }] })
    await watch(s, 'bob', { event: 'shop', where: [{ path: 'n', op: '==', value: 5 }] })
    await watch(s, 'eve', { event: 'shop' })
    await s.settle()
    expect(woken.map(({ who, trigger_data: { data } }) => [who, data]).sort()).toEqual([
      ['bob', { n: 5 }],
      ['eve', { n: 5 }],
    ])
  })

  it('reaches the person it is for, or everybody', async () => {
    const s = shared()
    await put(s, 'mine', { secret: SECRET, user_id: 'ann' })
    await put(s, 'all', { secret: SECRET })
    for (const user of ['ann', 'bob']) await watch(s, user, { event: ['mine', 'all'] })
    for (const name of ['mine', 'all']) {
      await post(s, name, '{}', standard(SECRET, name, s.now(), '{}'))
      await s.settle()
    }
    expect(woken.map(({ who, trigger_data }) => `${who} ${trigger_data.name}`).sort()).toEqual([
      'ann all',
      'ann mine',
      'bob all',
    ])
  })

  it('makes a secret and shows it once; rotated, the old one is taken for 24 hours more', async () => {
    const s = shared()
    const made = await put(s, 'shop')
    const old = String(made.body.secret)
    expect(old).toMatch(/^whsec_/)
    const send = async (secret: string, id: string) =>
      (await post(s, 'shop', '{}', standard(secret, id, s.now(), '{}'))).status
    expect(await send(old, 'a')).toBe(202)
    const rotated = await put(s, 'shop', { rotate: true })
    const fresh = String(rotated.body.secret)
    expect(fresh).not.toBe(old)
    expect([await send(old, 'b'), await send(fresh, 'c')]).toEqual([202, 202])
    await s.advanceBy(24 * 60 * MINUTE)
    expect([await send(old, 'd'), await send(fresh, 'e')]).toEqual([401, 202])
    // Without rotate another secret takes its place at once.
    await put(s, 'shop', { secret: SECRET })
    expect([await send(fresh, 'f'), await send(SECRET, 'g')]).toEqual([401, 202])
    for (const path of ['/v1/hooks', '/v1/hooks/shop']) {
      const { text } = await s.call('GET', path)
      expect(text).toContain('"shop"')
      for (const secret of [old, fresh, SECRET]) expect(text).not.toContain(secret)
    }
  })

  it('changes what is said and keeps the rest', async () => {
    const s = shared()
    await put(s, 'shop', { scheme: 'github', secret: GITHUB_SECRET, user_id: 'ann' })
    const changed = await put(s, 'shop', { user_id: null })
    expect(changed.body).toMatchObject({ scheme: 'github', user_id: null })
    expect(changed.body.secret).toBeUndefined()
    const sent = await post(s, 'shop', '{}', github(GITHUB_SECRET, 'd', '{}'))
    expect(sent.status).toBe(202)
    // That secret is none of Standard Webhooks.
    problem(await put(s, 'shop', { scheme: 'standard' }), 400)
  })

  it('refuses a wrong secret, an unknown hook, a body that is no JSON, and one that is too large', async () => {
    const s = shared()
    problem(await put(s, 'shop', { secret: 'whsec_short' }), 400)
    problem(await put(s, 'shop', { scheme: 'github', secret: 'short' }), 400)
    problem(await put(s, 'shop', { scheme: 'paypal' }), 422)
    problem(await post(s, 'none', '{}', standard(SECRET, 'd', s.now(), '{}')), 404)
    await put(s, 'shop', { secret: SECRET })
    const send = (body: string) => post(s, 'shop', body, standard(SECRET, 'd', s.now(), body))
    for (const body of [
      'no json',
      '{"a":1,"a":2}',
      '"\\u0000"',
      `${'['.repeat(40)}${']'.repeat(40)}`,
    ])
      problem(await send(body), 400)
    problem(await send(JSON.stringify('x'.repeat(256 * 1024))), 413)
    const largest = JSON.stringify('x'.repeat(256 * 1024 - 2))
    expect((await send(largest)).status).toBe(202)
  })

  it('is removed, and is for admin and service alone', async () => {
    const s = shared()
    await put(s, 'shop', { secret: SECRET })
    expect((await s.call('DELETE', '/v1/hooks/shop')).status).toBe(204)
    problem(await s.call('DELETE', '/v1/hooks/shop'), 404)
    problem(await s.call('GET', '/v1/hooks/shop'), 404)
    problem(await post(s, 'shop', '{}', standard(SECRET, 'd', s.now(), '{}')), 404)
    problem(await s.call('PATCH', '/v1/hooks/shop', {}), 405)
  })
})
