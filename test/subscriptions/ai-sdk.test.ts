/** MCP Events with a client that is not ours: the AI SDK subscribes to a real server, which is killed in the middle. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createMCPClient, experimental_createMCPEventWebhook } from '@ai-sdk/mcp'
import { afterAll, describe, expect, it } from 'vitest'
import { folder, Server } from '../process/server.ts'
import { afterEachTest } from '../setup/ends.ts'
import { call, type Loose } from '../setup/http.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const TIMEOUT_MS = 240_000
const made: string[] = []
afterAll(() => dropDatabases(made))

const open: (() => Promise<unknown>)[] = []
afterEachTest(async () => {
  for (const close of open.splice(0)) await close()
})

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Somebody's server: the SDK's own webhook behind plain HTTP, with a store in memory, which may be switched off. */
async function application() {
  const kept = new Map<string, Loose>()
  const store = {
    get: async (key: string) => kept.get(key),
    getById: async (id: string) => [...kept.values()].find((each) => each.id === id),
    set: async (subscription: Loose) => void kept.set(subscription.key, subscription),
    update: async (key: string, patch: Loose) => void kept.set(key, { ...kept.get(key), ...patch }),
    delete: async (key: string) => void kept.delete(key),
  }
  const events: Loose[] = []
  const state = { away: false, refused: 0 }
  const handle = experimental_createMCPEventWebhook({
    store,
    onEvent: async ({ event }) => void events.push(event),
  })
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (state.away) {
      state.refused++
      return response.writeHead(503).end()
    }
    const answer = await handle(
      new Request(`http://127.0.0.1${request.url}`, {
        method: 'POST',
        headers: request.headers as Record<string, string>,
        body: new Uint8Array(body),
      }),
    )
    return response.writeHead(answer.status).end(await answer.text())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  open.push(() => new Promise((done) => server.close(done)))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
  return { store, events, state, url, kept }
}

async function sdk(server: { url: string }, app: Awaited<ReturnType<typeof application>>) {
  const client = await createMCPClient({
    transport: { type: 'http', url: `${server.url}/mcp` },
    experimental_events: { store: app.store },
  })
  open.push(() => client.close())
  return client
}

describe.each(['pglite', 'postgres'] as const)('the AI SDK as a subscriber, on %s', (kind) => {
  it(
    'answers the challenge and gets every alarm, signed, also those due while we are dead',
    async () => {
      const database =
        kind === 'pglite' ? `pglite:${join(folder(), 'data')}` : await postgresDatabase(made)
      const env = {
        ...{ DATABASE_URL: database, WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
        ...{ WAKEFUL_LEASE_MS: '2000', LOG_LEVEL: 'error' },
      }
      const app = await application()
      const first = await Server.start(env)
      const client = await sdk(first, app)
      const { events: catalog } = await client.experimental_events.list()
      expect(catalog.map(({ name }) => name)).toContain('alarm.due')
      const subscription = await client.experimental_events.subscribe({
        name: 'alarm.due',
        delivery: { mode: 'webhook', url: app.url, allowInsecureLocalhost: true },
      })
      expect([...app.kept.values()]).toMatchObject([{ id: subscription.id, status: 'active' }])
      const set = (label: string, seconds: number) =>
        call(`${first.url}/v1/alarms`, 'POST', {
          ...{ kind: 'once', delay_seconds: seconds, wake_message: 'up', label },
        })
      await set('before', 1)
      await until('the first alarm was told', () => app.events.length === 1)
      // One is on its way when the server dies, and one becomes due while it is dead.
      app.state.away = true
      await set('on its way', 1)
      await set('while dead', 4)
      await until('a delivery was refused', () => app.state.refused > 0)
      await first.end('SIGKILL')
      app.state.away = false
      const second = await Server.start(env)
      await until('all were told', () => app.events.length >= 3)
      expect(app.events.map(({ data }) => data.label).toSorted()).toEqual(
        ['before', 'on its way', 'while dead'].toSorted(),
      )
      expect(new Set(app.events.map(({ eventId }) => eventId)).size).toBe(3)
      const again = await sdk(second, app)
      const renewed = await again.experimental_events.refresh({ id: subscription.id })
      expect(renewed).toMatchObject({ id: subscription.id, truncated: false })
      await again.experimental_events.unsubscribe({ id: subscription.id })
      expect((await call(`${second.url}/v1/subscriptions`, 'GET')).body.data).toEqual([])
    },
    TIMEOUT_MS,
  )
})
