/** How much a key may ask, and how fast strangers may guess. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { type Bucket, draw } from '../../src/core/token-bucket.ts'
import { guessBrake } from '../../src/http/limits.ts'
import { problem } from '../sessions/house.ts'
import { eachStore } from '../setup/stores.ts'
import { ADMIN_KEY, sharedStage } from './stage.ts'

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

it('an IPv6 neighbourhood guesses as one, and another address is not made to wait', () => {
  const brake = guessBrake(() => 0)
  for (let n = 0; n < 20; n++) brake.failed(`2001:db8::${n.toString(16)}`)
  expect(() => brake.check('2001:db8::ffff')).toThrow('too many wrong keys')
  brake.check('2001:db8:0:1::1')
  brake.check('192.0.2.1')
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

  it('an address that sends wrong keys is kept waiting; those it knew before are let in', async () => {
    const s = stage()
    s.sleep(60_000)
    const known = await s.key({ role: 'user', user_id: 'ann' })
    const fresh = await s.key({ role: 'user', user_id: 'ann' })
    expect((await s.call(known.key, 'GET', '/v1/alarms')).status).toBe(200)
    const wrong = async (n: number) =>
      (await s.call(`wrong-${n}`.padEnd(40, '.'), 'GET', '/v1/alarms')).status
    for (let n = 0; n < 20; n++) expect(await wrong(n)).toBe(401)
    const slowed = await s.call('wrong'.padEnd(40, '.'), 'GET', '/v1/alarms')
    problem(slowed, 429)
    expect(slowed.headers.get('retry-after')).toBe('1')
    problem(await s.call(fresh.key, 'GET', '/v1/alarms'), 429)
    expect((await s.call(known.key, 'GET', '/v1/alarms')).status).toBe(200)
    expect((await s.call(ADMIN_KEY, 'GET', '/v1/keys')).status).toBe(200)
    s.sleep(1_000)
    expect((await s.call(fresh.key, 'GET', '/v1/alarms')).status).toBe(200)
    const challenge = () =>
      s.call(null, 'POST', '/v1/agent/auth/challenge', { did: 'did:matrix:ann:00000000000000aa' })
    for (let n = 0; n < 50; n++) expect((await challenge()).status).toBe(200)
    problem(await challenge(), 429)
    // No key at all costs nothing: there is nothing to guess.
    for (let n = 0; n < 25; n++) expect((await s.call(null, 'GET', '/v1/alarms')).status).toBe(401)
  })
})
