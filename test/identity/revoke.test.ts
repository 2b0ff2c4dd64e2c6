/** A revoke bites at once where it was taken, and as soon as word of it comes elsewhere; so does a key's own end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { Authenticator } from '../../src/http/authentication/authenticator.ts'
import { afterEachTest } from '../setup/ends.ts'
import { call } from '../setup/http.ts'
import { dropDatabases, eachStore, postgresDatabase } from '../setup/stores.ts'
import { ADMIN_KEY, opens, proven, sharedStage, signer, visit } from './stage.ts'

const SOCKET = '/v1/sessions/ann:bot:t/socket'
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

eachStore('a revoke', (store) => {
  const stage = sharedStage(store)

  it('bites at once: requests, tools, tickets, and what is made by proving a DID', async () => {
    const s = stage()
    const ann = signer('ann')
    const user = await s.key({ role: 'user', user_id: 'ann' })
    const owner = await s.key({ role: 'agent', owner_did: ann.did })
    const token = await proven(s, ann)
    const tools = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
    const accept = { accept: 'application/json, text/event-stream' }
    const doors = async (key: string) => [
      (await s.call(key, 'GET', '/v1/alarms')).status,
      (await s.call(key, 'POST', '/mcp', tools, accept)).status,
    ]
    const ticket = (await s.call(user.key, 'POST', '/v1/tickets')).body.ticket
    expect([await doors(user.key), await doors(token)]).toEqual([
      [200, 200],
      [200, 200],
    ])
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${user.id}`)
    expect(await doors(user.key)).toEqual([401, 401])
    expect(await opens(s, `${SOCKET}?ticket=${ticket}`)).toBe(401)
    expect(await doors(token)).toEqual([200, 200])
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${owner.id}`)
    expect(await doors(token)).toEqual([401, 401])
  })

  it('closes the sockets it opened, by header, ticket or token, and what they still say is not taken', async () => {
    const s = stage()
    const ann = signer('ann')
    const user = await s.key({ role: 'user', user_id: 'ann' })
    const owner = await s.key({ role: 'agent', owner_did: ann.did })
    const ticket = (await s.call(user.key, 'POST', '/v1/tickets')).body.ticket
    const held = [
      visit(s, SOCKET, bearer(user.key)),
      visit(s, `${SOCKET}?ticket=${ticket}`),
      visit(s, SOCKET, bearer(await proven(s, ann))),
    ]
    const kept = visit(s, SOCKET, bearer(ADMIN_KEY))
    for (const each of [...held, kept]) expect(await each.first).toBe('ready')
    // It does not read our goodbye, and so goes on talking.
    const talker = held[0]?.socket
    talker?.pause()
    for (const { id } of [user, owner]) await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${id}`)
    talker?.send(JSON.stringify({ type: 'user_message', text: 'still here' }))
    talker?.resume()
    for (const each of held) expect(await each.closed).toBe(1008)
    const said = { text: 'behind it' }
    await s.call(ADMIN_KEY, 'POST', '/v1/sessions/ann:bot:t/messages', said)
    const events = await s.query('select payload from wakeful.events')
    expect(events.map(({ payload }) => JSON.parse(payload))).toEqual([said])
    expect(kept.socket.readyState).toBe(kept.socket.OPEN)
    kept.socket.terminate()
    await kept.closed
  })

  it('is not undone by a look that began before it', async () => {
    const s = stage()
    const { key, id } = await s.key({ role: 'user', user_id: 'ann' })
    const { db } = s.app.store
    let answered = () => {}
    let held: Promise<void> | null = new Promise((done) => {
      answered = done
    })
    const keeper = new Authenticator({
      ...{ auth: 'keys', adminKey: null, ready: () => true, onError: () => undefined },
      db: {
        ...db,
        async query(text, values) {
          const rows = await db.query(text, values)
          await held
          return rows as never
        },
      },
    })
    const shown = keeper.authenticate(bearer(key))
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${id}`)
    keeper.forget([id])
    held = null
    answered()
    await expect(shown).rejects.toThrow('send a valid key')
  })

  it('a key that ends takes its sockets with it', async () => {
    const s = stage()
    const expires_at = new Date(s.now().getTime() + 600).toISOString()
    const short = await s.key({ role: 'user', user_id: 'ann', expires_at })
    const ticket = (await s.call(short.key, 'POST', '/v1/tickets')).body.ticket
    const held = [visit(s, SOCKET, bearer(short.key)), visit(s, `${SOCKET}?ticket=${ticket}`)]
    for (const each of held) expect(await each.first).toBe('ready')
    s.sleep(600)
    for (const each of held) expect(await each.closed).toBe(1008)
  })
})

const children = new Set<ChildProcess>()
afterEachTest(async () => {
  for (const child of children) {
    const ended = new Promise((done) => child.once('close', done))
    child.stdin?.end()
    await ended
  }
  children.clear()
})

const tsx = (...args: string[]) => ['--import', 'tsx', ...args]
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

async function second(env: Record<string, string>): Promise<string> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, tsx(file('second.script.ts')), {
    env: { PATH, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.add(child)
  return new Promise((done, fail) => {
    let said = ''
    child.once('close', () => fail(new Error('the second process ended')))
    child.stdout.on('data', (text) => {
      said += text
      const found = /^listening on (\S+)$/m.exec(said)?.[1]
      if (found !== undefined) done(found)
    })
  })
}

// The embedded store is for one process.
describe('between processes on postgres', () => {
  const made: string[] = []
  afterAll(() => dropDatabases(made))

  it('word of a revoke, by an operation or on the command line, ends requests and sockets in each of them', async () => {
    const env = {
      DATABASE_URL: await postgresDatabase(made),
      PORT: '0',
      WAKEFUL_AUTH: 'keys',
      WAKEFUL_ADMIN_KEY: ADMIN_KEY,
    }
    const app = await App.open({
      config: readConfig(env),
      agents: new Map([['bot', agent(() => undefined)]]),
      log: pino({ level: 'silent' }),
      // Nothing but word of it can end a key here, nor in the other process.
      trustMs: 3_600_000,
    })
    try {
      await app.start()
      const places = [{ url: await app.listen() }, { url: await second(env) }] as const
      const ask = async (place: { url: string }, key: string) =>
        (await call(`${place.url}/v1/alarms`, 'GET', undefined, bearer(key))).status
      const make = async () => {
        const body = { role: 'user', user_id: 'ann' }
        const made = await call(`${places[0].url}/v1/keys`, 'POST', body, bearer(ADMIN_KEY))
        return made.body as { id: string; key: string }
      }
      const revokes = {
        async operation(id: string) {
          await call(`${places[0].url}/v1/keys/${id}`, 'DELETE', undefined, bearer(ADMIN_KEY))
        },
        async 'command line'(id: string) {
          const { PATH = '' } = process.env
          const bin = file('../../packages/cli/src/bin.ts')
          const child = spawn(process.execPath, tsx(bin, 'keys', 'revoke', id), {
            env: { PATH, DATABASE_URL: env.DATABASE_URL },
            stdio: 'inherit',
          })
          expect(await new Promise((done) => child.once('close', done))).toBe(0)
        },
      }
      for (const [how, revoke] of Object.entries(revokes)) {
        const { id, key } = await make()
        const held = places.map((place) => visit(place, SOCKET, bearer(key)))
        for (const each of held) expect(await each.first).toBe('ready')
        for (const place of places) expect(await ask(place, key), how).toBe(200)
        await revoke(id)
        if (how === 'operation') expect(await ask(places[0], key)).toBe(401)
        // The socket is closed by the same word that makes the process forget the key.
        for (const each of held) expect(await each.closed, how).toBe(1008)
        for (const place of places) expect(await ask(place, key), how).toBe(401)
      }
    } finally {
      await app.stop()
    }
  })
})
