/** Server-Sent Events of a session: the socket's frames, for reading alone, with acknowledgements by a request (contract). */
import { request } from 'node:http'
import { expect, it } from 'vitest'
import { Client, live } from '../sessions/live.ts'
import { INSTANT, type Loose, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { Events } from './events.ts'

const ADMIN_KEY = 'a'.repeat(40)
const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

eachStore('the event stream', (store) => {
  const at = live(store, {
    echo: (turn) => turn.say(`you said ${(turn.event.payload as { text: string }).text}`),
    writer: async (turn) => {
      await turn.say(
        (async function* () {
          for (const word of ['once ', 'upon ', 'a time']) {
            yield word
            await new Promise(setImmediate)
          }
        })(),
      )
    },
  })
  const say = (key: string, text: string) =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text })
  const ack = (key: string, ...ids: string[]) =>
    at().call('POST', `/v1/sessions/${key}/acks`, { ids })
  const statuses = async (key: string): Promise<string[]> =>
    (await at().call('GET', `/v1/sessions/${key}/effects`)).body.data.map(
      ({ status }: Loose) => status,
    )
  const open = (key: string, lastId?: string, query = '') =>
    Events.open(at().url, key, { query, ...(lastId === undefined ? {} : { lastId }) })

  it('contract: the same frames as the socket, with the id of each message', async () => {
    const key = 'ann:writer:frames'
    const events = await open(key)
    expect(events.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    })
    expect(events.frames).toEqual([{ type: 'ready', session_key: key, last_seq: 0 }])
    const client = await Client.open(at().url, key)
    client.say('tell me')
    const [message] = await events.hears(1)
    expect(message).toEqual({
      type: 'message',
      id: expect.stringMatching(UUID),
      content: 'once upon a time',
      in_reply_to: 1,
      created_at: expect.stringMatching(INSTANT),
    })
    expect(events.ids).toEqual([message.id])
    const deltas = events.of('delta').map(({ text }) => text)
    expect(deltas.length).toBeGreaterThan(0)
    expect('once upon a time'.startsWith(deltas.join(''))).toBe(true)
    expect(events.of('typing')).toHaveLength(1)
    await client.hears(1)
    expect(client.heard).toEqual(events.heard)
    const watching = await open(key, undefined, '?events=1')
    client.say('again')
    await watching.hears(2)
    expect(watching.of('event')).toMatchObject([{ event: { seq: 2, type: 'user_message' } }])
  })

  it('contract: a new stream brings what nobody has acknowledged; after Last-Event-ID only later messages come, acknowledged elsewhere or not', async () => {
    const key = 'ann:echo:resume'
    for (const text of ['one', 'two', 'three']) await say(key, text)
    const first = await open(key)
    const [one, two, three] = await first.hears(3)
    expect(await ack(key, one.id, two.id)).toMatchObject({ status: 200, body: { acknowledged: 2 } })
    first.close()
    const fresh = await open(key)
    expect(await fresh.hears(1)).toMatchObject([{ id: three.id }])
    fresh.close()
    const resumed = await open(key, one.id)
    expect((await resumed.hears(2)).map(({ content }) => content)).toEqual([
      'you said two',
      'you said three',
    ])
    await ack(key, three.id)
    const upToDate = await open(key, three.id)
    await say(key, 'four')
    expect(await upToDate.hears(1)).toMatchObject([{ content: 'you said four' }])
    const unknown = await open(key, 'not an id')
    expect(await unknown.hears(1)).toMatchObject([{ content: 'you said four' }])
  })

  it('contract: acks complete messages, again without harm, and all or none of them', async () => {
    const key = 'ann:echo:acks'
    const events = await open(key)
    for (const text of ['one', 'two']) await say(key, text)
    const [one, two] = await events.hears(2)
    problem(await ack(key, one.id, '0195f5a0-0000-7000-8000-00000000dead'), 404)
    problem(await ack(key, 'no id'), 422)
    problem(await ack(key), 422)
    problem(await ack('ann:echo:other', one.id), 404)
    for (const times of [1, 2])
      expect([times, await ack(key, one.id)]).toMatchObject([times, { status: 200 }])
    await until('one is completed', async () => (await statuses(key))[0] === 'completed')
    events.close()
    await until('the other waits', async () => (await statuses(key))[1] === 'pending')
    await ack(key, two.id)
    await until('both', async () => `${await statuses(key)}` === 'completed,completed')
  })

  it('contract: with ack=none what was sent counts as delivered', async () => {
    const key = 'ann:echo:none'
    const events = await open(key, undefined, '?ack=none')
    await say(key, 'one')
    await events.hears(1)
    await until('it is completed', async () => `${await statuses(key)}` === 'completed')
  })

  it('contract: HEAD and other methods, wrong options, unknown agents and wrong keys of sessions are refused', async () => {
    const path = '/v1/sessions/ann:echo:x/stream'
    for (const method of ['POST', 'HEAD'])
      expect([method, (await fetch(`${at().url}${path}`, { method })).status]).toEqual([
        method,
        405,
      ])
    problem(await at().call('GET', `${path}?ack=all`), 422)
    problem(await at().call('GET', '/v1/sessions/ann:nobody:x/stream'), 404)
    problem(await at().call('GET', '/v1/sessions/ann/stream'), 422)
    const foreign = { origin: 'https://elsewhere.example' }
    problem(await at().call('GET', path, undefined, foreign), 403)
  })

  it('contract: a stop of the server ends it', async () => {
    const events = await open('ann:echo:end')
    await at().app.stop()
    await until('it has ended', () => events.closed)
  })
})

