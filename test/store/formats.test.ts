/** A server that is set up otherwise, too old, or in another encoding: it works, or the start says why not (invariants 9 and 13). */
import { afterAll, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { ensureMigrated } from '../../src/store/migrate.ts'
import { refusedServer } from '../../src/store/postgres.ts'
import { openLive } from '../sessions/live.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { beside, emptyDatabase, rawStore } from './stores.ts'

const made: string[] = []
afterAll(() => dropDatabases(made))

const OTHERWISE = [
  `datestyle = 'German'`,
  `intervalstyle = 'iso_8601'`,
  `timezone = 'Asia/Kolkata'`,
  'extra_float_digits = -10',
  `bytea_output = 'escape'`,
  'array_nulls = off',
  `default_transaction_isolation = 'serializable'`,
]

async function database(settings: readonly string[]): Promise<string> {
  const url = await postgresDatabase(made)
  const name = url.slice(url.lastIndexOf('/') + 1)
  await beside(url, async (client) => {
    for (const setting of settings) await client.query(`alter database ${name} set ${setting}`)
  })
  return url
}

for (const pooler of ['', '?pgbouncer=true'])
  it(`a database whose defaults are others is used as any other ${pooler}`, async () => {
    // A pooler keeps only those of the first for each client.
    const url = await database(pooler === '' ? OTHERWISE : OTHERWISE.slice(0, 3))
    const { app, call } = await openLive(`${url}${pooler}`, { bot: (turn) => turn.say('yes') })
    try {
      const key = '/v1/sessions/ann:bot:t'
      expect((await call('POST', `${key}/messages`, { text: 'hello' })).status).toBe(202)
      await until('it is answered', async () => {
        const { data } = (await call('GET', `${key}/effects`)).body
        return data.length === 1
      })
      const alarm = { kind: 'once', fire_at: '2099-12-31T00:00:00.000Z', wake_message: 'x' }
      const set = await call('POST', '/v1/alarms', { ...alarm, agent_id: 'bot' })
      expect([set.status, set.body.next_fire_at]).toEqual([201, alarm.fire_at])
      for (const path of ['/v1/alarms', '/v1/ledger'])
        expect((await call('GET', path)).status).toBe(200)
    } finally {
      await app.stop()
    }
  })

it('a server that is too old or not in UTF8 is named, with what to do', () => {
  const server = { version: '15.0', version_num: 150_000, encoding: 'UTF8' }
  expect(refusedServer(server)).toBeNull()
  expect(refusedServer({ ...server, version: '18.1', version_num: 180_001 })).toBeNull()
  expect(refusedServer({ ...server, version: '14.19', version_num: 140_019 })).toMatch(
    /^DATABASE_URL: PostgreSQL 15 or newer is needed, found 14\.19: /,
  )
  expect(refusedServer({ ...server, encoding: 'SQL_ASCII' })).toMatch(
    /must be UTF8, found SQL_ASCII/,
  )
})

it('an old server is refused before anything is written', async () => {
  const asked: string[] = []
  const db = {
    query: async (text: string) => {
      asked.push(text)
      return [{ version: '14.19', version_num: 140_019, encoding: 'UTF8' }]
    },
  } as unknown as Db
  for (const mode of ['auto', 'check'] as const)
    await expect(ensureMigrated(db, mode)).rejects.toThrow('PostgreSQL 15 or newer is needed')
  expect(asked.every((text) => text.includes('server_version_num'))).toBe(true)
})

it('a database in another encoding is refused before anything is written', async () => {
  const url = await emptyDatabase(`encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`)
  const { migrations } = await rawStore(url)
  await expect(ensureMigrated(migrations, 'auto')).rejects.toThrow('must be UTF8, found LATIN1')
  expect(await migrations.query(`select 1 from pg_namespace where nspname = 'wakeful'`)).toEqual([])
})
