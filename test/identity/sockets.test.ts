/** Sockets: by header, by ticket, for pages of the same site, and no longer than the key stands. */
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { checkLocal, checkOrigin } from '../../src/http/guard.ts'
import { problem } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { ADMIN_KEY, opens as opensAt, sharedStage, visit } from './stage.ts'

eachStore('sockets that want credentials', (store) => {
  const stage = sharedStage(store)
  const PATH = '/v1/sessions/ann:bot:t/socket'

  const opens = (path: string, headers: Record<string, string> = {}) =>
    opensAt(stage(), path, headers)

  it('contract: a ticket opens one socket, as whoever asked for it, within 30 seconds', async () => {
    const s = stage()
    const { key, id } = await s.key({ role: 'user', user_id: 'ann' })
    const ticket = async (as = key, headers = {}) =>
      (await s.call(as, 'POST', '/v1/tickets', undefined, headers)).body.ticket as string
    const once = await ticket()
    expect(await opens(`${PATH}?ticket=${once}`)).toBe('ready')
    expect(await opens(`${PATH}?ticket=${once}`)).toBe(401)
    expect(await opens(PATH)).toBe(401)
    expect(await opens(PATH, { authorization: `Bearer ${key}` })).toBe('ready')
    expect(await opens(`/v1/sessions/bea:bot:t/socket?ticket=${await ticket()}`)).toBe(404)
    const acting = await ticket(ADMIN_KEY, { 'wakeful-act-as': 'bea' })
    expect(await opens(`${PATH}?ticket=${acting}`)).toBe(404)
    const late = await ticket()
    s.sleep(30_000)
    expect(await opens(`${PATH}?ticket=${late}`)).toBe(401)
    expect(await opens(`${PATH}?ticket=${'x'.repeat(43)}`)).toBe(401)
    const orphan = await ticket()
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${id}`)
    expect(await opens(`${PATH}?ticket=${orphan}`)).toBe(401)
    const rows = await s.query('select t::text from wakeful.tickets t')
    expect(JSON.stringify(rows)).not.toContain(late)
    const worker = await s.key({ role: 'worker' })
    problem(await s.call(worker.key, 'POST', '/v1/tickets'), 403)
  })

  it('a page of another site may not open one', async () => {
    const authorization = `Bearer ${ADMIN_KEY}`
    expect(await opens(PATH, { authorization, origin: 'https://evil.example' })).toBe(403)
    expect(await opens(PATH, { authorization, origin: 'http://localhost:3000' })).toBe('ready')
  })

  it('a revoked key loses the sockets it holds', async () => {
    const s = stage()
    const { key, id } = await s.key({ role: 'user', user_id: 'ann' })
    const held = visit(s, PATH, { authorization: `Bearer ${key}` })
    const kept = visit(s, PATH, { authorization: `Bearer ${ADMIN_KEY}` })
    expect([await held.first, await kept.first]).toEqual(['ready', 'ready'])
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${id}`)
    expect(await held.closed).toBe(1008)
    expect(kept.socket.readyState).toBe(WebSocket.OPEN)
    kept.socket.terminate()
    await kept.closed
  })
})

it.each<[Record<string, string>, boolean]>([
  [{ host: 'localhost:8787' }, true],
  [{ host: '127.0.0.1' }, true],
  [{ host: '127.0.0.2:80' }, true],
  [{ host: '[::1]:8787' }, true],
  [{ host: 'rebound.example:8787' }, false],
  [{ host: 'localhost.evil.example' }, false],
  [{ host: '127.0.0.1.nip.io' }, false],
  [{ host: '10.0.0.1' }, false],
  [{ host: '' }, false],
  [{ host: 'localhost', origin: 'http://localhost:5173' }, true],
  [{ host: 'localhost', origin: 'https://evil.example' }, false],
  [{ host: 'localhost', origin: 'null' }, false],
  [{ host: 'localhost', origin: 'http://127.0.0.1@evil.example' }, false],
  [{ host: 'localhost', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, false],
  [{ host: 'localhost', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, true],
  [{ host: 'localhost', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, true],
])('on loopback %j comes in: %s', (headers, welcome) => {
  const attempt = () => checkLocal(headers)
  if (welcome) expect(attempt).not.toThrow()
  else expect(attempt).toThrow(/Host|Origin/)
})

it.each([
  [undefined, true],
  ['127.0.0.1', true],
  ['::ffff:127.0.0.1', true],
  ['::1', true],
  ['10.0.0.7', false],
  ['2001:db8::1', false],
])('open access from %s: %s, whatever Host it names', (peer, welcome) => {
  const attempt = () => checkLocal({ host: 'localhost' }, peer)
  if (welcome) expect(attempt).not.toThrow()
  else expect(attempt).toThrow('set WAKEFUL_AUTH=keys')
})

it.each<[Record<string, string>, boolean]>([
  [{ host: 'wakeful.example' }, true],
  [{ host: 'wakeful.example', origin: 'https://wakeful.example' }, true],
  [
    {
      host: 'inner:8787',
      'x-forwarded-host': 'wakeful.example',
      origin: 'https://wakeful.example',
    },
    true,
  ],
  [{ host: 'wakeful.example', origin: 'https://App.example' }, true],
  [{ host: 'wakeful.example', origin: 'https://evil.example' }, false],
  [{ host: 'wakeful.example', origin: 'null' }, false],
])('beyond loopback a socket with %j comes in: %s', (headers, welcome) => {
  const attempt = () => checkOrigin(headers, ['https://app.example'])
  if (welcome) expect(attempt).not.toThrow()
  else expect(attempt).toThrow('Origin')
})