eachStore('the event stream with keys', (store) => {
  const at = live(
    store,
    { echo: (turn) => turn.say('yes') },
    {
      WAKEFUL_AUTH: 'keys',
      WAKEFUL_ADMIN_KEY: ADMIN_KEY,
    },
  )
  const open = (how: Parameters<typeof Events.open>[2]) => Events.open(at().url, 'ann:echo:k', how)
  const answer = (headers: Record<string, string>, query = '') =>
    Events.answer(`${at().url}/v1/sessions/ann:echo:k/stream${query}`, headers)
  const make = (path: string, body: object) => at().call('POST', path, body, AS_ADMIN)

  it('contract: a key by header or a one-use ticket lets in, and nothing else', async () => {
    expect((await answer({})).status).toBe(401)
    expect((await answer({ authorization: 'Bearer wrong' })).status).toBe(401)
    await open({ headers: AS_ADMIN })
    const { body } = await make('/v1/tickets', {})
    await open({ query: `?ticket=${body.ticket}` })
    expect((await answer({}, `?ticket=${body.ticket}`)).status).toBe(401)
    const bea = (await make('/v1/keys', { role: 'user', user_id: 'bea' })).body.key
    expect((await answer({ authorization: `Bearer ${bea}` })).status).toBe(404)
    const worker = (await make('/v1/keys', { role: 'worker', user_id: 'ann' })).body.key
    expect((await answer({ authorization: `Bearer ${worker}` })).status).toBe(403)
  })

  it('rule 36: a revoked key ends its streams', async () => {
    const { id, key } = (await make('/v1/keys', { role: 'user', user_id: 'ann' })).body
    const events = await open({ headers: { authorization: `Bearer ${key}` } })
    await at().call('DELETE', `/v1/keys/${id}`, undefined, AS_ADMIN)
    await until('it has ended', () => events.closed)
  })

  it('contract: pages of other sites are refused, and those that may open it may read it', async () => {
    const other = { ...AS_ADMIN, origin: 'https://elsewhere.example' }
    expect((await answer(other)).status).toBe(403)
    const near = await open({ headers: { ...AS_ADMIN, origin: 'http://localhost:3000' } })
    expect(near.headers['access-control-allow-origin']).toBe('http://localhost:3000')
  })

  it('a client that leaves before it is let in leaves nothing behind', async () => {
    for (let nth = 0; nth < 20; nth++) {
      const asked = request(`${at().url}/v1/sessions/ann:echo:gone/stream`, { headers: AS_ADMIN })
      asked.on('error', () => undefined).end()
      await new Promise(setImmediate)
      asked.destroy()
    }
    await until('nobody is there', () => at().app.sockets.sockets <= 3)
  })
})
