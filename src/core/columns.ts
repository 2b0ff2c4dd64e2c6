/**
 * Tables of columns. A family of rows names each of its columns once, with its type and how it is shown; from that come
 * the list for SQL, the type of a row, the schema of what owners see and what they see of one row.
 */
import { z } from 'zod'
import { RawJson } from '../../packages/exact-json/src/index.ts'

/** What a value of each SQL type is here. */
export interface SqlValues {
  smallint: number
  int: number
  bigint: number
  float8: number
  boolean: boolean
  text: string
  uuid: string
  json: string
  timestamptz: Date
  bytea: Uint8Array
}
type Type = keyof SqlValues
/** A question mark: may be null. */
export type SqlType = Type | `${Type}?`
export type SqlValue<T extends SqlType> = T extends `${infer B extends Type}?`
  ? SqlValues[B] | null
  : SqlValues[T & Type]

const SCHEMAS = {
  smallint: z.int(),
  int: z.int(),
  bigint: z.int(),
  float8: z.number(),
  boolean: z.boolean(),
  text: z.string(),
  uuid: z.uuid(),
  json: z.unknown(),
  timestamptz: z.iso.datetime(),
  bytea: z.string(),
}
type SchemaOf<T extends SqlType> = T extends 'json' | 'json?'
  ? (typeof SCHEMAS)['json']
  : T extends `${infer B extends Type}?`
    ? z.ZodNullable<(typeof SCHEMAS)[B]>
    : (typeof SCHEMAS)[T & Type]

export interface Column<T extends SqlType, V, S extends z.ZodType | null> {
  readonly type: T
  /** Null: never in an answer. */
  readonly schema: S
  /** Left out of an answer when empty. */
  readonly ifSet: boolean
  /** For the compiler alone. */
  readonly value?: V
}
type Columns = Readonly<Record<string, Column<SqlType, unknown, z.ZodType | null>>>

/** Never in an answer. */
export function internal<T extends SqlType>(type: T): Column<T, SqlValue<T>, null> {
  return { type, schema: null, ifSet: false }
}

/** In every answer. */
export function visible<T extends SqlType>(type: T): Column<T, SqlValue<T>, SchemaOf<T>> {
  return { type, schema: schemaFor(type), ifSet: false }
}

/** One of these texts. */
export function oneOf<const W extends readonly string[]>(words: W) {
  const column: Column<'text', W[number], z.ZodEnum<{ [K in W[number]]: K }>> = {
    type: 'text',
    schema: z.enum(words),
    ifSet: false,
  }
  return column
}

/** One of these texts, or null. */
export function oneOfOrNull<const W extends readonly string[]>(words: W) {
  const { schema } = oneOf(words)
  const column: Column<'text?', W[number] | null, z.ZodNullable<typeof schema>> = {
    type: 'text?',
    schema: schema.nullable(),
    ifSet: false,
  }
  return column
}

/** In an answer unless it is empty or false. */
export function visibleIfSet<T extends 'text' | 'text?' | 'timestamptz?' | 'boolean'>(
  type: T,
): Column<T, SqlValue<T>, z.ZodOptional<SchemaOf<T extends `${infer B extends Type}?` ? B : T>>> {
  const schema = schemaFor(type.replace('?', '') as Type).optional()
  return { type, ifSet: true, schema: schema as never }
}

function schemaFor<T extends SqlType>(type: T): SchemaOf<T> {
  const schema = SCHEMAS[type.replace('?', '') as Type]
  return (type.endsWith('?') && type !== 'json?' ? schema.nullable() : schema) as SchemaOf<T>
}

/** A row as the database answers it. */
export type RowOf<C extends Columns> = {
  readonly [K in keyof C]: C[K] extends Column<SqlType, infer V, z.ZodType | null> ? V : never
}

/** The list for SQL. Big integers are read as numbers: none of ours grows past 2^53. */
export function listOf(columns: Columns, table = ''): string {
  const prefix = table === '' ? '' : `${table}.`
  return Object.entries(columns)
    .map(([name, { type }]) =>
      type === 'bigint' ? `${prefix}${name}::float8 as ${name}` : `${prefix}${name}`,
    )
    .join(', ')
}

/** The types by name, as a statement takes them; without those columns that are set otherwise. */
export function typesOf<C extends Columns, const W extends keyof C = never>(
  columns: C,
  without: readonly W[] = [],
): { readonly [K in Exclude<keyof C, W>]: C[K]['type'] } {
  const left: readonly PropertyKey[] = without
  const types = Object.entries(columns).filter(([name]) => !left.includes(name))
  return Object.fromEntries(types.map(([name, { type }]) => [name, type])) as never
}

type Visible<C extends Columns> = {
  [K in keyof C as C[K]['schema'] extends null ? never : K]: Exclude<C[K]['schema'], null>
}

/** What owners see. */
export function schemaOf<C extends Columns>(columns: C): z.ZodObject<Visible<C>> {
  const fields = Object.entries(columns).flatMap(([name, { schema }]) =>
    schema === null ? [] : [[name, schema]],
  )
  return z.object(Object.fromEntries(fields)) as never
}

/** What they see of one row. JSON is handed on as the text it was written in. */
export function visibleOf<C extends Columns>(columns: C, row: RowOf<C>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const { name, json, ifSet } of visibleColumns(columns)) {
    const value = row[name] as unknown
    if (ifSet && (value === null || value === '' || value === false)) continue
    fields[name] = json && value !== null ? new RawJson(String(value)) : value
  }
  return fields
}

interface VisibleColumn {
  readonly name: string
  readonly json: boolean
  readonly ifSet: boolean
}

/** Worked out once for each table: a page shows hundreds of its rows. */
const tables = new WeakMap<Columns, readonly VisibleColumn[]>()

function visibleColumns(columns: Columns): readonly VisibleColumn[] {
  let list = tables.get(columns)
  if (list === undefined) {
    list = Object.entries(columns).flatMap(([name, { type, schema, ifSet }]) =>
      schema === null ? [] : { name, json: type.startsWith('json'), ifSet },
    )
    tables.set(columns, list)
  }
  return list
}

/**
 * The visible columns of a row as JSON that PostgreSQL prints, for lists: half as dear as to read them and print them here. The brace
 * that ends it is left out, so that more can follow.
 */
export function printedOf(columns: Columns): string {
  const parts = Object.entries(columns).flatMap(([name, { type, schema, ifSet }]) => {
    if (schema === null) return []
    const named = `',"${name}":'`
    const value = PRINTED[type.replace('?', '') as Type]?.(name) ?? `${name}::text`
    const isSet = type === 'boolean' ? name : `${name}::text <> ''`
    if (ifSet) return [`case when ${isSet} then ${named} || ${value} else '' end`]
    return [`${named}, ${type.endsWith('?') ? `coalesce(${value}, 'null')` : value}`]
  })
  return `concat('{', ltrim(concat(${parts.join(', ')}), ','))`
}

/** Of those whose text is not their JSON. */
const PRINTED: Partial<Record<Type, (name: string) => string>> = {
  text: (name) => `to_json(${name})::text`,
  uuid: (name) => `'"' || ${name} || '"'`,
  bytea: (name) => `'"' || encode(${name}, 'hex') || '"'`,
  timestamptz: (name) =>
    `'"' || to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`,
}
