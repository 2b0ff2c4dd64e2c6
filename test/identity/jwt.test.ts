/** Tokens of an identity provider, verified with the keys at its address. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/app/packs.ts'
import { ConfigError } from '../../src/config.ts'
import { actorOfClaims, tokenVerifier } from '../../src/http/authentication/jwt.ts'
import { problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { openStage, opens, type Stage, visit } from './stage.ts'

const ISSUER = 'https://id.example/'
const AUDIENCE = 'wakeful'
const SOCKET = '/v1/sessions/ann:bot:t/socket'
const NOW = Date.parse('2026-01-01T00:00:00Z') / 1000

let provider: Server
let url = ''
let base = ''
let asked = 0
/** Which issuer the metadata at an address names. */
let metadata: Record<string, string> = {}
type Pair = Awaited<ReturnType<typeof generateKeyPair>>
let keys: Pair
let others: Pair

beforeAll(async () => {
  keys = await generateKeyPair('ES256')
  others = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  provider = createServer((request, response) => {
    asked++
    if (request.url === '/moved') response.writeHead(302, { location: '/jwks' }).end()
    else if (request.url?.includes('/.well-known/')) {
      const path = metadata[request.url]
      const found = path === undefined ? null : { issuer: `${base}${path}`, jwks_uri: url }
      response.writeHead(found === null ? 404 : 200).end(JSON.stringify(found))
    } else response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done))
  base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  url = `${base}/jwks`
})
afterAll(() => new Promise((done) => provider.close(done)))

const token = (
  claims: Record<string, unknown> = {},
  key: CryptoKey | Uint8Array = keys.privateKey,
  alg = 'ES256',
) =>
  new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: NOW + 600, ...claims })
    .setProtectedHeader({ alg, kid: 'one' })
    .sign(key)

describe('the claims of a token', () => {
  it.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{}, { role: 'user', userId: 'ann', ownerDid: 'did:matrix:ann:0000000000000000' }],
    [{ role: 'admin' }, { role: 'user', userId: 'ann' }],
    [{ wakeful_role: 'admin' }, { role: 'admin', userId: null, ownerDid: null, keyId: 'jwt:ann' }],
    [{ scope: 'openid wakeful:agent' }, { role: 'agent', userId: 'ann' }],
    [{ scope: 'wakeful:admin' }, { role: 'user', userId: 'ann' }],
    [{ wakeful_role: 'user', scope: 'wakeful:agent' }, { role: 'user' }],
    [{ wakeful_role: 'worker' }, { role: 'worker', userId: null }],
    [
      { wakeful_role: 'worker', wakeful_user: 'bea' },
      { role: 'worker', userId: 'bea' },
    ],
    [
      { wakeful_role: 'agent', wakeful_agent: 'bot' },
      { role: 'agent', agentId: 'bot' },
    ],
    [
      { wakeful_did: 'did:matrix:ann:00000000000000aa' },
      { ownerDid: 'did:matrix:ann:00000000000000aa' },
    ],
  ])('%j make %j', (claims, actor) => {
    expect(actorOfClaims({ sub: 'ann', ...claims })).toMatchObject(actor)
  })

  it.each([
    { sub: 'a:b' },
    { wakeful_role: 'root' },
    { wakeful_user: ['ann'] },
    { wakeful_did: 'did:matrix:bea:00000000000000aa' },
    { wakeful_agent: 'bot' },
  ])('%j are refused', (claims) => {
    expect(() => actorOfClaims({ sub: 'ann', ...claims })).toThrow('claim')
  })
})

