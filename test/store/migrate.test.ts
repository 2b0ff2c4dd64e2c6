/** Migrations: up, down and up again, on both stores, against the checked-in picture of the schema. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import {
  ensureMigrated,
  type Migration,
  migrateDown,
  migrateUp,
  migrationStatus,
  readMigrations,
  refuseFresh,
} from '../../src/store/migrate.ts'
import { eachStore } from '../setup/stores.ts'
import { leftovers, schemaText } from './schema.ts'
import { bareStore, emptiedStore, emptyDatabase, rawStore } from './stores.ts'

const PICTURE = fileURLToPath(new URL('../../migrations/schema.txt', import.meta.url))
const REGENERATE =
  'the schema is not what migrations/schema.txt says: if you meant to change it, run ' +
  '`UPDATE_SCHEMA=1 npx vitest run test/store/migrate.test.ts` and commit the new file'

const ALL = readMigrations()
const NAMES = ALL.map((migration) => migration.name)

function migration(version: number, up: string, down = ''): Migration {
  return { version, name: `${String(version).padStart(4, '0')}_test`, up, down }
}

/** The marks that the last schema before the baseline has. */
const REPLACED: readonly (readonly [name: string, checksum: string])[] = [
  ['0001_foundation', '332072dd84bf8ac0'],
  ['0002_sessions', '5d5a26fdeab5c7ee'],
  ['0003_alarms', '1b1b17485c9cc3f0'],
  ['0004_intents', '72136a4f44fab89b'],
  ['0005_work', '5f3669530de9ddf6'],
  ['0006_identity', 'ea8a9e0818641b90'],
  ['0007_ledger', '651dfb51b7a6d4c1'],
  ['0008_traces', 'f7907aa4b1a8421a'],
  ['0009_agents', '6de92bba8dfd66e5'],
  ['0010_reasons', 'a888d75f067dcdb0'],
  ['0011_pushed_to', '5af8e1e925ca879e'],
  ['0012_causes', 'b9e7231387e1e3e6'],
  ['0013_names', 'd10a405ea44d3250'],
  ['0014_deliveries', 'cf4962698191b826'],
  ['0016_links', '13ef74f6adb752f4'],
  ['0017_manners', 'ece24120f1b1c308'],
  ['0018_slices', 'bdff46b91265dcb4'],
  ['0019_subscriptions', '11c54740a9e3a6bd'],
  ['0020_langgraph_crons', 'ea9bf2b33ba84a27'],
  ['0025_mcp_sources', '8e3b4b29962536a4'],
  ['0026_leases', '32de540cfcb4a91d'],
  ['0028_questions', 'cd4b2105a3d0e9d1'],
  ['0029_limits', '7e0603fc8a990a2f'],
  ['0030_timers', '1698ea1ee7a26577'],
]

async function mark(db: Db, marks: typeof REPLACED): Promise<void> {
  for (const [name, checksum] of marks)
    await db.query('insert into wakeful.migrations (version, name, checksum) values ($1, $2, $3)', [
      Number(name.slice(0, 4)),
      name,
      checksum,
    ])
}

const applied = async (db: Db, all = ALL) =>
  (await migrationStatus(db, all)).filter((state) => state.appliedAt !== null).map((s) => s.name)

it('where it is only checked, a directory without a store is a mistake in its name', () => {
  expect(() => refuseFresh('pglite:/nowhere/data', 'check')).toThrow(/no store in \/nowhere\/data/)
  refuseFresh('pglite:/nowhere/data', 'auto')
  refuseFresh('postgres://somewhere/db', 'check')
  refuseFresh('memory:', 'check')
})

