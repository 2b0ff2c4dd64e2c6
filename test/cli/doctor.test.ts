/** `wakeful doctor`: a sound installation is told so, a broken one is told what to do, in both stores. */
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  bytesText,
  type DatabaseFacts,
  judgeDatabase,
  judgeDisk,
  judgeNode,
  judgePooling,
  judgeSkew,
  judgeZones,
  worst,
} from '../../packages/doctor/src/facts.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { refusePooler, sharesConnections } from '../../src/store/postgres.ts'
import { folder } from '../process/server.ts'
import { live } from '../sessions/live.ts'
import { eachStore } from '../setup/stores.ts'
import { wakeful } from './stage.ts'

const SOUND: DatabaseFacts = {
  kind: 'postgres',
  version: '17.2',
  now: '2026-01-01T00:00:00.000Z',
  size_bytes: 1,
  autovacuum: true,
  connections: { used: 10, max: 100 },
  oldest_transaction_ms: 0,
  clock_ahead_ms: 0,
  migrations: [{ name: '0001_x', applied_at: '2026-01-01T00:00:00.000Z' }],
  due: [{ table: 'alarms', lag_ms: 20, late: 0 }],
  stuck: [{ table: 'sessions', count: 0 }],
  ending_keys: [],
  tables: [{ table: 'sessions', live_rows: 1_000_000, dead_rows: 90_000, vacuumed_at: null }],
}

describe('the judgement', () => {
  it('finds nothing wrong where nothing is', () => {
    const findings = judgeDatabase(SOUND)
    expect(worst(findings)).toBe('ok')
    expect(findings.every(({ advice }) => advice === undefined)).toBe(true)
  })

  const WRONG: [string, Partial<DatabaseFacts>, string, 'warn' | 'fail', RegExp][] = [
    ['an old PostgreSQL', { version: '14.1' }, 'database', 'fail', /PostgreSQL 15/],
    [
      'a missing migration',
      { migrations: [{ name: '0001_x', applied_at: null }] },
      'migrations',
      'fail',
      /wakeful migrate up/,
    ],
    [
      'due rows that wait',
      { due: [{ table: 'alarms', lag_ms: 9_000, late: 0 }] },
      'due alarms',
      'warn',
      /WAKEFUL_SERVICES/,
    ],
    [
      'due rows that wait for long',
      { due: [{ table: 'alarms', lag_ms: 90_000, late: 10_000 }] },
      'due alarms',
      'fail',
      /AUTONOMY_ENABLED/,
    ],
    ['a stuck lease', { stuck: [{ table: 'effects', count: 2 }] }, 'leases', 'fail', /start one/],
    [
      'a key that ends soon',
      { ending_keys: [{ id: 'k1', role: 'agent', ends_at: '2026-01-05T00:00:00.000Z' }] },
      'keys',
      'warn',
      /wakeful keys create/,
    ],
    ['no autovacuum', { autovacuum: false }, 'vacuum', 'fail', /autovacuum = on/],
    [
      'dead rows',
      { tables: [{ table: 'events', live_rows: 10, dead_rows: 20_000, vacuumed_at: null }] },
      'vacuum',
      'warn',
      /vacuum wakeful\.events/,
    ],
    ['few connections', { connections: { used: 99, max: 100 } }, 'connections', 'warn', /pooler/],
    [
      'an old transaction',
      { oldest_transaction_ms: 3_600_000 },
      'transactions',
      'warn',
      /pg_stat_activity/,
    ],
  ]
  it.each(WRONG)('of %s says what to do', (_, facts, check, health, advice) => {
    const found = judgeDatabase({ ...SOUND, ...facts }).filter((each) => each.health !== 'ok')
    expect(found).toEqual([{ check, health, text: expect.any(String), advice: expect.anything() }])
    expect(found[0]?.advice).toMatch(advice)
  })

  it('counts a difference of clocks only as far as it is certain', () => {
    expect(judgeSkew(300, 10).health).toBe('ok')
    expect(judgeSkew(1_500, 1_000).health).toBe('ok')
    expect(judgeSkew(-5_000, 100)).toMatchObject({
      health: 'warn',
      text: 'the database is 4.9 s behind this machine',
    })
    expect(judgeSkew(3_600_000, 5).health).toBe('fail')
  })

  it('looks at Node, zones and disk', () => {
    expect(judgeNode('v20.19.0').health).toBe('ok')
    expect(judgeNode('v22.1.0').health).toBe('ok')
    expect(judgeNode('v20.18.1').health).toBe('fail')
    expect(judgeZones('2025c', '2025c').health).toBe('ok')
    expect(judgeZones('2025c', '2024a').health).toBe('warn')
    expect(judgeZones('', null).health).toBe('fail')
    expect(judgeDisk('x', 1, 50 * 2 ** 20).health).toBe('fail')
    expect(judgeDisk('x', 1, 500 * 2 ** 20).health).toBe('warn')
    expect(judgeDisk('x', 1, 5 * 2 ** 30).health).toBe('ok')
    expect([0, 1023, 1024, 8.4 * 2 ** 20, 200 * 2 ** 30].map(bytesText)).toEqual([
      '0 bytes',
      '1023 bytes',
      '1.0 KiB',
      '8.4 MiB',
      '200 GiB',
    ])
  })
})

