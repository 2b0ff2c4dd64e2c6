/**
 * Embedded stores in memory are used again, also by later files of the same worker: opening one takes half a second, emptying one a few
 * milliseconds. A test sees what it would see in a new one, as on PostgreSQL, where it gets a copy of a template:
 * tables empty, session settings as at the start. One whose schema a test has changed is not used again.
 */
import type { PGlite, PGliteOptions } from '@electric-sql/pglite'
import { vi } from 'vitest'

const KEPT = ['migrations']
const free: Used[] = []

interface Used {
  readonly lite: PGlite
  readonly close: () => Promise<void>
  readonly shape: string
}

/** Everything that was created has an oid; what was dropped is no longer counted. */
async function shapeOf(lite: PGlite): Promise<string> {
  const { rows } = await lite.query(
    `select (select (count(*), max(oid::int8))::text from pg_class) as tables, (select (count(*), max(oid::int8))::text from pg_proc) as functions,
       (select (count(*), max(oid::int8))::text from pg_constraint) as constraints, (select (count(*), max(oid::int8))::text from pg_policy) as policies,
       (select count(*) from pg_attribute) as columns, (select (count(*), max(oid::int8))::text from pg_roles) as roles,
       (select count(*) from wakeful.migrations) as migrations`,
  )
  return JSON.stringify(rows)
}

async function emptied({ lite, shape }: Used): Promise<boolean> {
  // One at a time: several statements in one call are one transaction.
  for (const text of ['rollback', 'set session authorization default', 'discard all'])
    await lite.exec(text)
  const { rows } = await lite.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'wakeful' and c.relkind in ('r', 'p') and not c.relname = any($1)`,
    [KEPT],
  )
  const looks = rows.map(
    ({ name }) => `select '${name}' as name where exists (select 1 from wakeful.${name})`,
  )
  const filled = (await lite.query<{ name: string }>(looks.join(' union all '))).rows
  if (filled.length > 0)
    await lite.exec(`truncate ${filled.map(({ name }) => `wakeful.${name}`).join(', ')} cascade`)
  return (await shapeOf(lite)) === shape
}

vi.mock('@electric-sql/pglite', async (original) => {
  const real = await original<typeof import('@electric-sql/pglite')>()
  const create = async (options: PGliteOptions): Promise<PGlite> => {
    if (options.dataDir !== undefined || options.loadDataDir === undefined)
      return real.PGlite.create(options)
    const again = free.pop()
    if (again !== undefined) return again.lite
    const lite: PGlite = await real.PGlite.create(options)
    const close = lite.close.bind(lite)
    const used = { lite, close, shape: await shapeOf(lite) }
    lite.close = async () => {
      if (await emptied(used)) free.push(used)
      else await close()
    }
    return lite
  }
  const { defaultStartParams } = real.PGlite
  return { ...real, PGlite: { create, defaultStartParams } }
})

/** Read once by each worker: unpacking it takes a fifth of a second, and those that are used again need none of it. */
vi.mock('../../src/store/pglite.ts', async (original) => {
  const real = await original<typeof import('../../src/store/pglite.ts')>()
  let kept: Promise<Blob | null> | undefined
  return { ...real, preparedBlob: () => (kept ??= real.preparedBlob()) }
})