eachStore('migrations', (store) => {
  const empty = async () => {
    const { db } = await emptiedStore(store)
    await db.exec('drop schema if exists wakeful cascade')
    return db
  }

  it('up, down, up leave exactly the schema of the checked-in picture, and down leaves nothing behind', async () => {
    const db = await empty()
    expect(await leftovers(db)).toEqual([])
    expect(await migrateUp(db)).toEqual(NAMES)
    const text = await schemaText(db)
    if (process.env.UPDATE_SCHEMA === '1' && store.name === 'pglite') writeFileSync(PICTURE, text)
    const picture = existsSync(PICTURE) ? readFileSync(PICTURE, 'utf8') : ''
    expect(text, REGENERATE).toBe(picture)
    expect(await migrateUp(db)).toEqual([])

    expect(await migrateDown(db)).toEqual([...NAMES].reverse())
    expect(await leftovers(db)).toEqual([])
    expect(await migrateDown(db)).toEqual([])

    expect(await migrateUp(db)).toEqual(NAMES)
    expect(await schemaText(db), REGENERATE).toBe(picture)
  })

  it('where it is only checked, what is missing stops a start, and nothing is changed', async () => {
    const db = await empty()
    await expect(ensureMigrated(db, 'check')).rejects.toThrow(
      /the database lacks 0001_baseline, .*: run "wakeful migrate up" first/,
    )
    expect(await leftovers(db)).toEqual([])
    await migrateUp(db, ALL.slice(0, -1))
    const lacking = new RegExp(`lacks ${NAMES.at(-1)}:`)
    await expect(ensureMigrated(db, 'check')).rejects.toThrow(lacking)
    expect(await applied(db)).toEqual(NAMES.slice(0, -1))
    expect(await ensureMigrated(db, 'auto')).toEqual(NAMES.slice(-1))
    expect(await ensureMigrated(db, 'check')).toEqual([])
  })

  it('what a newer version has migrated stops the start of an older one with one clear line, and nothing is changed', async () => {
    const { db } = await bareStore(await store.database())
    const before = await db.query('select * from wakeful.migrations order by version')
    for (const mode of ['auto', 'check'] as const)
      await expect(ensureMigrated(db, mode, ALL.slice(0, -1))).rejects.toThrow(
        `the database was migrated by a newer version of Wakeful (${NAMES.at(-1)}): start that one, or take it back there with "wakeful migrate down --steps 1 --yes"`,
      )
    expect(await db.query('select * from wakeful.migrations order by version')).toEqual(before)
  })

  it('every single step down and up again is the inverse of the other', async () => {
    const db = await empty()
    const pictures = ['']
    for (let upTo = 1; upTo <= ALL.length; upTo++) {
      await migrateUp(db, ALL.slice(0, upTo))
      pictures.push(await schemaText(db))
    }
    for (let left = ALL.length - 1; left >= 1; left--) {
      expect(await migrateDown(db, 1)).toEqual([NAMES[left]])
      expect(await schemaText(db)).toBe(pictures[left])
    }
  })

  it('a database with the migrations that the baseline replaces is adopted with its rows, and nothing is made twice', async () => {
    const db = await empty()
    await migrateUp(db, ALL.slice(0, 1))
    await db.query('delete from wakeful.migrations')
    await mark(db, REPLACED)
    await db.exec(`
      insert into wakeful.work (bucket, id, task, agent_type, user_id, frequency, anchor_at, is_active, notify_session, created_at, updated_at)
      values (1, gen_random_uuid(), 't', 'echo', 'ann', 'once', now(), false, 'ann:bot:t', now(), now())`)
    await expect(ensureMigrated(db, 'check')).rejects.toThrow('the database lacks 0001_baseline:')
    expect(await migrateUp(db)).toEqual(NAMES.slice(1))
    expect(await applied(db)).toEqual(NAMES)
    expect(await schemaText(db)).toBe(readFileSync(PICTURE, 'utf8'))
    expect(await db.query('select task, agent_id from wakeful.work')).toEqual([
      { task: 't', agent_id: 'bot' },
    ])
    expect(await migrateUp(db)).toEqual([])
  })

  it('a database with some of the replaced migrations is refused, and nothing is changed', async () => {
    const db = await empty()
    await migrateUp(db, ALL.slice(0, 1))
    await db.query('delete from wakeful.migrations')
    await mark(db, REPLACED.slice(0, -1))
    for (const run of [migrateUp, (each: Db) => ensureMigrated(each, 'auto')])
      await expect(run(db)).rejects.toThrow('migrated by a development version (29 0029_limits')
    expect(await db.query('select 1 from wakeful.migrations')).toHaveLength(REPLACED.length - 1)
  })

  it('a step down takes back the newest that is applied, not the newest that is known', async () => {
    const db = await empty()
    const [first, ...rest] = ALL
    if (first === undefined) throw new Error('no migration')
    await migrateUp(db, [first])
    expect(rest.length).toBeGreaterThan(0)
    expect(await migrateDown(db, 1)).toEqual([first.name])
  })

  it('a migration that fails midway leaves nothing of itself, and the next attempt completes', async () => {
    const db = await empty()
    await migrateUp(db)
    const before = await schemaText(db)
    const broken = migration(
      9001,
      `create table wakeful.half (id int primary key);
       insert into wakeful.half values (1);
       alter table wakeful.sessions add column half int;
       insert into wakeful.half values (1);`,
    )
    await expect(migrateUp(db, [...ALL, broken])).rejects.toMatchObject({ code: '23505' })
    expect(await schemaText(db)).toBe(before)
    expect(await applied(db, [...ALL, broken])).toEqual(NAMES)
    const mended = migration(
      9001,
      'create table wakeful.half (id int primary key)',
      'drop table wakeful.half',
    )
    expect(await migrateUp(db, [...ALL, mended])).toEqual([mended.name])
    expect(await migrateDown(db, 1, [...ALL, mended])).toEqual([mended.name])
    expect(await schemaText(db)).toBe(before)
  })

  it('a down that fails midway leaves everything, also its mark', async () => {
    const db = await empty()
    const stubborn = migration(
      9001,
      'create table wakeful.stubborn (id int)',
      'drop table wakeful.stubborn; drop table wakeful.not_there',
    )
    await migrateUp(db, [...ALL, stubborn])
    const before = await schemaText(db)
    await expect(migrateDown(db, 1, [...ALL, stubborn])).rejects.toMatchObject({ code: '42P01' })
    expect(await schemaText(db)).toBe(before)
    expect(await applied(db, [...ALL, stubborn])).toContain(stubborn.name)
  })

  it('a file changed after it was applied is refused by name, and nothing after it is applied', async () => {
    const db = await empty()
    await migrateUp(db)
    const changed = ALL.map((each, index) => (index === 0 ? { ...each, up: `${each.up} ` } : each))
    const next = migration(9001, 'create table wakeful.later (id int)')
    await expect(migrateUp(db, [...changed, next])).rejects.toThrow(
      `migration ${NAMES[0]} was applied with other contents`,
    )
    expect(await applied(db, [...ALL, next])).toEqual(NAMES)
  })

  it('a table that a down file forgot stops the removal of the schema instead of vanishing', async () => {
    const db = await empty()
    const forgetful = migration(9001, 'create table wakeful.forgotten (id int)')
    await migrateUp(db, [...ALL, forgetful])
    await expect(migrateDown(db, undefined, [...ALL, forgetful])).rejects.toMatchObject({
      code: '2BP01',
    })
    expect(await leftovers(db)).toContain('relation wakeful.forgotten')
  })
})

it('several processes that migrate one PostgreSQL at once apply each migration once', async () => {
  const url = await emptyDatabase()
  const stores = await Promise.all(Array.from({ length: 4 }, () => rawStore(url)))
  const done = await Promise.all(stores.map(({ db }) => migrateUp(db)))
  expect(done.flat().sort()).toEqual(NAMES)
  const [first] = stores
  if (first === undefined) throw new Error('no store')
  const marks = await first.db.query<{ version: number }>('select version from wakeful.migrations')
  expect(marks).toHaveLength(NAMES.length)
  expect(await schemaText(first.db)).toBe(
    await schemaText((await bareStore(await emptyDatabase())).db),
  )
})

it('every migration has a down file and a version of its own', () => {
  expect(new Set(ALL.map((each) => each.version)).size).toBe(ALL.length)
  for (const each of ALL) expect(each.down.trim(), each.name).not.toBe('')
})
