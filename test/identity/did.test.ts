/** Contract: an agent proves its DID by signing a challenge. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { challengeMessage, isProof, parseDid } from '../../src/core/session.ts'
import { problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { ADMIN_KEY, type Stage, sharedStage, signer } from './stage.ts'

it('a proof holds for its own words, key and name, and for no others', () => {
  const ann = signer('ann')
  const eve = signer('ann')
  const message = challengeMessage(ann.did, 'n')
  const proof = {
    did: ann.did,
    nonce: 'n',
    publicKey: ann.publicKey,
    signature: ann.sign(message),
  }
  expect(isProof(proof)).toBe(true)
  expect(isProof({ ...proof, publicKey: ann.publicKey.toUpperCase() })).toBe(true)
  const wrong = [
    { nonce: 'm' },
    { did: eve.did },
    { publicKey: eve.publicKey },
    { publicKey: eve.publicKey, signature: eve.sign(message) },
    { publicKey: ann.publicKey.slice(0, 16) + eve.publicKey.slice(16) },
    { signature: ann.sign(`${message} `) },
    { signature: '0'.repeat(128) },
    { signature: 'zz' },
    { did: ann.did.toUpperCase() },
  ]
  for (const part of wrong) expect(isProof({ ...proof, ...part }), JSON.stringify(part)).toBe(false)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      expect(isProof({ did: text, nonce: text, publicKey: text, signature: text })).toBe(false)
      expect(parseDid(`did:matrix:${text}`) === null || /^[\w-]+:[0-9a-f]{16}$/.test(text)).toBe(
        true,
      )
    }),
  )
})

eachStore('an agent that proves its DID', (store) => {
  const stage = sharedStage(store)
  const challenge = async (s: Stage, did: string) =>
    (await s.call(null, 'POST', '/v1/agent/auth/challenge', { did })).body
  const verify = (s: Stage, body: Record<string, unknown>) =>
    s.call(null, 'POST', '/v1/agent/auth/verify', body)
  async function proof(s: Stage, who: ReturnType<typeof signer>) {
    const asked = await challenge(s, who.did)
    return {
      did: who.did,
      public_key: who.publicKey,
      nonce: asked.nonce,
      signature: who.sign(asked.message),
    }
  }

  it('gets a token for a day, with the rights of the key made for it, and while that key stands', async () => {
    const s = stage()
    const ann = signer('ann')
    const key = await s.key({ role: 'agent', owner_did: ann.did, agent_id: 'bot' })
    const asked = await challenge(s, ann.did)
    expect(asked).toEqual({
      did: ann.did,
      nonce: expect.any(String),
      message: `wakeful-auth:${ann.did}:${asked.nonce}`,
      expires_in: 120,
    })
    const { status, body } = await verify(s, await proof(s, ann))
    expect([status, body]).toEqual([200, { token: expect.any(String), expires_in: 86_400 }])
    const alarm = { kind: 'once', delay_seconds: 60, wake_message: 'w' }
    const set = await s.call(body.token, 'POST', '/v1/alarms', alarm)
    expect([set.status, set.body.agent_id]).toEqual([201, 'bot'])
    const [row] = await s.query('select owner_did from wakeful.alarms where id = $1', [set.body.id])
    expect(row).toEqual({ owner_did: ann.did })
    problem(await s.call(body.token, 'GET', '/v1/keys'), 403)
    const listed = await s.call(ADMIN_KEY, 'GET', '/v1/keys')
    expect(listed.body.data.map((each: { id: string }) => each.id)).toEqual([key.id])
    const kept = await s.query('select t::text from wakeful.api_keys t')
    expect(JSON.stringify(kept)).not.toContain(body.token.slice(-43))
    s.sleep(86_399_000)
    expect((await s.call(body.token, 'GET', '/v1/alarms')).status).toBe(200)
    s.sleep(1_000)
    expect((await s.call(body.token, 'GET', '/v1/alarms')).status).toBe(401)
    const next = await verify(s, await proof(s, ann))
    expect((await s.call(next.body.token, 'GET', '/v1/alarms')).status).toBe(200)
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${key.id}`)
    expect((await s.call(next.body.token, 'GET', '/v1/alarms')).status).toBe(401)
    problem(await verify(s, await proof(s, ann)), 401)
  })

  it('is refused with one answer for all that is wrong, and a nonce works once, also when it failed', async () => {
    const s = stage()
    const ann = signer('ann')
    const eve = signer('ann')
    await s.key({ role: 'agent', owner_did: ann.did })
    const texts = new Set<string>()
    const refused = async (body: Record<string, unknown>) => {
      const reply = await verify(s, body)
      problem(reply, 401)
      texts.add(reply.body.detail)
    }
    const used = await proof(s, ann)
    expect((await verify(s, used)).status).toBe(200)
    await refused(used)
    const spoiled = await proof(s, ann)
    await refused({ ...spoiled, signature: eve.sign('x') })
    await refused(spoiled)
    await refused(await proof(s, eve))
    const foreign = await proof(s, ann)
    await refused({
      ...foreign,
      public_key: eve.publicKey,
      signature: eve.sign(`wakeful-auth:${ann.did}:${foreign.nonce}`),
    })
    const swapped = await proof(s, ann)
    await refused({ ...swapped, did: eve.did, public_key: eve.publicKey })
    await refused({ ...(await proof(s, ann)), nonce: 'made-up' })
    const late = await proof(s, ann)
    s.sleep(120_000)
    await refused(late)
    expect([...texts]).toHaveLength(1)
    const [row] = await s.query<{ n: number }>(
      `select count(*)::int as n from wakeful.api_keys where parent_id is not null and owner_did = $1`,
      [ann.did],
    )
    expect(row?.n).toBe(1)
    problem(await verify(s, { ...used, signature: 'xyz' }), 422)
    problem(await verify(s, { did: 'did:web:x' }), 422)
  })

  it('leaves nothing behind for a DID that nobody registered, whose challenge looks like any other', async () => {
    const s = stage()
    const count = async () =>
      (await s.query<{ n: number }>('select count(*)::int as n from wakeful.auth_challenges'))[0]?.n
    const before = await count()
    const asked = await challenge(s, signer('stranger').did)
    expect(Object.keys(asked)).toEqual(['did', 'nonce', 'message', 'expires_in'])
    expect(await count()).toBe(before)
  })
})
