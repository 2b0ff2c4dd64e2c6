/**
 * JSON Schemas for language models, from the schemas that check requests. Flat, and without what only
 * programs need: long patterns beside a named format, the bounds of safe integers.
 */
import { z } from 'zod'
import { partNames, takesKey } from '../api/callers/flat.ts'
import type { Operation } from '../api/contract.ts'

export interface ObjectSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  readonly [more: string]: unknown
}

const KEY_SCHEMA = {
  type: 'string',
  minLength: 2,
  maxLength: 255,
  description:
    'Makes a retry harmless: the same key with the same arguments answers as the first time. Use a new one for each new wish.',
}

/** All arguments of an operation as one object. Nothing else is taken. */
export function inputSchema(op: Operation): ObjectSchema {
  const properties: Record<string, object> = {}
  const required: string[] = []
  for (const part of ['params', 'query', 'body'] as const) {
    const schema = op[part]
    if (schema === undefined) continue
    const made = plainSchema(schema)
    for (const name of partNames(op)[part]) {
      if (name in properties) throw new Error(`${op.name}: ${name} is there in two parts`)
      properties[name] = made.properties?.[name] ?? {}
    }
    required.push(...(made.required ?? []))
  }
  if (takesKey(op)) properties.idempotency_key = KEY_SCHEMA
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

/** The answer's shape, undefined without one; a list is put under `data`, since results are objects. */
export function outputSchema(op: Operation): ObjectSchema | undefined {
  if (op.output === null) return undefined
  const { type, properties, ...rest } = plainSchema(op.output)
  if (type === 'array') {
    const data = { type, ...rest }
    return { type: 'object', properties: { data }, required: ['data'] }
  }
  if (type !== 'object' || properties === undefined) return undefined
  return { type, properties, ...rest }
}

interface Made {
  readonly type?: string
  readonly properties?: Record<string, object>
  readonly required?: string[]
}

export function plainSchema(schema: z.ZodType): Made {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const { $schema: _dialect, ...rest } = made as Record<string, unknown>
  return plain(rest) as Made
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const fields = value as Record<string, unknown>
  const kept = Object.entries(fields).filter(([name, each]) => !isNoise(name, each, fields))
  return Object.fromEntries(kept.map(([name, each]) => [name, plain(each)]))
}

function isNoise(name: string, value: unknown, beside: Record<string, unknown>): boolean {
  if (name === 'pattern') return typeof beside.format === 'string'
  if (name === 'maximum') return value === Number.MAX_SAFE_INTEGER
  return name === 'minimum' && value === Number.MIN_SAFE_INTEGER
}

/** Bounds that the operation checks anyway, and refuses in words. */
const BOUNDS = new Set(['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'maximum'])

/** The same schema without bounds and without the descriptions in `told`, for the tools that every client is shown. */
export function brief(value: unknown, told: ReadonlySet<unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => brief(each, told))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, each]) => {
    if (typeof each === 'object') return true
    return !BOUNDS.has(name) && !(name === 'description' && told.has(each))
  })
  return Object.fromEntries(kept.map(([name, each]) => [name, brief(each, told)]))
}

/** All descriptions in a schema. */
export function descriptionsIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const { description } = value as { description?: unknown }
  const own = typeof description === 'string' ? [description] : []
  return [...own, ...Object.values(value).flatMap(descriptionsIn)]
}
