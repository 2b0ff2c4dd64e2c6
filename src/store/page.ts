/** How resources read a table: one row by its id, or a page of rows, newest first, of one owner or of everybody. */
import { bucketOf } from '../core/session.ts'
import type { Db } from './db.ts'
import { NOW, type Place, placeOf } from './due.ts'

export interface Table<R> {
  /** With an alias: `wakeful.work w`. */
  readonly from: string
  readonly columns: string
  /** Holds for every row that is shown. */
  readonly where?: string
  /** The instant a list is ordered by; `created_at` by default. */
  readonly at?: string
  /** For the compiler alone. */
  readonly row?: R
}

/**
 * Each is a column or an expression and the value it must have; null and undefined are no condition. A `$` in an expression stands for
 * the value. The text has only the conditions that apply, so that the planner sees which index fits.
 */
export type Where = Readonly<Record<string, unknown>>

export interface PageQuery {
  /** Null: everybody's. */
  readonly owner?: string | null
  readonly where?: Where
  readonly after?: readonly [string, string] | null | undefined
  readonly limit: number
}

const ofOwner = (owner: string | null | undefined): Where =>
  owner === null || owner === undefined ? {} : { bucket: bucketOf(owner), user_id: owner }

/** Without its limit, which is the last value. */
export function pageText<R>(
  db: Db,
  table: Table<R>,
  { owner, where, after, limit }: PageQuery,
): { text: string; values: unknown[] } {
  const at = table.at ?? 'created_at'
  const { text, values } = select(db, table, { ...ofOwner(owner), ...where }, placeOf(at))
  const behind =
    after === null || after === undefined
      ? ''
      : ` and (${at}, id) < ($${values.push(after[0])}::timestamptz, $${values.push(after[1])}::uuid)`
  values.push(limit)
  return { text: `${text}${behind} order by ${at} desc, id desc`, values }
}

export async function readPage<R extends object>(
  db: Db,
  table: Table<R>,
  query: PageQuery,
): Promise<(R & Place)[]> {
  const { text, values } = pageText(db, table, query)
  return db.query<R & Place>(`${text} limit $${values.length}::int`, values)
}

/** Null for an unknown id or another owner's. `lock` holds it until the end of the transaction. */
export async function readOne<R extends object>(
  db: Db,
  table: Table<R>,
  { owner, where, id, lock }: Omit<PageQuery, 'limit'> & { id: string; lock?: boolean },
): Promise<R | null> {
  const wanted = { 'id = $::uuid': id, ...ofOwner(owner), ...where }
  const { text, values } = select(db, table, wanted)
  const [row] = await db.query<R>(`${text}${lock ? ' for update' : ''}`, values)
  return row ?? null
}

function select<R>(db: Db, table: Table<R>, where: Where, more?: string) {
  const columns = more === undefined ? table.columns : `${table.columns}, ${more}`
  const fixed = `select ${columns} from ${table.from} where ${table.where ?? 'true'}`
  const values: unknown[] = fixed.includes(NOW) ? [db.now()] : []
  const conditions = Object.entries(where).flatMap(([name, value]) => {
    if (value === null || value === undefined) return []
    const place = `$${values.push(value)}`
    return name.includes('$') ? name.replace('$', place) : `${name} = ${place}`
  })
  return { text: [fixed, ...conditions].join(' and '), values }
}
