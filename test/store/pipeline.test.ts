/** Invariants 12 and 14 where reads of many requests share one round trip. */
import { expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { ownedBy, readingOf } from '../../src/store/owned.ts'
import { eachStore } from '../setup/stores.ts'
import { bareStore } from './stores.ts'

const OWNER = `select current_user::text as role, current_setting('wakeful.owner', true) as owner, current_setting('wakeful.agent', true) as agent,
  pg_backend_pid() as pid`

interface Seen {
  readonly role: string
  readonly owner: string | null
  readonly agent: string | null
  readonly pid: number
}

const ok = (db: Db, n: number) => db.query<{ n: number }>('select $1::int as n', [n])

eachStore('reads that are asked together', (store) => {
  it('share a round trip on PostgreSQL alone, each as its owner, who is gone afterwards', async () => {
    const { db, kind } = await bareStore(await store.database())
    const everybody = readingOf(db)
    expect(everybody !== null).toBe(kind === 'postgres' && store.name !== 'citus')
    if (everybody === null) return
    const owners = ['ann', 'bea', 'ann', 'cat'].map((user) => readingOf(ownedBy(db, user)) ?? db)
    const bound = readingOf(ownedBy(db, 'ann', 'bot')) ?? db
    const asked = [bound, ...owners, everybody].map((on) => on.query<Seen>(OWNER))
    const seen = (await Promise.all(asked)).map(([row]) => row)
    expect(seen.map((row) => [row?.owner ?? '', row?.agent ?? ''])).toEqual([
      ['ann', 'bot'],
      ...['ann', 'bea', 'ann', 'cat'].map((user) => [user, '']),
      ['', ''],
    ])
    expect(seen.slice(0, 5).every((row) => row?.role === 'wakeful_owner')).toBe(true)
    expect(new Set(seen.map((row) => row?.pid)).size).toBe(1)
    const engine = seen[5]?.role
    for (const on of [db, everybody]) {
      const [after] = await on.query<Seen>(OWNER)
      expect([after?.role, after?.owner ?? '', after?.agent ?? '']).toEqual([engine, '', ''])
    }
  })

  it.each([
    ['is wrong', 'select 1 / $1::int as n', 0, '22012'],
    ['does not exist', 'select nothing as n, $1::int', 0, '42703'],
    [
      'was cancelled',
      'select pg_cancel_backend(pg_backend_pid()) as n, pg_sleep($1::int)',
      60,
      '57014',
    ],
    [
      'lost its connection',
      'select pg_terminate_backend(pg_backend_pid()) as n, pg_sleep($1::int)',
      60,
      '57P01',
    ],
  ])('an error is told to who asked: what %s', async (_, text, value, code) => {
    const { db } = await bareStore(await store.database())
    const on = readingOf(ownedBy(db, 'ann'))
    const all = readingOf(db)
    if (on === null || all === null) return
    const wrong = () => all.query(text, [value])
    const asked = [ok(all, 1), ok(on, 2), wrong(), ok(on, 3), wrong(), ok(on, 4), ok(all, 5)]
    const settled = await Promise.allSettled(asked)
    expect(
      settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code)),
    ).toEqual([[{ n: 1 }], [{ n: 2 }], code, [{ n: 3 }], code, [{ n: 4 }], [{ n: 5 }]])
    // The names of statements are known on the connections that are left.
    expect(await Promise.all([ok(on, 6), ok(all, 7), ok(db, 8)])).toEqual([
      [{ n: 6 }],
      [{ n: 7 }],
      [{ n: 8 }],
    ])
  })

  it('write nothing', async () => {
    const { db } = await bareStore(await store.database())
    const on = readingOf(db)
    if (on === null) return
    const write = on.query(`insert into wakeful.settings (key, value) values ('a', 'b')`)
    await expect(write).rejects.toMatchObject({ code: '25006' })
    expect(await db.query(`select 1 from wakeful.settings where key = 'a'`)).toEqual([])
  })
})
