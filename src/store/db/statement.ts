/**
 * Statements with named parameters. A statement says once which lists of rows and which single values it takes; from that
 * come the `unnest` with its types, the values in their order, and the type of a row. What is written in SQL stays SQL:
 *
 *     const MARK = statement({ i: rows({ bucket: 'smallint', id: 'uuid', error: 'text?' }), status: 'text' }, ({ i, status }) =>
 *       `update wakeful.alarms a set status = ${status}, last_error = i.error, updated_at = ${NOW} from ${i} where …`)
 *     await MARK.run(tx, { i: [{ bucket, id, error: null }], status: 'failed' })
 *
 * `${i}` becomes `unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, id, error)`, as often as it stands there.
 */
import type { SqlValues as Values } from '../../core/columns.ts'
import type { Db, Row } from './db.ts'

type Type = keyof Values
/** A question mark: may be null. */
type Nullable = `${Type}?`
type Value<T extends Type | Nullable> = T extends `${infer B extends Type}?`
  ? Values[B] | null
  : Values[T & Type]

interface Column<S> {
  readonly name: string
  readonly type: string
  readonly of: (source: S) => unknown
}

/** A list of rows as a parameter of a statement. */
export class List<S> {
  readonly columns: readonly Column<S>[]

  constructor(columns: readonly Column<S>[]) {
    this.columns = columns
  }
}

/** What a list takes for each row. */
export type RowOf<L> = L extends List<infer S> ? S : never

/** Rows whose members have the names of the columns. */
export function rows<const C extends Readonly<Record<string, Type | Nullable>>>(
  columns: C,
): List<{ readonly [K in keyof C]: Value<C[K]> }> {
  return new List(
    Object.entries(columns).map(([name, type]) => ({
      name,
      type: type.replace('?', ''),
      of: (source) => source[name],
    })),
  )
}

type Read<S> = { readonly [T in Type | Nullable]: readonly [T, (source: S) => Value<T>] }[
  | Type
  | Nullable]

/** Rows out of something else: each column says where it is found, so that nothing is copied on the way. */
export function rowsOf<S>(columns: Readonly<Record<string, Read<S>>>): List<S> {
  return new List(
    Object.entries(columns).map(([name, [type, of]]) => ({
      name,
      type: type.replace('?', ''),
      of: of as (source: S) => unknown,
    })),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: a list of whatever; each statement says of what.
type Takes = Readonly<Record<string, List<any> | Type | Nullable>>

type Given<P extends Takes> = {
  readonly [K in keyof P]: P[K] extends List<infer S>
    ? readonly S[]
    : P[K] extends Type | Nullable
      ? Value<P[K]>
      : never
}

export interface Statement<P extends Takes> {
  readonly text: string
  values(db: Pick<Db, 'now'>, given: Given<P>): unknown[]
  run<R extends object = Row>(db: Db, given: Given<P>): Promise<R[]>
}

/** `NOW` in the text is $1, the injected instant; a text without it has no such parameter. */
export function statement<const P extends Takes>(
  takes: P,
  write: (names: { readonly [K in keyof P]: string }) => string,
): Statement<P> {
  const timed = write(named(takes, 2))
  const needsNow = timed.includes('$1::')
  const text = needsNow ? timed : write(named(takes, 1))
  const readers = Object.entries(takes)
  const values = (db: Pick<Db, 'now'>, given: Given<P>) => {
    const all: unknown[] = needsNow ? [db.now()] : []
    for (const [name, takes] of readers) {
      if (takes instanceof List) columnsOf(takes, given[name] as readonly unknown[], all)
      else all.push(given[name])
    }
    return all
  }
  return { text, values, run: (db, given) => db.query(text, values(db, given)) }
}

function columnsOf(list: List<unknown>, sources: readonly unknown[], into: unknown[]): void {
  for (const { of } of list.columns) into.push(sources.map(of))
}

/** How each parameter is called in the text, from number `first` on. */
function named<P extends Takes>(takes: P, first: number): { readonly [K in keyof P]: string } {
  let next = first
  const names = Object.entries(takes).map(([name, takes]) => {
    if (!(takes instanceof List)) return [name, `$${next++}::${takes.replace('?', '')}`]
    const types = takes.columns.map(({ type }) => `$${next++}::${type}[]`)
    return [
      name,
      `unnest(${types.join(', ')}) ${name}(${takes.columns.map((c) => c.name).join(', ')})`,
    ]
  })
  return Object.fromEntries(names)
}
