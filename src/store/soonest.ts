/** When something is due at all, in one question: for a clock that is moved from one such instant to the next. */
import type { Db } from './db.ts'
import type { DueTable } from './due.ts'

/** Of each table the soonest instant a row wants attention, also where it has passed; null where none does. */
export async function soonestDue(db: Db, tables: readonly DueTable[]): Promise<(Date | null)[]> {
  const columns = tables.map(
    ({ name, live, due }, place) =>
      `(select n.${due} from ${name} n where ${live} order by n.${due} limit 1) as d${place}`,
  )
  const [row] = await db.query<Record<string, Date | null>>(`select ${columns}`)
  return tables.map((_, place) => row?.[`d${place}`] ?? null)
}
