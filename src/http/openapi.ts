/** OpenAPI 3.1 from the operation table: the schemas that check requests also describe them. */
import { z } from 'zod'
import type { Operation } from '../api/contract.ts'
import { ERRORS, type ErrorCode } from '../core/errors.ts'

export type JsonSchema = Readonly<Record<string, unknown>> & {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

export const IDEMPOTENCY_TEXT =
  'Any 2 to 255 visible ASCII characters, unique per owner. Repeating a request with the same key and body answers as the first time (with `Idempotency-Replayed: true`) and does nothing else; the order of keys and white space in the body do not matter. Another body or another endpoint with the same key is 422; a repetition while the first is being worked on is 409. A request that failed leaves its key unused. Keys are kept for 24 hours.'

export const DESCRIPTION =
  'Durable reminders, follow-ups, recurring work and watches for AI agents. JSON is snake_case; instants are RFC 3339 in UTC. Errors are RFC 9457 problems with all reasons in `errors`.'

const LICENSE = { name: 'Apache-2.0', identifier: 'Apache-2.0' }

const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')

/** A call of an operation and what it answered. */
export interface Example {
  readonly path: string
  readonly body?: object
  readonly answer?: object
}
export type Examples = Readonly<Record<string, Example | undefined>>

export function openApi(
  operations: readonly Operation[],
  version: string,
  examples: Examples = {},
): object {
  const shared: Record<string, unknown> = { Problem: PROBLEM }
  const paths: Record<string, Record<string, unknown>> = {}
  for (const op of operations) {
    // One path has one template here, whatever each operation calls the parts of it.
    const path = Object.keys(paths).find((each) => shapeOf(each) === shapeOf(op.path)) ?? op.path
    const described = describeOperation(op, path, shared, examples[op.name])
    paths[path] = { ...paths[path], [op.method.toLowerCase()]: described }
  }
  nameBodies(Object.values(paths).flatMap(Object.values) as Described[], shared)
  return {
    openapi: '3.1.0',
    info: { title: 'Wakeful', version, description: DESCRIPTION, license: LICENSE },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [...new Set(operations.map((op) => op.tag))].map((name) => ({
      name,
      description: operations
        .filter((op) => op.tag === name)
        .map((op) => op.summary)
        .join('. '),
    })),
    paths,
    components: {
      schemas: shared,
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
    },
  }
}

interface Content {
  readonly 'application/json'?: { schema: JsonSchema }
}
interface Described {
  readonly operationId: string
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

/**
 * Gives what operations take and answer names of their own, for generated clients: `SetAlarmRequest`, `Alarm` for the rows of
 * `list_alarms` and for the same shape anywhere else, `GetWorkResponse` for what nothing lists.
 */
function nameBodies(described: readonly Described[], shared: Record<string, unknown>): void {
  const names = new Map<string, string>()
  const name = (schema: unknown, wanted: string) => {
    const text = JSON.stringify(schema)
    if (names.has(text) || wanted in shared || !text.includes('"properties"')) return
    names.set(text, wanted)
    shared[wanted] = schema
  }
  const bodies = described.flatMap(({ operationId, requestBody, responses }) => {
    const asked = requestBody?.content['application/json']
    const [answered] = Object.values(responses).flatMap(
      (each) => each.content?.['application/json'] ?? [],
    )
    return { title: titled(operationId), asked, answered }
  })
  for (const { title, answered } of bodies.toSorted((a, b) => a.title.length - b.title.length)) {
    const { items, properties } = (answered?.schema ?? {}) as {
      items?: unknown
      properties?: Record<string, { items?: unknown }>
    }
    const row = items ?? properties?.data?.items
    if (row !== undefined)
      name(
        row,
        title
          .replace(/^[A-Z][a-z]+/, '')
          .replace(/ies$/, 'y')
          .replace(/([^s])s$/, '$1'),
      )
  }
  for (const { title, asked, answered } of bodies) {
    if (asked) name(asked.schema, `${title}Request`)
    if (answered) name(answered.schema, `${title}Response`)
  }
  const referred = (value: unknown, whole: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const known = names.get(JSON.stringify(value))
    if (known !== undefined && value !== whole) return { $ref: `#/components/schemas/${known}` }
    if (Array.isArray(value)) return value.map((each) => referred(each, whole))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, referred(each, whole)]),
    )
  }
  for (const { asked, answered } of bodies)
    for (const each of [asked, answered])
      if (each) each.schema = referred(each.schema, null) as JsonSchema
  for (const each of names.values()) shared[each] = referred(shared[each], shared[each])
}

