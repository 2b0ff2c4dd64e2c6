/** How much a key may ask, and how fast strangers may guess. */
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { makeKey } from '../../src/features/identity/key.ts'
import { type Bucket, draw } from '../../src/features/identity/token-bucket.ts'
import { Authenticator } from '../../src/http/authentication/authenticator.ts'
import { guessBrake } from '../../src/http/limits.ts'
import { problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { ADMIN_KEY, opens, proven, sharedStage, signer } from './stage.ts'

describe('a bucket of tokens', () => {
  it('never gives more than its burst and what time has brought, and waiting as told is enough', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.array(fc.integer({ min: -100, max: 5000 }), { maxLength: 300 }),
        (perSecond, burst, gaps) => {
          const rate = { perSecond, burst }
          let bucket: Bucket | undefined
          let now = 0
          let highest = 0
          let given = 0
          for (const gap of gaps) {
            now += gap
            highest = Math.max(highest, now)
            const drawn = draw(bucket, rate, now)
            bucket = drawn.bucket
            if (drawn.allowed) given++
            else expect(draw(bucket, rate, now + drawn.waitMs).allowed).toBe(true)
          }
          const backwards = gaps.filter((gap) => gap < 0).reduce((sum, gap) => sum - gap, 0)
          expect(given).toBeLessThanOrEqual(
            burst + ((highest + backwards) * perSecond) / 1000 + 1e-6,
          )
        },
      ),
    )
  })
})

it('an IPv6 neighbourhood guesses as one, so does all that is no address, and another is not told to wait', () => {
  const brake = guessBrake(() => 0)
  for (let n = 0; n < 19; n++) expect(brake(`2001:db8::${n.toString(16)}`)).toBeNull()
  expect(brake('[2001:db8::ffff]:443')?.message).toContain('too many wrong keys')
  expect([brake('2001:db8:0:1::1'), brake('192.0.2.1')]).toEqual([null, null])
  for (let n = 0; n < 19; n++) expect(brake(`nonsense-${n}`)).toBeNull()
  expect(brake('x'.repeat(10_000))?.code).toBe('rate_limited')
})

it('whoever goes on guessing while told to wait waits from then on', () => {
  let now = 0
  const brake = guessBrake(() => now)
  for (let n = 0; n < 19; n++) expect(brake('192.0.2.1')).toBeNull()
  for (; now < 60_000; now += 3_000) expect(brake('192.0.2.1')?.retryAfterMs).toBe(3_158)
  now += 158
  expect(brake('192.0.2.1')).toBeNull()
  now += 60_000
  for (let n = 0; n < 19; n++) expect(brake('192.0.2.1')).toBeNull()
  expect(brake('192.0.2.1')?.code).toBe('rate_limited')
})

eachStore('limits', (store) => {
  const stage = sharedStage(store, { WAKEFUL_RATE_PER_SECOND: '5' })

  it('contract: a key that asks too much gets 429 with Retry-After, others do not', async () => {
    const s = stage()
    const one = await s.key({ role: 'user', user_id: 'ann' })
    const two = await s.key({ role: 'user', user_id: 'ann' })
    for (let left = 9; left >= 0; left--) {
      const reply = await s.call(one.key, 'GET', '/v1/alarms')
      expect(reply.status).toBe(200)
      expect(reply.headers.get('ratelimit')).toMatch(new RegExp(`^"key";r=${left};t=`))
      expect(reply.headers.get('ratelimit-policy')).toBe('"key";q=10;w=2')
    }
    const refused = await s.call(one.key, 'GET', '/v1/alarms')
    problem(refused, 429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await s.call(two.key, 'GET', '/v1/alarms')).status).toBe(200)
    s.sleep(200)
    expect((await s.call(one.key, 'GET', '/v1/alarms')).status).toBe(200)
  })

  it('asking for files counts as well', async () => {
    const s = stage()
    const { key } = await s.key({ role: 'user', user_id: 'ann' })
    const ask = () => s.call(key, 'GET', `/v1/work/${newId()}/outputs/1/file`)
    for (let n = 0; n < 10; n++) problem(await ask(), 404)
    problem(await ask(), 429)
  })

  it('those who need no key may ask less', async () => {
    const s = stage()
    const challenge = () =>
      s.call(null, 'POST', '/v1/agent/auth/challenge', { did: 'did:matrix:ann:00000000000000aa' })
    for (let n = 0; n < 50; n++) expect((await challenge()).status).toBe(200)
    problem(await challenge(), 429)
  })
})

