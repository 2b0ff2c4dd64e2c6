/** Many rows out of one that the product wrote: for lists of a length that requests would not make in time. */
import type { Db } from '../../src/store/db.ts'

interface Wanted {
  readonly table: string
  /** Which row is copied, named `a`. */
  readonly where: string
  /** From the first to the last of the numbers `n`. */
  readonly numbers: readonly [number, number]
  /** What differs from it, in SQL. */
  readonly changes: Readonly<Record<string, string>>
}

export async function insertCopies(query: Db['query'], wanted: Wanted): Promise<void> {
  const { table, where, numbers, changes } = wanted
  const columns = await query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = 'wakeful.${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  )
  const names = columns.map(({ name }) => `"${name}"`)
  const values = columns.map(({ name }) => changes[name] ?? `a."${name}"`)
  await query(
    `insert into wakeful.${table} (${names.join(', ')})
     select ${values.join(', ')} from wakeful.${table} a cross join generate_series(${numbers.join(', ')}) n
     where ${where}`,
  )
}
