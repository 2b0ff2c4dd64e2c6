/** Behind proxies: whose word about the caller's address is believed, at every door alike. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  callerAddress,
  plainAddress,
  readTrustProxy,
  trustsOf,
} from '../../src/core/calls/address.ts'
import { ADMIN, door } from '../http/door.ts'
import { eachStore } from '../setup/stores.ts'
import { opens, type Stage, sharedStage } from './stage.ts'

const trust = (text: string) => trustsOf(readTrustProxy(text) ?? null)

it.each<[trust: string, remote: string, header: string | undefined, caller: string]>([
  // Nobody's word counts unless it was said whose does.
  ['0', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['1', '192.0.2.1', undefined, '192.0.2.1'],
  ['1', '192.0.2.1', '', '192.0.2.1'],
  ['1', '192.0.2.1', '198.51.100.7', '198.51.100.7'],
  ['1', '192.0.2.1', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
  ['2', '192.0.2.1', '203.0.113.9, 198.51.100.7', '203.0.113.9'],
  ['2', '192.0.2.1', '198.51.100.7', '198.51.100.7'],
  ['10.0.0.0/8', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['10.0.0.0/8', '10.1.2.3', '198.51.100.7', '198.51.100.7'],
  ['10.0.0.0/8', '::ffff:10.1.2.3', '198.51.100.7, 10.9.9.9:4711', '198.51.100.7'],
  ['10.0.0.0/8', '10.1.2.3', 'nonsense, 10.9.9.9', 'nonsense'],
  ['10.0.0.0/8', '10.1.2.3', '198.51.100.7, nonsense', 'nonsense'],
  ['fd00::/8,::1', '::1', '2001:db8::7, [fd12::1]:443', '2001:db8::7'],
  ['fd00::/8', '10.0.0.1', '2001:db8::7', '10.0.0.1'],
  ['10.0.0.0/8', '10.0.0.1', ' , ,198.51.100.7,, ', '198.51.100.7'],
])('trusting %s, %s that says %j speaks for %s', (text, remote, header, caller) => {
  expect(callerAddress(remote, header, trust(text))).toBe(caller)
})

it.each<[string, string | null]>([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:80', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8::1', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['10.1', null],
  ['0x7f.1', null],
  ['unknown', null],
  ['', null],
  ['[]', null],
])('%j is the address %s', (text, plain) => {
  expect(plainAddress(text)).toBe(plain)
})

it('HTTP and sockets find the same caller, whatever the header says', async () => {
  const part = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('10.0.0.1', '10.2.3.4:80', '[fd00::1]:1', '', ' ', 'unknown', '1.2'),
    fc.stringMatching(/^[\x21-\x2b\x2d-\x7e]{0,12}$/),
  )
  const header = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(', '))
  for (const text of ['0', '1', '3', '10.0.0.0/8,fd00::/8']) {
    const trusts = trust(text)
    const seen: string[] = []
    const app = door({
      trusts,
      authenticate: async (_headers, _query, address) => {
        seen.push(address)
        return ADMIN
      },
    })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('10.9.9.9', '192.0.2.1', 'fd00::9'),
        header,
        async (remote, said) => {
          const headers = { 'x-forwarded-for': said }
          const answer = await app.inject({ url: '/v1/notes', headers, remoteAddress: remote })
          expect(answer.statusCode).toBe(200)
          expect(seen.pop()).toBe(callerAddress(remote, said, trusts))
        },
      ),
      { numRuns: 150 },
    )
    await app.close()
  }
})

const SOCKET = '/v1/sessions/ann:bot:t/socket'
const guess = async (s: Stage, from: string) =>
  (await s.call('a-wrong-key', 'GET', '/v1/alarms', undefined, { 'x-forwarded-for': from })).status
const guessAtSocket = (s: Stage, from: string) =>
  opens(s, SOCKET, { authorization: 'Bearer a-wrong-key', 'x-forwarded-for': from })

eachStore('wrong keys behind one proxy', (store) => {
  const stage = sharedStage(store, { WAKEFUL_TRUST_PROXY: '1' })

  it('brake the address that the proxy names, and no other, at both doors', async () => {
    const s = stage()
    for (let n = 0; n < 10; n++) expect(await guess(s, `203.0.113.${n}, 198.51.100.7`)).toBe(401)
    for (let n = 0; n < 9; n++) expect(await guessAtSocket(s, '198.51.100.7')).toBe(401)
    expect(await guess(s, '198.51.100.7')).toBe(429)
    expect(await guessAtSocket(s, '203.0.113.1, 198.51.100.7')).toBe(429)
    for (const other of ['198.51.100.8', '2001:db8::1', 'garbage', '198.51.100.7, 198.51.100.9'])
      expect([await guess(s, other), await guessAtSocket(s, other)]).toEqual([401, 401])
    expect(s.log()).toContain('"address":"198.51.100.7"')
  })
})

eachStore('without a trusted proxy', (store) => {
  const stage = sharedStage(store)

  it('what a stranger says of its address is ignored at both doors', async () => {
    const s = stage()
    for (let n = 0; n < 19; n++) expect(await guess(s, `198.51.100.${n}`)).toBe(401)
    expect(await guess(s, '198.51.100.99')).toBe(429)
    expect(await guessAtSocket(s, '198.51.100.99')).toBe(429)
  })
})
