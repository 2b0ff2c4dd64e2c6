/** Reading never changes what it shows: watching a session shows what its sockets are sent, and acknowledges nothing. */
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { Client, live, refused } from './live.ts'

const ADMIN_KEY = 'watch-admin-0123456789abcdef0123456789'

eachStore('a socket that watches', (store) => {
  const at = live(store, {
    echo: (turn) => turn.say(`you said ${(turn.event.payload as { text?: string }).text}`),
  })
  const locked = live(
    store,
    { echo: () => undefined },
    {
      WAKEFUL_AUTH: 'keys',
      WAKEFUL_ADMIN_KEY: ADMIN_KEY,
    },
  )
  const open = (key: string, query = '') => Client.open(at().url, key, query)
  const effects = async (key: string): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/${key}/effects`)).body.data
  const post = (key: string, text: string) =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text })
  const untouched = async (key: string) => {
    // Attempts are written late.
    for (const { engine } of at().app.kernels.all) await engine.outbox.settle()
    for (const each of await effects(key))
      expect(each).toMatchObject({ status: 'pending', attempt_count: 0, last_attempt_at: null })
  }

  it('hears what waits and what comes, and leaves it undelivered and unattempted', async () => {
    const key = 'ann:echo:watched'
    await post(key, 'one')
    await until('it was answered', async () => (await effects(key)).length === 1)
    const watcher = await open(key, '?watch=1&events=1')
    await watcher.hears(1)
    await post(key, 'two')
    const heard = await watcher.hears(2)
    expect(heard.map(({ content }) => content)).toEqual(['you said one', 'you said two'])
    const before = (await at().call('GET', `/v1/sessions/${key}/events`)).body
    for (const { id } of heard) watcher.ack(id)
    watcher.say('as somebody else')
    await until('each was refused', () => errorsOf(watcher).length === 3)
    expect(errorsOf(watcher)[0].errors).toEqual([
      'ack: this socket only watches; open one without ?watch=1',
    ])
    expect((await at().call('GET', `/v1/sessions/${key}/events`)).body).toEqual(before)
    await untouched(key)
    const gone = at().app.sockets.watchers.sockets
    watcher.drop()
    await until('it is gone', () => at().app.sockets.watchers.sockets < gone)
    await untouched(key)

    // The person's own socket still gets all of it, and its acknowledgement counts.
    const again = await open(key, '?watch=1')
    const person = await open(key)
    const own = await person.hears(2)
    expect(own.map(({ content }) => content)).toEqual(['you said one', 'you said two'])
    await again.hears(2)
    for (const { id } of own) person.ack(id)
    await until('it is delivered', async () =>
      (await effects(key)).every(({ status }) => status === 'completed'),
    )
  })

  it('does not keep what a person left unacknowledged from waiting again', async () => {
    const key = 'bea:echo:left'
    const watcher = await open(key, '?watch=1')
    const person = await open(key)
    await post(key, 'one')
    await person.hears(1)
    await watcher.hears(1)
    await until('it was attempted', async () => (await effects(key))[0]?.status === 'executing')
    person.drop()
    await until('it waits again', async () => (await effects(key))[0]?.status === 'pending')
    expect((await effects(key))[0]).toMatchObject({ last_error: 'websocket_closed' })
  })

  it('is for admin and service keys', async () => {
    const path = '/v1/sessions/ann:echo:x/socket?watch=1'
    const admin = { authorization: `Bearer ${ADMIN_KEY}` }
    const ask = async (role: string) => {
      const body = { role, user_id: 'ann' }
      const { key } = (await locked().call('POST', '/v1/keys', body, admin)).body
      return refused(locked().url, path, { authorization: `Bearer ${key}` })
    }
    for (const role of ['user', 'agent']) expect((await ask(role)).status, role).toBe(403)
    expect((await refused(at().url, path.replace('watch=1', 'watch=2'))).status).toBe(422)
  })
})

const errorsOf = ({ frames }: Client) => frames.filter(({ type }) => type === 'error')
