/** Registering agents: who is there, what is refused, and what is never shown. */
import { describe, expect, it } from 'vitest'
import { house } from '../sessions/house.ts'
import { problem, UUID } from '../setup/http.ts'
import { receiver } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const URL = 'https://agents.example.com/turns'

eachStore('agents over HTTP', (store) => {
  const at = house(store, { bot: () => undefined, aide: () => undefined })
  let made = 0
  const fresh = () => `far${++made}`
  const register = (body: Record<string, unknown>, headers?: Record<string, string>) =>
    at().call('POST', '/v1/agents', { id: fresh(), url: URL, ...body }, headers)

  it('shows the secret once, made here or given', async () => {
    const id = fresh()
    const { status, body } = await register({ id })
    expect(status).toBe(201)
    expect(body).toMatchObject({ id, kind: 'remote', url: URL, timeout_ms: 60_000, enabled: true })
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect((await register({ secret: SECRET })).body.secret).toBe(SECRET)
    const seen = [
      await at().call('GET', '/v1/agents'),
      await at().call('GET', `/v1/agents/${id}`),
      await at().call('PATCH', `/v1/agents/${id}`, { secret: SECRET, timeout_ms: 5000 }),
    ]
    for (const answer of seen) expect(answer.text).not.toContain('whsec_')
    expect(seen[2]?.body.timeout_ms).toBe(5000)
  })

  it('an Idempotency-Key gives the first answer again', async () => {
    const body = { id: fresh(), url: URL }
    const key = { 'idempotency-key': crypto.randomUUID() }
    const first = await at().call('POST', '/v1/agents', body, key)
    const again = await at().call('POST', '/v1/agents', body, key)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
  })

  it('lists the agents of this process beside remote ones, by name, page by page', async () => {
    const id = fresh()
    await register({ id })
    const names: string[] = []
    const kinds = new Map<string, string>()
    let cursor = ''
    do {
      const { body } = await at().call('GET', `/v1/agents?limit=1${cursor}`)
      expect(body.data).toHaveLength(1)
      names.push(body.data[0].id)
      kinds.set(body.data[0].id, body.data[0].kind)
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(names).toEqual([...new Set(names)].sort())
    expect(kinds.get('aide')).toBe('function')
    expect(kinds.get('bot')).toBe('function')
    expect(kinds.get(id)).toBe('remote')
    expect((await at().call('GET', '/v1/agents/bot')).body).toMatchObject({ kind: 'function' })
  })

  describe('refuses', () => {
    it('a name that is taken, by an agent of this process or a remote one', async () => {
      problem(await register({ id: 'bot' }), 409)
      const id = fresh()
      expect((await register({ id })).status).toBe(201)
      problem(await register({ id }), 409)
    })

    it('a wrong shape, with everything that is wrong', async () => {
      const wrong = await register({
        id: 'a:b',
        url: 'home',
        secret: 'abc',
        timeout_ms: 5,
        colour: 1,
      })
      problem(wrong, 422)
      for (const field of ['id', 'url', 'secret', 'timeout_ms', 'colour'])
        expect(wrong.body.errors.join('\n')).toContain(`body.${field}`)
    })

    it.each([
      'http://agents.example.com/',
      'https://127.0.0.1/',
      'https://10.0.0.8/',
      'https://[::1]/',
      'https://localhost/',
      'https://169.254.169.254/latest/meta-data',
      'https://0x7f000001/',
      'https://agents.example.com:5432/',
      'https://user:pass@agents.example.com/',
      'ftp://agents.example.com/',
    ])('the address %s, at registration and on change', async (url) => {
      const refused = await register({ url })
      problem(refused, 400)
      expect(refused.body.errors[0]).toContain('url: may not be called')
      const id = fresh()
      await register({ id })
      problem(await at().call('PATCH', `/v1/agents/${id}`, { url }), 400)
    })

    it('to change or remove an agent of this process, or one that is not there', async () => {
      problem(await at().call('PATCH', '/v1/agents/bot', { enabled: false }), 409)
      problem(await at().call('DELETE', '/v1/agents/bot'), 409)
      for (const id of ['nobody', 'a:b', 'x'.repeat(300)]) {
        problem(await at().call('GET', `/v1/agents/${id}`), 404)
        problem(await at().call('PATCH', `/v1/agents/${id}`, { enabled: false }), 404)
        problem(await at().call('DELETE', `/v1/agents/${id}`), 404)
      }
    })

    it('invariant 12: to touch another user’s, or everybody’s while acting for one', async () => {
      const [anns, all] = [fresh(), fresh()]
      const ann = { 'wakeful-act-as': 'ann' }
      const bob = { 'wakeful-act-as': 'bob' }
      expect((await register({ id: anns }, ann)).body.user_id).toBe('ann')
      await register({ id: all })
      problem(await register({ user_id: 'ann' }, bob), 403)
      problem(await at().call('GET', `/v1/agents/${anns}`, undefined, bob), 404)
      problem(await at().call('DELETE', `/v1/agents/${anns}`, undefined, bob), 404)
      problem(await at().call('DELETE', `/v1/agents/${all}`, undefined, bob), 404)
      expect((await at().call('GET', `/v1/agents/${all}`, undefined, bob)).status).toBe(200)
      const names = (await at().call('GET', '/v1/agents?limit=500', undefined, bob)).text
      expect(names).toContain(all)
      expect(names).not.toContain(anns)
    })
  })

  it('the address is checked again at the call: nothing is reached that may not be', async () => {
    const id = fresh()
    const inside = await receiver()
    await register({ id })
    await at().query('update wakeful.agents set url = $1 where id = $2', [inside.url, id])
    await at().wakeful.settle()
    const { body } = await at().call('POST', `/v1/sessions/ann:${id}:t/messages`, { text: 'hi' })
    expect(body.event.id).toMatch(UUID)
    await at().wakeful.settle()
    const turns = await at().call('GET', `/v1/sessions/ann:${id}:t/turns`)
    expect(turns.body.data[0].error).toContain('not called: the private address')
    expect(inside.connections()).toBe(0)
  })

  it('an agent of this process takes over a name that was removed, also what is left of it', async () => {
    const database = await store.database()
    const w = await world(store, { far: (turn) => turn.say('mine now') }, { database })
    await w.query(
      `insert into wakeful.agents (id, url, secret, timeout_ms, removed_at, created_at, updated_at)
       values ('far', 'https://x.example', '', 1000, now(), now(), now())`,
    )
    await w.app.start()
    await w.say('ann:far:t', 'hi')
    await w.settle()
    const effects = await w.query<{ payload: string }>('select payload from wakeful.effects')
    expect(effects.map((effect) => effect.payload)).toEqual(['{"content":"mine now"}'])
    expect(await w.query('select id from wakeful.agents')).toEqual([])
  })
})
