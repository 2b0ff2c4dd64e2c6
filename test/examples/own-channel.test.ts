/** The example of a channel of one's own, as it is, with a relay on this machine. */
import { afterEach, expect, it, vi } from 'vitest'
import type { Agent, PushChannel } from '../../src/index.ts'
import { startVendor, type Vendor } from '../channels/vendor.ts'
import type { Loose } from '../setup/http.ts'
import { stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

// The example names the package; here that is the source, not what was built last.
vi.mock('wakeful', () => import('../../src/index.ts'))

let relay: Vendor | undefined
afterEach(async () => {
  await relay?.stop()
  vi.unstubAllEnvs()
  vi.resetModules()
})

eachStore('the example of a channel of one’s own', (store) => {
  it('carries what people write in and what the agent says out, through the same seam as the others', async () => {
    const taken: Loose[] = []
    let status = 503
    relay = await startVendor(({ body, headers }) => {
      if (status < 300) taken.push({ ...body, key: headers['idempotency-key'] })
      return { status }
    })
    vi.stubEnv('RELAY_URL', relay.root)
    vi.stubEnv('RELAY_TOKEN', 'right')
    const path = '../../examples/own-channel/app.mjs'
    const { default: app } = (await import(path)) as {
      default: { agents: Record<string, Agent>; channels: PushChannel[] }
    }
    const s = await stage(await store.database(), app)
    const link = { channel: 'relay', address: 'ann', session_key: 'ann:echo:main' }
    expect((await s.call('POST', '/v1/links', link)).status).toBe(201)
    const write = (id: string, text: string, token = 'right') => {
      const said = { from: 'ann', id, text }
      return s.call('POST', '/v1/channels/relay', said, { authorization: `Bearer ${token}` })
    }
    expect((await write('1', 'let me in', 'wrong')).status).toBe(401)
    expect((await write('2', 'hello')).status).toBe(204)
    expect((await write('2', 'hello')).status).toBe(204)
    await s.settle()
    expect(taken).toEqual([])
    status = 200
    await s.advanceBy(2_000)
    expect(taken).toMatchObject([{ to: 'ann', text: 'You said: hello', key: expect.any(String) }])
    status = 410
    await write('3', 'still there?')
    await s.settle()
    const [shown] = (await s.call('GET', '/v1/links?ended=true')).body.data
    expect(shown).toMatchObject({ ended_at: expect.any(String), last: { outcome: 'gone' } })
  })
})
