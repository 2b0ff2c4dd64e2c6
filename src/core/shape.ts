/**
 * What is wrong with a value, by its schema, in words that a language model can act on: where, and what it must be. A
 * schema's own message goes first; the words here are for the rest.
 */
import type { z } from 'zod'

export const UNKNOWN_FIELD = 'is not a known field'

export interface ShapeError {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The schema's own word for it, where it has one. */
  readonly code: unknown
}

/** The value as its schema has it, or all that is wrong with it. */
export function readShape<S extends z.ZodType>(
  schema: S,
  value: unknown,
): { readonly data: z.output<S> } | { readonly errors: readonly ShapeError[] } {
  // Our words are asked for in a second pass: with them even a right value takes four times as long.
  const parsed = schema.safeParse(value)
  if (parsed.success) return { data: parsed.data }
  const issues = schema.safeParse(value, { error: wording }).error?.issues ?? []
  return { errors: issues.flatMap(errorsOf) }
}

function errorsOf(issue: z.core.$ZodIssue): ShapeError[] {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], message: UNKNOWN_FIELD, code: null }))
  return [{ path, message, code: issue.code === 'custom' ? issue.params?.code : null }]
}

/** `body.items[2].name`; keys that are not identifiers are quoted, and long ones cut. */
export function where(path: readonly PropertyKey[]): string {
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
