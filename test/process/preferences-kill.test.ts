/** Processes that are killed while slots are deferred and while they are released: nothing is lost, nothing comes twice (invariant 11a). */
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { call } from '../setup/http.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'
import { Server } from './server.ts'

const APP = fileURLToPath(new URL('preferences-app.mjs', import.meta.url))
const TIMEOUT_MS = 600_000
const SESSIONS = 20
const ALARMS = 6
const ALL = SESSIONS * ALARMS
const made: string[] = []
afterAll(() => dropDatabases(made))

type Started = Awaited<ReturnType<typeof Server.start>>

/** Kills one of the processes and starts another in its place. */
async function replaced(servers: Started[], start: () => Promise<Started>): Promise<void> {
  const victim = servers.shift()
  await victim?.end('SIGKILL')
  servers.push(await start())
}

const counting = (db: Db) => async (text: string) =>
  (await db.query<{ n: number }>(`select count(*)::int as n from ${text}`))[0]?.n ?? 0

it('killed while deferring and while releasing: each alarm is told once', {
  timeout: TIMEOUT_MS,
}, async () => {
  const database = await postgresDatabase(made)
  const { db } = await bareStore(database)
  const count = counting(db)
  const start = () =>
    Server.start({
      DATABASE_URL: database,
      WAKEFUL_APP: APP,
      // Longer than a crowded machine may stand still: whoever does not extend it in time has died.
      WAKEFUL_LEASE_MS: '4000',
      LOG_LEVEL: 'error',
    })
  const servers = [await start(), await start()]
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await call(`${servers.at(-1)?.url}${path}`, method, body)
    expect(answer.status, answer.text).toBeLessThan(300)
  }
  await ask('POST', '/v1/people/local/pause', { for: '3 hours' })
  const names = Array.from({ length: ALL }, (_, n) => `alarm ${n}`)
  for (const [n, name] of names.entries())
    await ask('POST', '/v1/alarms', {
      ...{ kind: 'once', fire_at: '2090-01-01T00:00:00Z', wake_message: name, label: name },
      ...{ agent_id: 'bot', conversation_id: `t${n % SESSIONS}` },
    })
  const deferred = (status: string) => count(`wakeful.deferred where status = '${status}'`)

  await db.query(
    'update wakeful.alarms set due_at = now(), next_fire_at = now(), scheduled_for = now()',
  )
  await until('some are deferred', async () => (await deferred('waiting')) > ALL / 10)
  await replaced(servers, start)
  await until('all are deferred', async () => (await deferred('waiting')) === ALL)
  expect(await count('wakeful.effects')).toBe(0)

  await ask('DELETE', '/v1/people/local/pause')
  await until('some are released', async () => (await deferred('released')) > 0)
  await replaced(servers, start)
  await until(
    'all are told',
    async () =>
      (await deferred('released')) === ALL &&
      (await count('wakeful.sessions where done_seq < last_seq')) === 0,
  )
  const effects = await db.query<{ payload: string }>('select payload from wakeful.effects')
  const told = effects.flatMap(({ payload }) =>
    (JSON.parse(payload) as { content: string }).content.split('\n'),
  )
  expect(told.toSorted()).toEqual(names.toSorted())
  expect(effects.length).toBeLessThan(ALL)
  expect(await count(`wakeful.alarms where status <> 'fired'`)).toBe(0)
})
