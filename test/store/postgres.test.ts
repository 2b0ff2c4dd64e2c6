/** PostgreSQL that breaks under us: terminated backends, cut answers, a server that comes later. */
import { setImmediate as tickOnce } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { openApp } from '../../src/index.ts'
import { CommitUnknownError, isUnavailable } from '../../src/store/db.ts'
import { Relay } from '../faults/relay.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore, beside, rawStore } from './stores.ts'

const made: string[] = []
afterAll(() => dropDatabases(made))
const database = () => postgresDatabase(made)

const OTHERS = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
const KEYS = 'select key from wakeful.idempotency_keys order by key'
const ADD = `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ('o', $1, 'f', now())`

it('a pooled connection whose backend was terminated is destroyed, and the next statement works', async () => {
  const url = await database()
  const broke: Error[] = []
  const store = await bareStore(url, { onError: (error) => broke.push(error) })
  await Promise.all([store.db, store.engine, store.commits].map((db) => db.query('select 1')))
  const idle = () => store.pools().reduce((sum, pool) => sum + pool.total, 0)
  const before = idle()
  await beside(url, (client) => client.query(`select pg_terminate_backend(pid) ${OTHERS}`))
  await until('all idle connections are gone', () => idle() === 0)
  expect(broke.length).toBeGreaterThanOrEqual(before)
  for (const db of [store.db, store.engine, store.commits])
    expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
})

it('what waits for a lock is ended by the server itself, before we stop listening; a migration is not', async () => {
  const { db, engine, commits, migrations } = await bareStore(await database())
  const limits = await Promise.all(
    [db, engine, commits, migrations].map((each) => each.query('show statement_timeout')),
  )
  expect(limits.flat().map((row) => Object.values(row)[0])).toEqual(['9s', '9s', '9s', '0'])
})

it('a backend terminated in the middle of a transaction fails that one alone, and the process lives', async () => {
  const url = await database()
  const store = await bareStore(url)
  // Once while a statement runs, once between two statements, when nobody waits for an answer.
  for (const running of [true, false]) {
    const failing = store.db.tx(async (tx) => {
      await tx.query(ADD, [`lost ${running}`])
      const [row] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      const asleep = running ? tx.query('select pg_sleep(60)') : null
      asleep?.catch(() => undefined)
      await beside(url, (client) =>
        client.query('select pg_terminate_backend($1, 5000)', [row?.pid]),
      )
      for (let n = 0; n < 20; n++) await tickOnce()
      await (asleep ?? tx.query('select 1'))
    })
    const error = await failing.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(isUnavailable(error), String(error)).toBe(true)
    await store.db.tx((tx) => tx.query(ADD, [`kept ${running}`]))
  }
  expect(await store.db.query(KEYS)).toEqual([{ key: 'kept false' }, { key: 'kept true' }])
})

it('a real deadlock is resolved: both transactions end, and both are there', async () => {
  const url = await database()
  const store = await bareStore(url)
  for (const key of ['a', 'b']) await store.db.query(ADD, [key])
  const touch = `update wakeful.idempotency_keys set status = coalesce(status, 0) + 1 where key = $1`
  const arrived = new Set<string>()
  const both = (first: string, second: string) =>
    store.db.tx(async (tx) => {
      await tx.exec(`set local deadlock_timeout = '50ms'`)
      await tx.query(touch, [first])
      arrived.add(first)
      await until('the other one holds its row', () => arrived.size === 2)
      await tx.query(touch, [second])
    })
  await Promise.all([both('a', 'b'), both('b', 'a')])
  const rows = await store.db.query('select key, status from wakeful.idempotency_keys order by key')
  expect(rows).toEqual([
    { key: 'a', status: 2 },
    { key: 'b', status: 2 },
  ])
})