/** `set_alarm` as `SetAlarm`. */
const titled = (name: string) =>
  name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

function describeOperation(
  op: Operation,
  path: string,
  shared: Record<string, unknown>,
  example: Example | undefined,
): object {
  const body = op.body && schemaOf(op.body, shared)
  const described = op.roles === 'public' ? 'Needs no key.' : `For ${op.roles.join(', ')} keys.`
  return {
    operationId: op.name,
    tags: [op.tag],
    summary: op.summary,
    description: op.description === undefined ? described : `${op.description}\n\n${described}`,
    ...(op.roles === 'public' && { security: [] }),
    parameters: parametersOf(op, path, shared),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: body, example: example?.body } },
      },
    }),
    responses: responsesOf(op, shared, example?.answer),
  }
}

function parametersOf(op: Operation, path: string, shared: Record<string, unknown>): object[] {
  const inPath = op.params && schemaOf(op.params, shared)
  const [own, names] = [op.path, path].map((each) =>
    [...each.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
  ) as [string[], string[]]
  const parameters: object[] = own.map((name, nth) => ({
    ...parameter('path', names[nth] ?? name, inPath?.properties?.[name] ?? { type: 'string' }),
    required: true,
  }))
  const query = op.query && schemaOf(op.query, shared)
  for (const [name, schema] of Object.entries(query?.properties ?? {})) {
    const required = query?.required?.includes(name) ?? false
    parameters.push({ ...parameter('query', name, schema), required })
  }
  if (op.creates) {
    const schema = { type: 'string', minLength: 2, maxLength: 255 }
    const header = parameter('header', 'Idempotency-Key', schema)
    parameters.push({ ...header, required: false, description: IDEMPOTENCY_TEXT })
  }
  return parameters
}

function parameter(where: 'path' | 'query' | 'header', name: string, schema: JsonSchema): object {
  const { description, ...rest } = schema
  return { in: where, name, schema: rest, ...(description !== undefined && { description }) }
}

function responsesOf(op: Operation, shared: Record<string, unknown>, example?: object): object {
  const responses: Record<string, object> = { [op.status]: success(op, shared, example) }
  if (op.repeats) responses[200] = { ...success(op, shared), description: 'It was there already.' }
  for (const code of errorsOf(op)) {
    const { status, title } = ERRORS[code]
    responses[status] ??= {
      description: title,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  }
  return responses
}

function success(op: Operation, shared: Record<string, unknown>, example?: object): object {
  if (op.output === null) return { description: 'Done.' }
  const schema = schemaOf(op.output, shared)
  return { description: 'Done.', content: { 'application/json': { schema, example } } }
}

/** Fields that name what may be unknown, or another's, beside those of the path. */
const NAMES: ReadonlySet<string> = new Set([
  ...['session_key', 'user_id', 'agent_id', 'assistant_id', 'thread_id', 'name', 'names'],
])

/** The refusals that callers of this operation should expect. */
function errorsOf(op: Operation): ErrorCode[] {
  // An address or headers can be too large, too.
  const codes: ErrorCode[] = [
    'rule',
    'shape',
    'too_large',
    'rate_limited',
    'internal',
    'unavailable',
  ]
  if (op.roles !== 'public') codes.push('unauthenticated', 'forbidden')
  const fields = [op.query, op.body].flatMap((part) => Object.keys(part?.shape ?? {}))
  if (op.path.includes('{') || fields.some((name) => NAMES.has(name))) codes.push('not_found')
  if (op.creates || op.method !== 'GET') codes.push('conflict')
  // A body is also refused where none is wanted.
  if (op.method !== 'GET') codes.push('media_type')
  return [...codes, ...(op.refuses ?? [])]
}

/**
 * The schema as JSON Schema. What it cannot say (custom checks, opaque fields) is left open, as any
 * JSON. Named parts move to the document's shared schemas.
 */
export function schemaOf(schema: z.ZodType, shared: Record<string, unknown>): JsonSchema {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/')
  const { $schema: _dialect, $defs, ...rest } = JSON.parse(text) as Record<string, unknown>
  Object.assign(shared, $defs)
  return rest
}

const PROBLEM = {
  type: 'object',
  description: 'RFC 9457 problem details.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'errors', 'request_id'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'The class of the error.' },
    title: { type: 'string', description: 'The same for every error of the class.' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri-reference' },
    errors: { type: 'array', items: { type: 'string' }, description: 'All reasons, one each.' },
    request_id: { type: 'string', description: 'Names this request in the logs.' },
  },
}
