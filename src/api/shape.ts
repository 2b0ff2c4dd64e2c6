/**
 * The shape of a request: each part is checked by its schema, and every error is put in words that a
 * language model can act on: `<where>: <what it must be>`. A schema's own message goes first; the
 * words here are for the rest.
 */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { JsonError, OPAQUE_BYTES_MAX, RawJson, readJson, writeJson } from '../core/json/json.ts'

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

/** A body field that is kept verbatim. List its name in the operation's `opaque`, too. */
export const opaqueJson = z.custom<RawJson>((value) => value instanceof RawJson, 'must be JSON')

/** Checks one part. Adds what is wrong to `errors`; an id that is none refuses at once. */
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
  // Our words are asked for in a second pass: with them even a right body takes four times as long.
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const worded = schema.safeParse(value, { error: wording })
  for (const issue of worded.error?.issues ?? []) addIssue(issue, part, errors)
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
  else for (const key of keys.slice(0, ERRORS_MAX)) errors.push(unknownField([part, key]))
}

function addIssue(issue: z.core.$ZodIssue, part: Part, errors: string[]): void {
  if (issue.code === 'custom' && issue.params?.code === 'not_found') {
    throw new Refusal('not_found', issue.message)
  }
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) push(errors, unknownField([part, ...issue.path, key]))
  } else push(errors, `${where([part, ...issue.path])}: ${issue.message}`)
}

function push(errors: string[], text: string): void {
  if (errors.length < ERRORS_MAX) errors.push(text)
}

const unknownField = (path: readonly PropertyKey[]) => `${where(path)}: is not a known field`

/** `body.items[2].name`; names that are none are quoted, and long ones cut. */
function where(path: readonly PropertyKey[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else {
      const name = String(step)
      const plain = /^[\w-]{1,64}$/.test(name)
      text += plain ? `${text === '' ? '' : '.'}${name}` : `[${JSON.stringify(name.slice(0, 64))}]`
    }
  }
  return text
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
}

function wording(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[String(issue.expected)] ?? String(issue.expected)}`
    case 'invalid_value':
      return `must be one of ${(issue.values as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`
    case 'too_small':
      return bound(issue, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return bound(issue, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_format':
      return format(issue)
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`
    case 'invalid_union':
      return 'matches none of the forms it may have'
    default:
      return 'is not valid'
  }
}

function bound(issue: z.core.$ZodRawIssue, relation: string, limit: unknown): string {
  const number = String(limit)
  if (issue.origin === 'string') return `must have ${relation} ${number} characters`
  if (issue.origin === 'array' || issue.origin === 'set')
    return `must have ${relation} ${number} items`
  return `must be ${relation} ${number}`
}

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  url: 'a URL',
  datetime: 'an RFC 3339 instant such as 2030-01-31T09:00:00Z',
  date: 'a date such as 2030-01-31',
  email: 'an e-mail address',
}

function format(issue: z.core.$ZodRawIssue): string {
  const name = String(issue.format)
  if (name === 'regex') return `must match ${String(issue.pattern)}`
  return `must be ${FORMATS[name] ?? `a valid ${name}`}`
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