eachStore('the doctor', (store) => {
  // Services are off, so that what is due stays due.
  const house = live(store, { bot: () => undefined }, { WAKEFUL_SERVICES: 'http' })

  it('asks the server that this environment would start', async () => {
    const { port } = new URL(house().url)
    const { stdout } = await wakeful(['doctor'], {
      env: { HOST: '::', PORT: port, WAKEFUL_AUTH: 'keys' },
    })
    expect(stdout).toContain(`ok    server: answers at http://127.0.0.1:${port}`)
    const flag = await wakeful(['doctor', '--url', house().url], { env: { PORT: '1' } })
    expect(flag.stdout).toContain(`answers at ${house().url}`)
  })

  it('examines a running server, in words and as JSON', async () => {
    const env = { WAKEFUL_URL: house().url }
    const words = await wakeful(['doctor'], { env })
    expect(words, words.stdout).toMatchObject({ code: 0, stderr: '' })
    for (const check of ['node', 'server', 'database', 'migrations', 'leases', 'vacuum', 'clock'])
      expect(words.stdout).toMatch(new RegExp(`^ok {4}${check}: `, 'm'))
    const json = JSON.parse((await wakeful(['doctor', '--json'], { env })).stdout)
    expect(json).toMatchObject({ health: 'ok', database: { kind: store.name } })
    for (const table of ['sessions', 'timers', 'alarms', 'wakes'])
      expect(json.database.due).toContainEqual({ table, lag_ms: 0, late: 0 })
  })

  it('finds rows that wait and leases that nobody took up (invariant 14)', async () => {
    await house().call('POST', '/v1/sessions/ann:bot:one/messages', { text: 'hi' })
    await house().query(
      `update wakeful.sessions set due_at = now() - interval '5 minutes',
         leased_until = now() - interval '2 minutes', claim_token = gen_random_uuid()`,
    )
    const { body } = await house().call('GET', '/v1/doctor')
    expect(body.health).toBe('fail')
    expect(body.database.due).toContainEqual({
      table: 'sessions',
      lag_ms: expect.any(Number),
      late: 1,
    })
    expect(body.database.stuck).toContainEqual({ table: 'sessions', count: 1 })
    const words = await wakeful(['doctor'], { env: { WAKEFUL_URL: house().url } })
    expect(words.code).toBe(1)
    expect(words.stdout).toMatch(/^fail {2}due sessions: the oldest waits for 3\d\d s, 1 for more/m)
    expect(words.stdout).toMatch(/^fail {2}leases: 1 of sessions: /m)
    expect(words.stdout).toMatch(/^ {6}→ /m)
    await house().query('delete from wakeful.sessions')
  })
})

eachStore('without a server the doctor', (store) => {
  it('looks at the database itself', async () => {
    const database = store.name === 'pglite' ? `pglite:${folder()}/data` : await store.database()
    const opened = await openStore(database, { now: () => null, onError: () => undefined })
    await migrateUp(opened.migrations)
    await opened.close()
    const env = { WAKEFUL_URL: 'http://127.0.0.1:9', DATABASE_URL: database }
    const seen = await wakeful(['doctor'], { env })
    expect(seen.code).toBe(1)
    expect(seen.stdout).toMatch(/^fail {2}server: no server answers at http:\/\/127.0.0.1:9/m)
    expect(seen.stdout).toMatch(/^ok {4}migrations: all \d+ are applied$/m)
    expect(seen.stdout).toMatch(/^ok {4}clock: /m)
    if (store.name === 'pglite') expect(seen.stdout).toMatch(/^(ok|warn) +disk: .* are free$/m)
    else expect(seen.stdout).toMatch(/^ok {4}pooling: /m)
  })
})

it('finds a pooler that gives two clients one connection of the database', async () => {
  const answering = (pids: number[]) => () =>
    ({
      connect: async () => undefined,
      query: async () => ({ rows: [{ pid: pids.shift() }] }),
      end: async () => undefined,
    }) as unknown as pg.Client
  expect(await sharesConnections(answering([7, 7]))).toBe(true)
  expect(await sharesConnections(answering([7, 8]))).toBe(false)
  await expect(refusePooler({ listen: answering([7, 7]) })).rejects.toThrow(/pgbouncer=true/)
  await refusePooler({ listen: answering([7, 8]) })
  await refusePooler({ listen: null })
  expect(judgePooling('shared')).toMatchObject({
    health: 'fail',
    advice: expect.stringContaining('pgbouncer=true'),
  })
  for (const seen of ['own', 'told'] as const)
    expect(judgePooling(seen)).toMatchObject({ health: 'ok' })
})

it('tells of a database that is away, of wrong settings, and of a directory not yet there', async () => {
  const env = { WAKEFUL_URL: 'http://127.0.0.1:9' }
  const away = await wakeful(['doctor'], {
    env: { ...env, DATABASE_URL: 'postgres://u:secret@127.0.0.1:9/x' },
  })
  expect(away.code).toBe(1)
  expect(away.stdout).toMatch(/^fail {2}database: .*ECONNREFUSED/m)
  expect(away.stdout).not.toContain('secret')
  const wrong = await wakeful(['doctor', '--json'], { env: { ...env, PORT: 'many' } })
  expect(JSON.parse(wrong.stdout).findings).toContainEqual(
    expect.objectContaining({
      check: 'configuration',
      health: 'fail',
      text: expect.stringContaining('PORT: got "many"'),
    }),
  )
  const fresh = await wakeful(['doctor'], {
    env: { ...env, DATABASE_URL: `pglite:${folder()}/none` },
  })
  expect(fresh.stdout).toContain('does not exist yet')
})
