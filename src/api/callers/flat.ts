/**
 * Operations called with one flat object of arguments, whatever part of a request each belongs to: the form
 * of tools and of the library. The checks are those of every door; only the names in errors are the flat ones.
 */

import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { Refusal } from '../../core/errors.ts'
import { type Actor, type Input, type Operation, prepare, type RawInput } from '../contract.ts'
import { REQUEST_KEY } from '../once.ts'

export type Arguments = Readonly<Record<string, unknown>>

const KEY_NAME = 'idempotency_key'
const PARTS = ['params', 'query', 'body'] as const

export interface FlatRequest {
  readonly raw: RawInput
  /** Makes a repetition harmless, for operations that create and have no such field of their own. */
  readonly key: unknown
}

/** The names each part takes. */
export function partNames(op: Operation): Record<(typeof PARTS)[number], readonly string[]> {
  const names = (part: (typeof PARTS)[number]) => Object.keys(op[part]?.shape ?? {})
  return { params: names('params'), query: names('query'), body: names('body') }
}

/** Whether a key can be given beside the operation's own fields. */
export function takesKey(op: Operation): boolean {
  return op.creates === true && !partNames(op).body.includes(KEY_NAME)
}

/** Sorts arguments into the parts of a request. What no part knows goes where it will be refused by name. */
export function splitArguments(op: Operation, args: Arguments): FlatRequest {
  const { params, query } = partNames(op)
  const keyed = takesKey(op)
  const rest = op.body === undefined && op.query !== undefined ? 'query' : 'body'
  const sorted: Record<(typeof PARTS)[number], [string, unknown][]> = {
    params: [],
    query: [],
    body: [],
  }
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined || (keyed && name === KEY_NAME)) continue
    if (params.includes(name)) sorted.params.push([name, value])
    else if (query.includes(name)) sorted.query.push([name, asText(value)])
    else sorted[rest].push([name, value])
  }
  const body = Object.fromEntries(sorted.body)
  return {
    raw: {
      params: Object.fromEntries(sorted.params),
      query: Object.fromEntries(sorted.query),
      body: op.body === undefined && sorted.body.length === 0 ? undefined : body,
    },
    key: keyed ? args[KEY_NAME] : undefined,
  }
}

/** A query is text on the wire: numbers and booleans are given as HTTP would give them. */
function asText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

export interface FlatInput {
  readonly input: Input
  readonly key: string | undefined
  /** As the arguments say it, for the fingerprint of a key. */
  readonly raw: RawInput
}

/** Who may, and is the shape right? Refuses with all errors, each beginning with the argument's own name. */
export function prepareFlat(op: Operation, actor: Actor, args: Arguments): FlatInput {
  const { raw, key } = splitArguments(op, args)
  const wrongKey = keyError(key)
  try {
    const input = prepare(op, actor, raw)
    if (wrongKey !== null) throw new Refusal('shape', wrongKey)
    return { input, key: key as string | undefined, raw }
  } catch (error) {
    throw flatRefusal(error, wrongKey)
  }
}

function keyError(key: unknown): string | null {
  if (key === undefined || (typeof key === 'string' && REQUEST_KEY.test(key))) return null
  return `${KEY_NAME}: takes 2 to 255 visible ASCII characters`
}

/** The same refusal with flat names; anything else as it came. */
export function flatRefusal(error: unknown, more: string | null = null): unknown {
  if (!(error instanceof Refusal)) return error
  const errors = error.errors.map(flatError)
  if (more !== null && error.code === 'shape' && !errors.includes(more)) errors.push(more)
  return new Refusal(error.code, errors, {
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  })
}

/** `body.label: …` is `label: …` to somebody who gave no body. */
function flatError(text: string): string {
  return text
    .replace(/^(?:body|query|path)(?:\.|: |(?=\[))/, '')
    .replace(/^Idempotency-Key(?=:)/, KEY_NAME)
}

/** Arguments in which opaque fields may be texts of JSON: plain values for all that this operation does not keep so. */
export function readArguments(op: Operation, args: Arguments): Arguments {
  const kept = new Set(op.opaque)
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      value instanceof RawJson && !kept.has(name) ? (JSON.parse(value.text) as unknown) : value,
    ]),
  )
}