eachStore('an address that a thousand wrong keys came from', (store) => {
  const stage = sharedStage(store)
  const SOCKET = '/v1/sessions/ann:bot:t/socket'
  const ask = async (key: string) => (await stage().call(key, 'GET', '/v1/alarms')).status

  it('wrong keys are told so nineteen times a minute, then to slow down; each right credential is let in', async () => {
    const s = stage()
    const ann = signer('ann')
    const { key } = await s.key({ role: 'user', user_id: 'ann' })
    await s.key({ role: 'agent', owner_did: ann.did })
    const token = await proven(s, ann)
    const ticket = (await s.call(key, 'POST', '/v1/tickets')).body.ticket as string
    const { key: unseen, id } = await s.key({ role: 'user', user_id: 'ann' })
    const wrong: string[] = [makeKey('user', id).key, 'no-key-at-all']
    while (wrong.length < 1_000) wrong.push(makeKey('user', newId()).key)
    const statuses: number[] = []
    for (let from = 0; from < wrong.length; from += 50)
      statuses.push(...(await Promise.all(wrong.slice(from, from + 50).map(ask))))
    expect(statuses.filter((status) => status === 401)).toHaveLength(19)
    expect(statuses.filter((status) => status === 429)).toHaveLength(981)
    const slowed = await s.call('no-key-at-all', 'GET', '/v1/alarms')
    problem(slowed, 429)
    expect(slowed.headers.get('retry-after')).toBe('4')
    expect(await opens(s, `${SOCKET}?ticket=${'x'.repeat(43)}`)).toBe(429)
    expect(await opens(s, SOCKET, { authorization: 'Bearer no-key-at-all' })).toBe(429)

    expect(await ask(unseen)).toBe(200)
    expect(await ask(token)).toBe(200)
    expect((await s.call(ADMIN_KEY, 'GET', '/v1/keys')).status).toBe(200)
    expect(await opens(s, `${SOCKET}?ticket=${ticket}`)).toBe('ready')
    expect(await opens(s, SOCKET, { authorization: `Bearer ${unseen}` })).toBe('ready')
    // No key at all costs nothing: there is nothing to guess.
    expect((await s.call(null, 'GET', '/v1/alarms')).status).toBe(401)
    s.sleep(60_000)
    expect(await ask('no-key-at-all')).toBe(401)
  })

  it('a flood of wrong keys shares its look-ups, and one that was wrong is not looked up again', async () => {
    const s = stage()
    const { key } = await s.key({ role: 'user', user_id: 'ann' })
    const query = vi.spyOn(s.app.store.db, 'query')
    const looks = () => query.mock.calls.filter(([text]) => text.includes('use_unnoted')).length
    const keeper = new Authenticator({
      ...{ auth: 'keys', adminKey: null, db: s.app.store.db },
      ready: () => true,
      onError: () => undefined,
    })
    const show = (shown: string) => keeper.authenticate({ authorization: `Bearer ${shown}` })
    const wrong = Array.from({ length: 1_000 }, () => makeKey('user', newId()).key)
    const answers = async (shown: string[]) =>
      (await Promise.allSettled(shown.map(show))).map(({ status }) => status)
    expect(await answers([...wrong, key])).toEqual([...wrong.map(() => 'rejected'), 'fulfilled'])
    expect(looks()).toBeLessThanOrEqual(4)
    const before = looks()
    expect(await answers(wrong)).toEqual(wrong.map(() => 'rejected'))
    expect(looks()).toBe(before)
    query.mockRestore()
  })
})