eachStore('tokens of an identity provider', (store) => {
  let s: Stage
  beforeAll(async () => {
    s = await openStage(await store.database(), {
      WAKEFUL_OAUTH_JWKS_URL: url,
      WAKEFUL_OAUTH_ISSUER: ISSUER,
      WAKEFUL_OAUTH_AUDIENCE: AUDIENCE,
      WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
    })
  })
  afterAll(() => s.stop())
  const status = async (shown: string) => (await s.call(shown, 'GET', '/v1/sessions')).status

  it('open the door as whom they say, until their end', async () => {
    const ann = await token()
    expect(await status(ann)).toBe(200)
    const said = await s.call(ann, 'POST', '/v1/sessions/ann:bot:t/messages', { text: 'hi' })
    expect(said.status).toBe(202)
    problem(await s.call(ann, 'GET', '/v1/sessions/bea:bot:t'), 404)
    problem(await s.call(ann, 'GET', '/v1/keys'), 403)
    const admin = await token({ wakeful_role: 'admin', sub: 'root' })
    expect((await s.call(admin, 'GET', '/v1/keys')).status).toBe(200)
    const short = await token({ exp: NOW + 1 })
    expect(await status(short)).toBe(200)
    s.sleep(32_000)
    expect(await status(short)).toBe(401)
  })

  it('clients are told where tokens come from', async () => {
    const refused = await fetch(`${s.url}/mcp`, { method: 'POST', body: '{}' })
    expect(refused.status).toBe(401)
    const told = refused.headers.get('www-authenticate') ?? ''
    const [, address = ''] = told.match(/^Bearer resource_metadata="([^"]+)"$/) ?? []
    expect(address).toBe(`${s.url}/.well-known/oauth-protected-resource/mcp`)
    expect(await (await fetch(address)).json()).toEqual({
      resource: `${s.url}/mcp`,
      authorization_servers: [ISSUER],
      scopes_supported: ['wakeful:agent'],
      bearer_methods_supported: ['header'],
      resource_name: 'Wakeful',
    })
  })

  it('are let in after many wrong ones, and their sockets end with them', async () => {
    s.sleep(60_000)
    const wrong = await token({}, others.privateKey)
    for (let n = 0; n < 30; n++) expect(await status(wrong)).toBe(n < 19 ? 401 : 429)
    const exp = Math.floor(s.now().getTime() / 1000) + 60
    const ann = await token({ exp })
    const { body } = await s.call(ann, 'POST', '/v1/tickets')
    const held = [
      visit(s, SOCKET, { authorization: `Bearer ${ann}` }),
      visit(s, `${SOCKET}?ticket=${body.ticket}`),
    ]
    for (const each of held) expect(await each.first).toBe('ready')
    s.sleep(60_000)
    const late = (await s.call(ann, 'POST', '/v1/tickets')).body.ticket
    // Half a minute is granted to clocks that differ.
    s.sleep(30_000)
    for (const each of held) expect(await each.closed).toBe(1008)
    expect(await opens(s, `${SOCKET}?ticket=${late}`)).toBe(401)
    s.sleep(60_000)
  })

  it('are refused when anything is wrong, and no algorithm without a public key is taken', async () => {
    const shared = new TextEncoder().encode('x'.repeat(64))
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: NOW + 600 }
    const good = await token()
    const wrong: Record<string, string> = {
      'another key': await token({}, others.privateKey),
      'another issuer': await token({ iss: 'https://evil.example/' }),
      'another audience': await token({ aud: 'other' }),
      'no audience': await token({ aud: undefined }),
      'no end': await token({ exp: undefined }),
      'no subject': await token({ sub: undefined }),
      ended: await token({ exp: NOW - 600 }),
      'not yet': await token({ nbf: NOW + 600 }),
      'a shared secret': await token({}, shared, 'HS256'),
      unsigned: new UnsecuredJWT(claims).encode(),
      'a changed payload': good.replace(
        /\.[^.]+\./,
        `.${Buffer.from(JSON.stringify({ ...claims, sub: 'bea' })).toString('base64url')}.`,
      ),
      'no token': 'a.b.c',
      'a wrong role': await token({ wakeful_role: 'root' }),
    }
    for (const [what, shown] of Object.entries(wrong)) {
      s.sleep(4_000)
      expect(await status(shown), what).toBe(401)
    }
    expect(asked).toBeLessThan(10)
  })
})

it('a provider that is away is 503, one that redirects is not followed, and a private address is not called', async () => {
  const options = { issuer: ISSUER, audience: AUDIENCE, now: () => NOW * 1000 }
  const refusals = [
    [{ jwksUrl: 'http://127.0.0.1:1/', allowPrivate: true }, 'unavailable'],
    [{ jwksUrl: url.replace('jwks', 'moved'), allowPrivate: true }, 'unavailable'],
    [{ jwksUrl: url.replace('127.0.0.1', 'localhost'), allowPrivate: false }, 'unavailable'],
  ] as const
  for (const [more, code] of refusals) {
    const before = asked
    const verifier = tokenVerifier({ ...options, ...more })
    await expect(verifier.verify(await token()), more.jwksUrl).rejects.toMatchObject({ code })
    expect(asked - before).toBe(more.jwksUrl.includes('moved') ? 1 : 0)
    await verifier.close()
  }
})

it.each<[string, Record<string, string>, boolean]>([
  ['/tenant', { '/.well-known/oauth-authorization-server/tenant': '/tenant' }, true],
  ['/tenant', { '/tenant/.well-known/openid-configuration': '/tenant' }, true],
  ['', { '/.well-known/openid-configuration': '' }, true],
  ['/tenant', { '/.well-known/oauth-authorization-server/tenant': '/other' }, false],
  ['', {}, false],
])('finds the keys of %s by metadata %j: %s', async (path, known, found) => {
  metadata = known
  const issuer = `${base}${path}`
  const options = { issuer, audience: AUDIENCE, jwksUrl: null, allowPrivate: true }
  const verifier = tokenVerifier({ ...options, now: () => NOW * 1000 })
  const verified = verifier.verify(await token({ iss: issuer }))
  if (found) expect(await verified).toMatchObject({ actor: { userId: 'ann' } })
  else await expect(verified).rejects.toMatchObject({ code: 'unavailable' })
  await verifier.close()
})

it('settings: issuer and audience or neither, https, and no private address unless allowed', () => {
  const all = {
    WAKEFUL_OAUTH_JWKS_URL: 'https://id.example/jwks',
    WAKEFUL_OAUTH_ISSUER: ISSUER,
    WAKEFUL_OAUTH_AUDIENCE: AUDIENCE,
  }
  expect(readConfig(all).oauth).toMatchObject({ issuer: ISSUER })
  const wrong = [
    { ...all, WAKEFUL_OAUTH_AUDIENCE: '' },
    { ...all, WAKEFUL_OAUTH_ISSUER: '' },
    { ...all, WAKEFUL_OAUTH_ISSUER: 'http://id.example/' },
    { WAKEFUL_OAUTH_JWKS_URL: 'https://id.example/jwks' },
    { ...all, WAKEFUL_OAUTH_JWKS_URL: 'http://id.example/jwks' },
    { ...all, WAKEFUL_OAUTH_JWKS_URL: 'https://10.0.0.1/jwks' },
    { WAKEFUL_ORIGINS: 'app.example' },
    { WAKEFUL_RATE_PER_SECOND: '0' },
  ]
  for (const env of wrong) expect(() => readConfig(env), JSON.stringify(env)).toThrow(ConfigError)
  expect(readConfig({ WAKEFUL_ORIGINS: 'https://A.example, http://b:1' }).origins).toEqual([
    'https://a.example',
    'http://b:1',
  ])
})
