/** Invariant: a statement's rows are what its connection says they are, though it is asked only once. */
import pg from 'pg'
import { afterEach, expect, it, vi } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { openStore } from '../../src/store/open.ts'
import { eachStore } from '../setup/stores.ts'
import { emptiedStore } from './stores.ts'

afterEach(() => void vi.restoreAllMocks())

/** How often each message went out while `work` ran. */
async function sent(work: () => Promise<unknown>) {
  const [parse, describe] = (['parse', 'describe'] as const).map((name) =>
    vi.spyOn(pg.Connection.prototype, name),
  )
  await work()
  return { parse: parse?.mock.calls.length, describe: describe?.mock.calls.length }
}

eachStore('a statement under its name', (store) => {
  const open = async (work: (db: Db) => Promise<void>) => {
    const { commits } = await emptiedStore(store)
    await work(commits)
  }

  it('is parsed and described once, and reads every row alike', () =>
    open(async (db) => {
      const text = `select n, case when n > 1 then 'more' end as word, n = 2 as two from generate_series(1, $1::int) n`
      const look = (most: number) => db.query(text, [most])
      const rows = [
        { n: 1, word: null, two: false },
        { n: 2, word: 'more', two: true },
      ]
      await db.tx(async (tx) => {
        const asked = await sent(async () => {
          for (const most of [0, 2, 1, 2])
            expect(await tx.query(text, [most])).toEqual(rows.slice(0, most))
        })
        expect(asked).toEqual({ parse: 1, describe: 1 })
      })
      expect(await look(2)).toEqual(rows)
    }))

  it('takes text, numbers, flags, instants, bytes and nothing', () =>
    open(async (db) => {
      const at = new Date('2026-11-17T21:30:00.123Z')
      const given = ['"é" \\ ', 7, -1.5, true, at, Buffer.from([0, 255, 92]), null]
      const text =
        'select $1::text a, $2::int b, $3::float8 c, $4::boolean d, $5::timestamptz e, $6::bytea f, $7::text g'
      for (let time = 0; time < 2; time++) {
        const [row] = await db.query(text, given)
        expect(Object.values(row ?? {})).toEqual(given)
      }
      await expect(db.query('select $1::json', [{ not: 'text' }])).rejects.toThrow(TypeError)
    }))

  it('is as good as new after it has failed, be it while it was parsed, bound or run', () =>
    open(async (db) => {
      const over = 'select 10 / $1::int as many'
      await expect(db.query(over, [0])).rejects.toThrow('division by zero')
      await expect(db.query(over, ['x'])).rejects.toThrow('invalid input syntax')
      expect(await db.query(over, [5])).toEqual([{ many: 2 }])
      await expect(db.query(over, [0])).rejects.toThrow('division by zero')
      expect(await db.query(over, [2])).toEqual([{ many: 5 }])
      const later = 'select kept from query_test'
      await expect(db.query(later)).rejects.toThrow('does not exist')
      await db.exec('create table query_test (kept int)')
      expect(await db.query(later)).toEqual([])
      await db.exec('insert into query_test values (3)')
      expect(await db.query(later)).toEqual([{ kept: 3 }])
      await db.exec('drop table query_test')
    }))

  it('may have no rows to describe', () =>
    open(async (db) => {
      await db.exec('create table query_test (kept int)')
      const add = 'insert into query_test values ($1::int)'
      for (const n of [1, 2, 3]) expect(await db.query(add, [n])).toEqual([])
      expect(await db.query('select sum(kept)::int as all from query_test')).toEqual([{ all: 6 }])
      await db.exec('drop table query_test')
    }))

  // An embedded store is opened by one process at a time.
  if (store.name !== 'postgres') return

  it('is described anew by each connection: a table may have changed in between', async () => {
    const database = await store.database()
    const everything = 'select * from query_test'
    const [first, second] = await Promise.all(
      [1, 2].map(() => openStore(database, { now: () => null, onError: () => undefined })),
    )
    if (!first || !second) return
    await first.commits.exec(
      'create table query_test (kept int); insert into query_test values (1)',
    )
    expect(await first.commits.query(everything)).toEqual([{ kept: 1 }])
    await second.commits.exec(`alter table query_test add column also text default 'new'`)
    expect(await second.commits.query(everything)).toEqual([{ kept: 1, also: 'new' }])
    await Promise.all([first.close(), second.close()])
  })
})