it('invariant 9: a commit whose answer never came is reported as unknown, not as failed, and not tried again', async () => {
  const relay = await Relay.before(await database())
  const store = await bareStore(relay.url)
  let attempts = 0
  const unknown = store.db.tx(async (tx) => {
    attempts++
    await tx.query(ADD, ['committed'])
    relay.cutAnswer('COMMIT\0')
  })
  await expect(unknown).rejects.toBeInstanceOf(CommitUnknownError)
  expect([attempts, relay.cuts]).toEqual([1, 1])
  // Re-read, never assumed: here it did happen.
  expect(await store.db.query(KEYS)).toEqual([{ key: 'committed' }])
})

it('a connection cut before the commit was sent is not called unknown', async () => {
  const relay = await Relay.before(await database())
  const store = await bareStore(relay.url)
  const failing = store.db.tx(async (tx) => {
    await tx.query(ADD, ['never'])
    relay.cutAnswer('INSERT')
    await tx.query(ADD, ['cut'])
  })
  const error = await failing.catch((reason: unknown) => reason)
  expect(error).not.toBeInstanceOf(CommitUnknownError)
  expect(isUnavailable(error), String(error)).toBe(true)
  expect(await store.db.query(KEYS)).toEqual([])
})

it('invariants 1 and 9: an append whose commit answer was cut is there once when its caller tries again', async () => {
  const relay = await Relay.before(await database())
  const app = await openApp({
    database: relay.url,
    agents: { other: agent(() => undefined) },
    env: { LOG_LEVEL: 'silent', WAKEFUL_SERVICES: 'http' },
  })
  try {
    await app.start()
    const event = (id: string) => ({
      session: { key: 'ann:bot:t', userId: 'ann', agentId: 'bot', threadId: 't', bucket: 1 },
      id,
      type: 'user_message' as const,
      payload: '{"text":"hi"}',
      clientId: 'm-1',
    })
    relay.cutAnswer('COMMIT\0')
    await expect(app.append(event('01890000-0000-7000-8000-000000000001'))).rejects.toBeInstanceOf(
      CommitUnknownError,
    )
    const again = await app.append(event('01890000-0000-7000-8000-000000000002'))
    expect(again).toMatchObject({ seq: 1, fresh: false })
    expect(await app.store.db.query('select seq from wakeful.events')).toEqual([{ seq: 1 }])
  } finally {
    await app.stop()
  }
})

it('a start waits for a database that is away, says 503 meanwhile, and 200 when it came', async () => {
  const relay = await Relay.before(await database(), { away: true })
  const app = await openApp({
    database: relay.url,
    port: 0,
    agents: { bot: agent(() => undefined) },
    env: { LOG_LEVEL: 'silent' },
  })
  try {
    const address = await app.listen()
    const started = app.start()
    const health = async () => {
      const answer = await fetch(`${address}/healthz`)
      return { status: answer.status, body: (await answer.json()) as { status: string } }
    }
    for (let n = 0; n < 3; n++)
      expect(await health()).toMatchObject({
        status: 503,
        body: { status: 'waiting for the database' },
      })
    const refused = await fetch(`${address}/v1/sessions/ann:bot:t/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"hi"}',
    })
    expect(refused.status).toBe(503)
    await relay.listen()
    await started
    expect(await health()).toMatchObject({ status: 200, body: { status: 'ok' } })
    // Away again: honest about it, and back by itself.
    await relay.close()
    const away = await until('honest', async () => {
      const told = await health()
      return told.status === 503 && told
    })
    expect(away.body.status).toBe('the database is unreachable')
    await relay.listen()
    await until('healthy again', async () => (await health()).status === 200)
  } finally {
    await app.stop()
  }
})

it('a stop while the database is still away ends at once', async () => {
  const relay = await Relay.before(await database(), { away: true })
  const app = await openApp({
    database: relay.url,
    agents: { bot: agent(() => undefined) },
    env: { LOG_LEVEL: 'silent' },
  })
  const started = app.start()
  await app.stop()
  await started
})

it('a database that refuses us for good stops the start with its reason', async () => {
  const url = new URL(await database())
  url.pathname = '/not_there'
  const store = await rawStore(url.href)
  const error = await store.db.query('select 1').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: '3D000' })
  expect(isUnavailable(error)).toBe(false)
})
