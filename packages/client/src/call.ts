/** What the compiler knows of each operation: its input and its answer, read off the server's own table. Types alone. */
import type { z } from 'zod'
import type { Typed } from '../../../src/api/contract.ts'
import type { Row } from '../../../src/app/operations.ts'
import type { RawJson } from '../../exact-json/src/index.ts'

/** Rows whose names are known to the compiler. */
type Named<R> = R extends { readonly name: infer N } ? (string extends N ? never : R) : never
type Rows = Named<Row>

export type OperationName = Rows['name']
type RowOf<N extends OperationName> = Extract<Rows, { readonly name: N }>

type Unrecorded = Record<never, never>
/** As it is written by a caller: what the server keeps verbatim may be any JSON. */
type Written<S> = S extends z.ZodObject
  ? { [K in keyof z.input<S>]: RawJson extends z.input<S>[K] ? unknown : z.input<S>[K] }
  : Unrecorded
type Flat<T> = { [K in keyof T]: T[K] }

/** Path, query and body fields in one object. */
export type InputOf<N extends OperationName> =
  RowOf<N> extends Typed<string, infer P, infer Q, infer B, z.ZodType | null>
    ? Flat<Written<P> & Written<Q> & Written<B>>
    : never

export type AnswerOf<N extends OperationName> =
  RowOf<N> extends { readonly output: infer O }
    ? O extends z.ZodType
      ? z.output<O>
      : undefined
    : never

/** The input may be left out where nothing in it is required. */
export type InputArgs<N extends OperationName> =
  Unrecorded extends InputOf<N> ? [input?: InputOf<N>] : [input: InputOf<N>]
