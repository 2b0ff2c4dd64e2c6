/** The shape of a request: each part is checked by its schema, and every error is told: `<where>: <what it must be>`. */
import { z } from 'zod'
import {
  JsonError,
  OPAQUE_BYTES_MAX,
  RawJson,
  readJson,
  writeJson,
} from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { readShape, UNKNOWN_FIELD, where } from '../core/shape.ts'

type Part = 'path' | 'query' | 'body'
type Fields = Readonly<Record<string, unknown>>

/** More than this helps nobody, and a hostile body could have thousands. */
const ERRORS_MAX = 50

/** An id in a path. What is no UUID names nothing: 404, not 422. */
export const idParam = z.string().superRefine((value, ctx) => {
  if (!UUID.test(value)) {
    ctx.addIssue({ code: 'custom', message: 'no such id', params: { code: 'not_found' } })
  }
})
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Checks one part. Adds what is wrong to `errors`; a malformed id is refused at once. */
export function parsePart(
  schema: z.ZodObject | undefined,
  part: Part,
  raw: unknown,
  errors: string[],
): unknown {
  if (schema === undefined) return nothing(part, raw, errors)
  const value = raw === undefined && part !== 'body' ? {} : raw
  if (part === 'body' && !isFields(value)) {
    errors.push(`body: ${value === undefined ? 'is required' : 'must be an object'}`)
    return undefined
  }
  const read = readShape(schema, value)
  if ('data' in read) return read.data
  for (const { path, message, code } of read.errors) {
    if (code === 'not_found') throw new Refusal('not_found', message)
    if (errors.length < ERRORS_MAX) errors.push(`${where([part, ...path])}: ${message}`)
  }
  return undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A part the operation does not have: absent or empty is fine. */
function nothing(part: Part, raw: unknown, errors: string[]): undefined {
  if (raw === undefined || raw === null || part === 'path') return
  const keys = isFields(raw) ? Object.keys(raw) : null
  if (keys === null) errors.push(`${part}: must be empty`)
  else
    for (const key of keys.slice(0, ERRORS_MAX))
      errors.push(`${where([part, key])}: ${UNKNOWN_FIELD}`)
}

/**
 * HTTP has read opaque fields as `RawJson` already. A door that was handed parsed values (library,
 * MCP) has them turned into text here, under the same checks.
 */
export function wrapOpaque(opaque: readonly string[] | undefined, body: unknown): unknown {
  if (opaque === undefined || !isFields(body)) return body
  let wrapped: Record<string, unknown> | undefined
  for (const field of opaque) {
    const value = body[field]
    if (value === undefined || value instanceof RawJson) continue
    wrapped ??= { ...body }
    wrapped[field] = rawOf(field, value)
  }
  return wrapped ?? body
}

function rawOf(field: string, value: unknown): unknown {
  try {
    const whole = readJson(`{"value":${writeJson(value)}}`, VALUE) as { value: RawJson }
    return whole.value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const limits = `at most 32 levels and ${OPAQUE_BYTES_MAX} bytes, no U+0000`
    throw new Refusal('shape', `body.${field}: cannot be kept (${limits}): ${error.message}`)
  }
}
const VALUE: ReadonlySet<string> = new Set(['value'])
