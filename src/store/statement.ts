/**
 * Statements with named parameters. A statement says once which lists of rows and which single values it takes; from that
 * come the `unnest` with its types, the values in their order, and the type of a row. What is written in SQL stays SQL:
 *
 *     const MARK = statement({ i: rows({ bucket: 'smallint', id: 'uuid', lastError: 'text?' }), status: 'text' }, ({ i, status }) =>
 *       `update wakeful.alarms a set status = ${status}, last_error = i.last_error, updated_at = ${NOW} from ${i} where …`)
 *     await MARK.run(tx, { i: [{ bucket, id, lastError: null }], status: 'failed' })
 *
 * `${i}` becomes `unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, id, last_error)`, as often as it stands there. Where no list
 * has more than one row it becomes that row, `(select $2::smallint, $3::uuid, $4::text) i(…)`, or one that is not there: to read arrays and
 * take them apart again is a quarter of what the commit of a single turn costs the database.
 */
import type { SqlValues } from '../core/columns.ts'
import type { Db, Row } from './db.ts'

interface Values extends Omit<SqlValues, 'timestamptz'> {
  /** As text it keeps the microseconds that a cursor needs and a `Date` has no place for. */
  timestamptz: Date | string
  /** The place of a row in its table. */
  tid: string
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
/** Which of the lists may have rows: a part of the text that is about none of them can be left out. */
type Has<P> = { readonly [K in keyof P]: boolean }

export interface Statement<P extends Takes> {
  readonly text: string
  values(db: Pick<Db, 'now'>, given: Given<P>): unknown[]
  run<R extends object = Row>(db: Db, given: Given<P>): Promise<R[]>
}

/** `NOW` in the text is $1, the injected instant; a text without it has no such parameter. */
export function statement<const P extends Takes>(
  takes: P,
  write: (names: Names<P>, has: Has<P>) => string,
): Statement<P> {
  const parameters = Object.entries(takes)
  const written = (first: number, form: Form) =>
    write(named(takes, first, form), hasOf(takes, form))
  const needsNow = written(2, MANY).includes('$1::')
  const textOf = (form: Form) => written(needsNow ? 2 : 1, form)
  const text = textOf(MANY)
  /** By which of the lists have a row. */
  const few = new Map<string, string>()
  const valuesOf = (db: Pick<Db, 'now'>, given: Given<P>, isFew: boolean) => {
    const all: unknown[] = needsNow ? [db.now()] : []
    for (const [name, takes] of parameters) {
      if (!(takes instanceof List)) all.push(given[name])
      else columnsOf(takes, given[name] as readonly unknown[], isFew, all)
    }
    return all
  }
  const fewText = (given: Given<P>) => {
    let form = ''
    for (const [name, takes] of parameters) {
      if (!(takes instanceof List)) continue
      const { length } = given[name] as readonly unknown[]
      if (length > 1) return null
      form += length
    }
    const known = few.get(form)
    if (known !== undefined) return known
    const made = textOf((name) => ((given[name] as readonly unknown[]).length > 0 ? 'one' : 'none'))
    few.set(form, made)
    FOR_MANY.set(made, text)
    return made
  }
  return {
    text,
    values: (db, given) => valuesOf(db, given, false),
    run: (db, given) => {
      const short = fewText(given)
      return db.query(short ?? text, valuesOf(db, given, short !== null))
    },
  }
}

/** The text for many rows of one that was written for few: for those who ask how it is planned. */
export const FOR_MANY = new Map<string, string>()

/** How a list is written: as arrays, or, where none has more than one row, as that row or as nothing. */
type Form = (list: string) => 'many' | 'one' | 'none'
const MANY: Form = () => 'many'

function columnsOf(
  list: List<unknown>,
  sources: readonly unknown[],
  isFew: boolean,
  into: unknown[],
): void {
  if (!isFew) for (const { of } of list.columns) into.push(sources.map(of))
  else if (sources.length > 0) for (const { of } of list.columns) into.push(of(sources[0]))
}

/** From parameter number `first` on. */
function named<P extends Takes>(takes: P, first: number, form: Form): Names<P> {
  let next = first
  const names = Object.entries(takes).map(([name, takes]) => {
    if (!(takes instanceof List)) return [name, `$${next++}::${takes.replace('?', '')}`]
    const { columns, place } = takes
    const called = columns.map((column) => column.name)
    if (place !== undefined) called.push(place)
    const as = `${name}(${called.join(', ')})`
    const how = form(name)
    if (how === 'many') {
      const types = columns.map(({ type }) => `$${next++}::${type}[]`).join(', ')
      return [name, `unnest(${types})${place === undefined ? '' : ' with ordinality'} ${as}`]
    }
    const values = columns.map(({ type }) =>
      how === 'one' ? `$${next++}::${type}` : `null::${type}`,
    )
    if (place !== undefined) values.push('1::bigint')
    return [name, `(select ${values.join(', ')}${how === 'one' ? '' : ' where false'}) ${as}`]
  })
  return Object.fromEntries(names)
}

function hasOf<P extends Takes>(takes: P, form: Form): Has<P> {
  const has = Object.entries(takes).map(([name, takes]) => [
    name,
    !(takes instanceof List) || form(name) !== 'none',
  ])
  return Object.fromEntries(has)
}
