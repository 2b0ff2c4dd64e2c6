/**
 * What a turn asks of triggers, in the words of the HTTP API. Checked when it is asked, so that a mistake shows at the
 * call; written with the turn's commit.
 */
import type { z } from 'zod'
import { RawJson } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { readShape, where } from '../core/shape.ts'
import { hasUnstorableJson } from '../core/text.ts'

const OPAQUE_MAX_BYTES = 64 * 1024
const UNSTORABLE = 'must be without NUL and without half of a surrogate pair'

export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

type Say = (field: string, message: string) => string
const plainly: Say = (field, message) => `${field === '' ? 'it' : field}: ${message}`

/** As the schema has it. Throws a `Refusal` with all that is wrong. */
export function readAsked<S extends z.ZodObject>(
  schema: S,
  request: Readonly<Record<string, unknown>>,
  say: Say = plainly,
): z.output<S> {
  const unstorable = Object.keys(request).filter(
    (name) =>
      !(request[name] instanceof RawJson) && hasUnstorableJson(JSON.stringify(request[name]) ?? ''),
  )
  if (unstorable.length > 0)
    throw new Refusal(
      'shape',
      unstorable.map((name) => say(name, UNSTORABLE)),
    )
  const read = readShape(schema, request)
  if ('data' in read) return read.data
  throw new Refusal(
    'shape',
    read.errors.map(({ path, message }) => say(where(path), message)),
  )
}

/** A field that is kept verbatim: the text a remote agent wrote, or the JSON of a value. */
export function opaque(what: string, value: unknown): RawJson | undefined {
  if (value === undefined || value instanceof RawJson) return value
  return new RawJson(storable(what, value, OPAQUE_MAX_BYTES))
}

/** The value as JSON that can be kept; says what is wrong with it otherwise. */
export function storable(what: string, value: unknown, maxBytes = OPAQUE_MAX_BYTES): string {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`${what} takes what JSON can hold`)
  if (Buffer.byteLength(text) > maxBytes)
    throw new TypeError(`${what} takes at most ${maxBytes} bytes of JSON`)
  // `\u0000` is legal JSON and PostgreSQL cannot hand it on.
  if (hasUnstorableJson(text)) {
    throw new TypeError(`${what} holds a NUL or half of a surrogate pair`)
  }
  return text
}
