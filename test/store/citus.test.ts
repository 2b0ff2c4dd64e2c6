/** How statements are said on Citus: the same ones, in forms that it runs on the node that has the rows. */
import { expect, it } from 'vitest'
import { timerTrigger } from '../../src/features/timers/trigger.ts'
import { openShards } from '../../src/store/open.ts'
import { LOCAL } from '../../src/store/reading.ts'
import { commandsOf, onItsNode } from '../../src/store/shards/citus.ts'

it('rows that are inserted are inserted by a part that gives something back, whatever is around it', () => {
  expect(onItsNode('insert into a (b) select c from unnest($1::int[]) i(c)')).toBe(
    'with put as (insert into a (b) select c from unnest($1::int[]) i(c) returning 1) select * from put',
  )
  expect(
    onItsNode(
      `with x as (update a set b = 'insert into (' returning b), y as (insert into c select 1) insert into d select f(b) from x returning e`,
    ),
  ).toBe(
    `with x as (update a set b = 'insert into (' returning b), y as (insert into c select 1 returning 1), put as (insert into d select f(b) from x returning e) select * from put`,
  )
})

it('what inserts no rows of a list stays as it is', () => {
  for (const text of [
    'select 1',
    'insert into a (b) values ($1) on conflict (b) do nothing',
    `with x as (insert into a select 1 returning b) select b from x`,
  ])
    expect(onItsNode(text)).toBe(text)
})

it('a migration comes apart into its commands, whatever is in its words and remarks', () => {
  expect(
    commandsOf(`-- one; two\ncreate table a (b text default 'x;''--y'); -- three\ndrop table a;\n`),
  ).toEqual([`create table a (b text default 'x;''--y')`, 'drop table a'])
})

it('shards behind one coordinator have connections of their own, those of a plain server share them', async () => {
  const options = { now: () => null, onError: () => undefined }
  const own = async (url: string) => {
    const stores = await openShards([url, url, url], options)
    await Promise.all(stores.map((each) => each.close()))
    return stores.map((each) => each.pools().length > 0)
  }
  const plain = 'postgres://nobody@127.0.0.1:1/none'
  expect(await own(plain)).toEqual([true, false, false])
  const spread = `${plain}?options=-c%20citus.enable_schema_based_sharding%3Don`
  expect(await own(spread)).toEqual([true, true, true])
})

it('what is said for one transaction asks for no plan without values, which Citus cannot make', () => {
  expect(Object.values(LOCAL).join()).toContain('enable_seqscan')
  expect(Object.values(LOCAL).join()).not.toContain('plan_cache_mode')
})

it('timers are promoted by their keys where rows are spread: Citus hands no place of a row on', async () => {
  let said = ''
  const query = async (text: string) => {
    said += text
    return []
  }
  const db = { kind: 'postgres', spread: true, now: () => null, query }
  await timerTrigger.promote({ ...db, tx: (work: (tx: unknown) => unknown) => work(db) } as never)
  expect(said).toContain('autonomy_timers')
  expect(said).not.toContain('ctid')
})
