/** Processes that are killed while they make promises: after every kill, what was said has its alarm, and no alarm is without its words (invariant 3). */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'
import { folder, post, Server } from './server.ts'

const APP = fileURLToPath(new URL('promise-app.mjs', import.meta.url))
const TIMEOUT_MS = 600_000
const KILLS = 4
const SESSIONS = 12
const made: string[] = []
afterAll(() => dropDatabases(made))

/** What was said and what was set, each in the order of names. */
async function promised(db: Db): Promise<{ said: string[]; set: string[] }> {
  const said = await db.query<{ name: string }>(
    `select payload ->> 'content' as name from wakeful.effects where type = 'send_message'`,
  )
  const set = await db.query<{ name: string }>('select label as name from wakeful.alarms')
  const names = (rows: readonly { name: string }[]) => rows.map(({ name }) => name).toSorted()
  return { said: names(said), set: names(set) }
}

/** Messages until the process is gone; each has a name of its own. Answers with those that were taken. */
async function talk(url: string, round: number, taken: Set<string>): Promise<void> {
  const one = async (session: number) => {
    for (let n = 0; ; n++) {
      const name = `promise ${round} ${session} ${n}`
      const answer = await post(url, `user${session}:bot:t`, { text: name, id: name })
      if (answer === null) return
      if (answer.status < 300) taken.add(name)
    }
  }
  await Promise.all(Array.from({ length: SESSIONS }, (_, session) => one(session)))
}

it('on PostgreSQL, killed four times: both or neither, whatever the instant', {
  timeout: TIMEOUT_MS,
}, async () => {
  const database = await postgresDatabase(made)
  const { db } = await bareStore(database)
  // Longer than a crowded machine may stand still: whoever does not extend it in time has died.
  const env = { DATABASE_URL: database, WAKEFUL_APP: APP, WAKEFUL_LEASE_MS: '4000' }
  const taken = new Set<string>()
  for (let round = 0; round < KILLS; round++) {
    const server = await Server.start({ ...env, LOG_LEVEL: 'error' })
    const talking = talk(server.url, round, taken)
    const wanted = (await promised(db)).said.length + 5 + 17 * round
    await until('promises are made', async () => (await promised(db)).said.length > wanted)
    await server.end('SIGKILL')
    await talking
    // Its last commit may still be on its way through the database.
    await until('its connections are gone', async () => (await others(db)) === 0)
    const { said, set } = await promised(db)
    expect(said).toEqual(set)
    expect(new Set(said).size).toBe(said.length)
  }
  const last = await Server.start({ ...env, LOG_LEVEL: 'error' })
  await until('every message was answered', async () => (await open(db)) === 0)
  const { said, set } = await promised(db)
  expect(said).toEqual(set)
  expect(said.filter((name) => taken.has(name))).toHaveLength(taken.size)
  await last.end('SIGTERM')
})

const others = async (db: Db) => {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
  )
  return row?.n ?? 0
}
const open = async (db: Db) => {
  const [row] = await db.query<{ n: number }>(
    'select count(*)::int as n from wakeful.sessions where done_seq < last_seq',
  )
  return row?.n ?? 0
}

it('on the embedded store, killed amid its work: both or neither', {
  timeout: TIMEOUT_MS,
}, async () => {
  const database = `pglite:${join(folder(), 'data')}`
  const taken = new Set<string>()
  for (let round = 0; round < 2; round++) {
    const server = await Server.start({ DATABASE_URL: database, WAKEFUL_APP: APP })
    const talking = talk(server.url, round, taken)
    const wanted = taken.size + 30
    await until('messages were taken', () => taken.size > wanted)
    await server.end('SIGKILL')
    await talking
  }
  const { db } = await bareStore(database)
  const { said, set } = await promised(db)
  expect(said.length).toBeGreaterThan(0)
  expect(said).toEqual(set)
})
