/** Invariant: what a statement takes is said once; numbers, types and values follow from it. */
import { expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { NOW } from '../../src/store/due.ts'
import { rows, rowsOf, statement } from '../../src/store/statement.ts'
import { eachStore } from '../setup/stores.ts'
import { emptiedStore } from './stores.ts'

const AT = new Date('2026-11-16T17:00:00.000Z')
const clock: Pick<Db, 'now'> = { now: () => AT }

const list = rows({ bucket: 'smallint', eventId: 'uuid', note: 'text?' })
const row = { bucket: 1, eventId: 'a', note: null }

it('numbers parameters from 2 where the text needs the time, which is $1', () => {
  const timed = statement({ i: list, limit: 'int' }, ({ i, limit }) => `${NOW} ${i} ${limit}`)
  expect(timed.text).toBe(
    `${NOW} unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, event_id, note) $5::int`,
  )
  expect(timed.values(clock, { i: [row], limit: 7 })).toEqual([AT, [1], ['a'], [null], 7])
})

it('numbers them from 1 where it does not', () => {
  const timeless = statement({ limit: 'int', i: list }, ({ i, limit }) => `${i} ${limit}`)
  expect(timeless.text).toBe(
    'unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, event_id, note) $1::int',
  )
  expect(timeless.values(clock, { limit: 7, i: [row] })).toEqual([7, [1], ['a'], [null]])
})

it('sends a parameter once, however often it stands in the text', () => {
  const twice = statement({ id: 'uuid', i: list }, ({ id, i }) => `${id} ${i} ${id} ${i}`)
  expect(twice.text.match(/\$\d/g)).toEqual(['$1', '$2', '$3', '$4', '$1', '$2', '$3', '$4'])
  expect(twice.values(clock, { id: 'x', i: [] })).toEqual(['x', [], [], []])
})

it('finds the values of columns in whatever the rows are made from', () => {
  const lengths = statement(
    {
      w: rowsOf<string>({
        word: ['text', (word) => word],
        length: ['int', (word) => word.length],
        last: ['text?', (word) => word.at(-1) ?? null],
      }),
    },
    ({ w }) => `select * from ${w}`,
  )
  expect(lengths.values(clock, { w: ['one', ''] })).toEqual([
    ['one', ''],
    [3, 0],
    ['e', null],
  ])
})

it('says which lists may have rows, so that parts about none of them are left out', async () => {
  const asked: unknown[][] = []
  const db = { now: () => AT, query: async (...args: unknown[]) => asked.push(args) }
  const parts = statement(
    { i: list, c: rows({ n: 'int' }) },
    ({ i, c }, has) => `${i}${has.c ? ` and ${c}` : ''}`,
  )
  const many = 'unnest($1::smallint[], $2::uuid[], $3::text[]) i(bucket, event_id, note)'
  const one = '(select $1::smallint, $2::uuid, $3::text) i(bucket, event_id, note)'
  await parts.run(db as unknown as Db, { i: [row], c: [] })
  await parts.run(db as unknown as Db, { i: [row], c: [{ n: 7 }] })
  await parts.run(db as unknown as Db, { i: [row, row], c: [] })
  expect(asked).toEqual([
    [one, [1, 'a', null]],
    [`${one} and (select $4::int) c(n)`, [1, 'a', null, 7]],
    [`${many} and unnest($4::int[]) c(n)`, [[1, 1], ['a', 'a'], [null, null], []]],
  ])
})

it('knows the types of what it takes', () => {
  const s = statement({ i: list, at: 'timestamptz', ids: 'uuid[]', name: 'text?' }, () => '')
  s.values(clock, { i: [row], at: AT, ids: ['a'], name: null })
  // @ts-expect-error: a member is missing.
  s.values(clock, { i: [row], at: AT, ids: ['a'] })
  // @ts-expect-error: this one may not be null.
  s.values(clock, { i: [row], at: null, ids: [], name: null })
  // @ts-expect-error: of strings.
  s.values(clock, { i: [row], at: AT, ids: [1], name: null })
  // @ts-expect-error: no number is a text.
  s.values(clock, { i: [{ ...row, note: 1 }], at: AT, ids: [], name: null })
  // @ts-expect-error: nor may a column be left out.
  s.values(clock, { i: [{ bucket: 1, note: null }], at: AT, ids: [], name: null })
  // @ts-expect-error: there is no such type.
  rows({ bucket: 'smallish' })
  // @ts-expect-error: the accessor answers with another type.
  rowsOf<string>({ length: ['text', (word) => word.length] })
  // @ts-expect-error: there is no such parameter.
  statement({ limit: 'int' }, ({ most }) => `${most}`)
  expect(s.text).toBe('')
})

eachStore('a statement on its store', (under) => {
  const all = statement(
    {
      i: rows({
        small: 'smallint',
        big: 'bigint',
        share: 'float8?',
        yes: 'boolean',
        text: 'text?',
        json: 'json?',
        at: 'timestamptz?',
        bytes: 'bytea?',
      }).numbered('place'),
      many: 'text[]',
      none: 'json?',
    },
    ({ i, many, none }) => `select i.*, ${many} as many, ${none} as none from ${i} order by place`,
  )
  const full = { small: 3, big: 2 ** 40, share: 0.5, yes: true }
  const said = { text: '"quoted", {braces} \\ NULL', json: '{"a" : [1,  2]}', at: AT }
  const empty = { small: 0, big: 0, share: null, yes: false, text: '' }

  it('brings every type there and back, nulls and the text of JSON as they were', async () => {
    const bytes = new Uint8Array([0, 92, 255])
    const found = await all.run((await emptiedStore(under)).db, {
      i: [
        { ...full, ...said, bytes },
        { ...empty, json: null, at: null, bytes: null },
      ],
      many: ['a', 'b"'],
      none: null,
    })
    const rest = { many: ['a', 'b"'], none: null }
    expect(found).toEqual([
      { ...full, ...said, bytes: Buffer.from(bytes), place: 1, ...rest },
      { ...empty, json: null, at: null, bytes: null, place: 2, ...rest },
    ])
  })

  it('finds no rows in an empty list', async () => {
    expect(await all.run((await emptiedStore(under)).db, { i: [], many: [], none: null })).toEqual(
      [],
    )
  })
})
