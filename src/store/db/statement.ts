/**
 * Statements with named parameters. A statement says once which lists of rows and which single values it takes; from that
 * come the `unnest` with its types, the values in their order, and the type of a row. What is written in SQL stays SQL:
 *
 *     const MARK = statement({ i: rows({ bucket: 'smallint', id: 'uuid', lastError: 'text?' }), status: 'text' }, ({ i, status }) =>
 *       `update wakeful.alarms a set status = ${status}, last_error = i.last_error, updated_at = ${NOW} from ${i} where …`)
 *     await MARK.run(tx, { i: [{ bucket, id, lastError: null }], status: 'failed' })
 *
 * `${i}` becomes `unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, id, last_error)`, as often as it stands there.
 */
import type { SqlValues } from '../../core/columns.ts'
import type { Db, Row } from './db.ts'

interface Values extends Omit<SqlValues, 'timestamptz'> {
  /** As text it keeps the microseconds that a cursor needs and a `Date` has no place for. */
  timestamptz: Date | string
}

type Type = keyof Values
/** A question mark: may be null. */
type Nullable = `${Type}?`
/** Several values as one parameter, for `= any(…)`. */
type Several = `${Type}[]`
type Value<T extends Type | Nullable | Several> = T extends `${infer B extends Type}?`
  ? Values[B] | null
  : T extends `${infer B extends Type}[]`
    ? readonly Values[B][]
    : Values[T & Type]

interface Column<S> {
  readonly name: string
  readonly type: string
  readonly of: (source: S) => unknown
}

/** A list of rows as a parameter of a statement. */
export class List<S> {
  readonly columns: readonly Column<S>[]
  /** The name of one more column that counts the rows from 1. */
  readonly place: string | undefined

  constructor(columns: readonly Column<S>[], place?: string) {
    this.columns = columns
    this.place = place
  }

  numbered(place: string): List<S> {
    return new List(this.columns, place)
  }
}

/** What a list takes for each row. */
export type RowOf<L> = L extends List<infer S> ? S : never

/** Rows whose members have the names of the columns; `eventId` is the column `event_id`. */
export function rows<const C extends Readonly<Record<string, Type | Nullable>>>(
  columns: C,
): List<{ readonly [K in keyof C]: Value<C[K]> }> {
  return new List(
    Object.entries(columns).map(([name, type]) => ({
      name: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      type: type.replace('?', ''),
      of: (source) => source[name],
    })),
  )
}

type Read<S> = { readonly [T in Type | Nullable]: readonly [T, (source: S) => Value<T>] }[
  | Type
  | Nullable]
/** Columns of rows that are found in a source; several lists may share some. */
export type Columns<S> = Readonly<Record<string, Read<S>>>

/**
 * Rows out of something else: each column says where it is found, so that nothing is copied on the way. For hot
 * statements too: an accessor with the member's name in it is quicker than one that is told the name.
 */
export function rowsOf<S>(columns: Columns<S>): List<S> {
  return new List(
    Object.entries(columns).map(([name, [type, of]]) => ({
      name,
      type: type.replace('?', ''),
      of: of as (source: S) => unknown,
    })),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: a list of whatever; each statement says of what.
type Takes = Readonly<Record<string, List<any> | Type | Nullable | Several>>

type Given<P extends Takes> = {
  readonly [K in keyof P]: P[K] extends List<infer S>
    ? readonly S[]
    : P[K] extends Type | Nullable | Several
      ? Value<P[K]>
      : never
}

/** How the parameters are called in the text. */
export type Names<P> = { readonly [K in keyof P]: string }

export interface Statement<P extends Takes> {
  readonly text: string
  values(db: Pick<Db, 'now'>, given: Given<P>): unknown[]
  run<R extends object = Row>(db: Db, given: Given<P>): Promise<R[]>
}

/** `NOW` in the text is $1, the injected instant; a text without it has no such parameter. */
export function statement<const P extends Takes>(
  takes: P,
  write: (names: Names<P>) => string,
): Statement<P> {
  const timed = write(named(takes, 2))
  const needsNow = timed.includes('$1::')
  const text = needsNow ? timed : write(named(takes, 1))
  const parameters = Object.entries(takes)
  const values = (db: Pick<Db, 'now'>, given: Given<P>) => {
    const all: unknown[] = needsNow ? [db.now()] : []
    for (const [name, takes] of parameters) {
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

/** From parameter number `first` on. */
function named<P extends Takes>(takes: P, first: number): Names<P> {
  let next = first
  const names = Object.entries(takes).map(([name, takes]) => {
    if (!(takes instanceof List)) return [name, `$${next++}::${takes.replace('?', '')}`]
    const { columns, place } = takes
    const types = columns.map(({ type }) => `$${next++}::${type}[]`).join(', ')
    const called = columns.map((column) => column.name)
    if (place !== undefined) called.push(place)
    const counted = place === undefined ? '' : ' with ordinality'
    return [name, `unnest(${types})${counted} ${name}(${called.join(', ')})`]
  })
  return Object.fromEntries(names)
}
