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

export function openApi(operations: readonly Operation[], version: string): object {
  const shared: Record<string, unknown> = { Problem: PROBLEM }
  const paths: Record<string, Record<string, unknown>> = {}
  for (const op of operations) {
    const described = describeOperation(op, shared)
    paths[op.path] = { ...paths[op.path], [op.method.toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Wakeful', version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    tags: [...new Set(operations.map((op) => op.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: shared,
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
    },
  }
}

function describeOperation(op: Operation, shared: Record<string, unknown>): object {
  const body = op.body && schemaOf(op.body, shared)
  const described = op.roles === 'public' ? 'Needs no key.' : `For ${op.roles.join(', ')} keys.`
  return {
    operationId: op.name,
    tags: [op.tag],
    summary: op.summary,
    description: op.description === undefined ? described : `${op.description}\n\n${described}`,
    ...(op.roles === 'public' && { security: [] }),
    parameters: parametersOf(op, shared),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: responsesOf(op, shared),
  }
}

function parametersOf(op: Operation, shared: Record<string, unknown>): object[] {
  const inPath = op.params && schemaOf(op.params, shared)
  const names = [...op.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  const parameters: object[] = names.map((name) => ({
    ...parameter('path', name, inPath?.properties?.[name] ?? { type: 'string' }),
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

function responsesOf(op: Operation, shared: Record<string, unknown>): object {
  const responses: Record<string, object> = { [op.status]: success(op, shared) }
  for (const code of errorsOf(op)) {
    const { status, title } = ERRORS[code]
    responses[status] ??= {
      description: title,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  }
  return responses
}

function success(op: Operation, shared: Record<string, unknown>): object {
  if (op.output === null) return { description: 'Done.' }
  const schema = schemaOf(op.output, shared)
  return { description: 'Done.', content: { 'application/json': { schema } } }
}

/** Fields that name what may be unknown, or another's, beside those of the path. */
const NAMES: ReadonlySet<string> = new Set([
  ...['session_key', 'user_id', 'agent_id', 'assistant_id', 'thread_id', 'name', 'names'],
])

/** The refusals that callers of this operation should expect. */
function errorsOf(op: Operation): ErrorCode[] {
  const codes: ErrorCode[] = ['rule', 'shape', 'rate_limited', 'internal', 'unavailable']
  if (op.roles !== 'public') codes.push('unauthenticated', 'forbidden')
  const fields = [op.query, op.body].flatMap((part) => Object.keys(part?.shape ?? {}))
  if (op.path.includes('{') || fields.some((name) => NAMES.has(name))) codes.push('not_found')
  if (op.creates || op.method !== 'GET') codes.push('conflict')
  // A body is also refused where none is wanted.
  if (op.method !== 'GET') codes.push('too_large', 'media_type')
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
