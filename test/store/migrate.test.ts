/** Migrations: up, down and up again, on both stores, against the checked-in picture of the schema. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Db } from '../../src/store/db/db.ts'
import {
  ensureMigrated,
  type Migration,
  migrateDown,
  migrateUp,
  migrationStatus,
  readMigrations,
  refuseFresh,
} from '../../src/store/db/migrate.ts'
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
      /the database lacks 0001_foundation, .*: run "wakeful migrate up" first/,
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

  it('what any earlier schema holds is there after the way up: the log, who waits, and what is due', async () => {
    const db = await empty()
    const first = ALL.findIndex(({ name }) => name === '0002_sessions') + 1
    // Each schema on the way is given rows of its own, which all later steps then meet.
    const from = NAMES.slice(first - 1, -1)
    for (const [place, name] of from.entries()) {
      await migrateUp(db, ALL.slice(0, first + place))
      await db.exec(`
        insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, last_seq, done_seq, due_at, created_at, updated_at)
        values (1, 'ann:bot:${name}', 'ann', 'bot', '${name}', 2, 1, now(), now(), now());
        insert into wakeful.events (bucket, session_key, seq, id, type, payload, client_id, created_at)
        select 1, 'ann:bot:${name}', n, gen_random_uuid(), 'user_message', '{"text":"hi"}', 'm' || n, now() from generate_series(1, 2) n;
        insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
        values (1, 'ann:bot:${name}', gen_random_uuid(), 'tea', '2026-01-01T00:00:00Z', 'pending', now(), now());`)
    }
    expect(await ensureMigrated(db, 'auto')).toEqual(NAMES.slice(-1))
    const rows = (columns: string, table: string, order = '') =>
      db.query(
        `select session_key as key, ${columns} from wakeful.${table} order by session_key${order}`,
      )
    const keys = from.map((name) => `ann:bot:${name}`)
    expect(await rows('last_seq, done_seq, due_at is not null as due', 'sessions')).toEqual(
      keys.map((key) => ({ key, last_seq: 2, done_seq: 1, due: true })),
    )
    expect(await rows('seq, client_id, payload', 'events', ', seq')).toEqual(
      keys.flatMap((key) =>
        [1, 2].map((seq) => ({ key, seq, client_id: `m${seq}`, payload: '{"text":"hi"}' })),
      ),
    )
    expect(await rows('timer_id, status', 'autonomy_timers')).toEqual(
      keys.map((key) => ({ key, timer_id: 'tea', status: 'pending' })),
    )
  })

  it('the oldest schema with anything in it is brought up in one go', async () => {
    const db = await empty()
    await migrateUp(db, ALL.slice(0, 2))
    expect(await ensureMigrated(db, 'auto')).toEqual(NAMES.slice(2))
  })

  it('messages of before get their reason by what they were born of, and lose it on the way back', async () => {
    const db = await empty()
    const upTo = ALL.findIndex(({ name }) => name === '0010_reasons')
    await migrateUp(db, ALL.slice(0, upTo))
    const kinds = [null, 'timer', 'tool_result', 'alarm', 'intent', 'work']
    for (const [position, kind] of kinds.entries())
      await db.query(
        `insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status, channel,
           event_seq, autonomous, origin, created_at, updated_at)
         values (1, 'ann:bot:t', $1, gen_random_uuid(), 'c', 'send_message', '{}', 'd', 'pending', 'websocket', 1, $2, $3, now(), now())`,
        [position, kind !== null, kind === null ? null : JSON.stringify({ kind })],
      )
    const column = async (name: string) =>
      (
        await db.query<Record<string, unknown>>(
          `select ${name} from wakeful.effects order by position`,
        )
      ).map((row) => row[name])
    await migrateUp(db, ALL.slice(0, upTo + 1))
    expect(await column('reason')).toEqual([
      ...['answer', 'follow_up', 'follow_up', 'promise', 'promise', 'notice'],
    ])
    await migrateDown(db, 1, ALL.slice(0, upTo + 1))
    expect(await column('autonomous')).toEqual([false, true, true, true, true, true])
  })

  it('turns and looks of before get the code of what their words said', async () => {
    const db = await empty()
    const upTo = ALL.findIndex(({ name }) => name === '0012_causes')
    await migrateUp(db, ALL.slice(0, upTo))
    const said = [
      [null, null],
      ['not run: the alarm was cancelled before its turn began', 'withdrawn'],
      ['the work was deleted while it ran', 'deleted'],
      ['given up: the process died 3 times during this turn', 'deaths'],
      ['the agent took longer than 60000 ms', 'timeout'],
      ['I heard that the work was deleted while it ran', 'agent_error'],
    ]
    for (const [place, [error]] of said.entries())
      await db.query(
        `insert into wakeful.turns (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at, error)
         values (1, 'ann:bot:t', $1, 1, gen_random_uuid(), $2, now(), now(), $3)`,
        [place + 1, error === null ? 'committed' : 'failed', error],
      )
    // Ours, then one that a worker outside reported in the same words.
    for (const seenAt of ['2026-01-02T00:00:00Z', null])
      await db.query(
        `insert into wakeful.intent_executions (bucket, id, user_id, executed_at, trigger_type, status, error_message, last_seen_at)
         values (1, gen_random_uuid(), 'ann', '2026-01-02T00:00:00Z', 'price', 'condition_not_met', 'expires_at passed', $1)`,
        [seenAt],
      )
    await migrateUp(db, ALL.slice(0, upTo + 1))
    expect(await db.query('select cause from wakeful.turns order by event_seq')).toEqual(
      said.map(([, cause]) => ({ cause })),
    )
    expect(
      await db.query('select cause from wakeful.intent_executions order by last_seen_at'),
    ).toEqual([{ cause: 'expired' }, { cause: null }])
  })

  it('sessions that chats were linked to are pushed there from then on', async () => {
    const db = await empty()
    const upTo = ALL.findIndex(({ name }) => name === '0011_pushed_to')
    await migrateUp(db, ALL.slice(0, upTo))
    for (const thread of ['linked', 'alone'])
      await db.query(
        `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
         values (1, 'ann:bot:' || $1, 'ann', 'bot', $1, now(), now())`,
        [thread],
      )
    await db.query(
      `insert into wakeful.telegram_links (bucket, session_key, user_id, chat_id, created_at)
       values (1, 'ann:bot:linked', 'ann', 4242, now())`,
    )
    await migrateUp(db, ALL.slice(0, upTo + 1))
    expect(
      await db.query('select thread_id, pushed_to from wakeful.sessions order by thread_id'),
    ).toEqual([
      { thread_id: 'alone', pushed_to: null },
      { thread_id: 'linked', pushed_to: 'telegram:4242' },
    ])
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
