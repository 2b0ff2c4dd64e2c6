/** A tool, made from a row of the tools and its operation, and what comes of calling it. */

import { JsonError } from '../../packages/exact-json/src/index.ts'
import type { Door } from '../api/callers/caller.ts'
import { type Arguments, readArguments } from '../api/callers/flat.ts'
import type { Operation, Role } from '../api/contract.ts'
import { ERRORS, Refusal } from '../core/errors.ts'
import { spanText } from '../core/span.ts'
import { answerText, type Fields } from './answer-text.ts'
import { inputSchema, type ObjectSchema, outputSchema } from './schema.ts'
import { TOOLS, type ToolRow } from './tools.ts'

export interface Tool extends ToolRow {
  readonly op: Operation
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema | undefined
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

export interface Problem {
  readonly status: number
  readonly title: string
  readonly errors: readonly string[]
}

export type Outcome =
  | {
      readonly ok: true
      readonly said: string
      /** The API's JSON, digit for digit; null where it answers with nothing. */
      readonly json: string | null
      readonly data: Fields | null
    }
  | { readonly ok: false; readonly said: string; readonly problem: Problem }

/** Every operation: those that have a description for models, and the others as the reference has them. */
export function allTools(operations: readonly Operation[]): ReadonlyMap<string, Tool> {
  const described = toolsOf(operations)
  const taken = new Set([...described.values()].map(({ op }) => op.name))
  const others = operations.filter(({ name }) => !taken.has(name) && !described.has(name))
  return new Map([
    ...described,
    ...others.map((op): [string, Tool] => {
      const { name, summary, description = '' } = op
      const text = `${summary}. ${description}`.trim()
      return [name, toolOf({ name, title: summary, description: text }, op)]
    }),
  ])
}

/** Those with a description for models whose operations exist. */
export function toolsOf(operations: readonly Operation[]): ReadonlyMap<string, Tool> {
  const byName = new Map(operations.map((op) => [op.name, op]))
  const tools = TOOLS.flatMap((row): [string, Tool][] => {
    const op = byName.get(row.operation ?? row.name)
    return op === undefined ? [] : [[row.name, toolOf(row, op)]]
  })
  return new Map(tools)
}

function toolOf(row: ToolRow, op: Operation): Tool {
  const readOnlyHint = row.readOnly ?? op.method === 'GET'
  return {
    ...row,
    op,
    inputSchema: inputSchema(op),
    outputSchema: outputSchema(op),
    annotations: {
      title: row.title,
      readOnlyHint,
      // Only what adds and takes nothing away is harmless to what is there.
      destructiveHint: !readOnlyHint && op.method !== 'POST',
      idempotentHint: readOnlyHint || op.method !== 'POST',
      openWorldHint: false,
    },
  }
}

export function mayUse(tool: Tool, role: Role | null): boolean {
  return role === null || tool.op.roles === 'public' || tool.op.roles.includes(role)
}

/** The fields that any tool keeps as the text they were written in. */
export function opaqueNames(tools: ReadonlyMap<string, Tool>): ReadonlySet<string> {
  return new Set([...tools.values()].flatMap((tool) => tool.op.opaque ?? []))
}

/** Refusals are outcomes, in words that a model can act on; anything else that is thrown is a fault of ours. */
export async function callTool(
  tool: Tool,
  door: Door,
  args: Arguments,
  signal?: AbortSignal,
): Promise<Outcome> {
  try {
    const unread = Object.values(args).find((value) => value instanceof JsonError)
    if (unread !== undefined) throw new Refusal('shape', unread.message)
    const json = await door.call(tool.op, readArguments(tool.op, args), signal)
    const body = json === null ? null : (JSON.parse(json) as Fields | unknown[])
    const data = Array.isArray(body) ? { data: body } : body
    return { ok: true, said: answerText(tool, data, args, door.now()), json, data }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { status, title } = ERRORS[error.code]
    const problem = { status, title, errors: error.errors }
    return { ok: false, said: refusalText(tool, error), problem }
  }
}

/** What is wrong, all of it, and what to do about it. */
function refusalText(tool: Tool, refusal: Refusal): string {
  const { title } = ERRORS[refusal.code]
  return [`${title}.`, ...refusal.errors.map((error) => `- ${error}`), advice(tool, refusal)].join(
    '\n',
  )
}

function advice(tool: Tool, { code, retryAfterMs }: Refusal): string {
  const wait = retryAfterMs === undefined ? 'in a few seconds' : `in ${spanText(retryAfterMs)}`
  switch (code) {
    case 'malformed':
    case 'rule':
    case 'shape':
    case 'too_large':
      return `Nothing was changed. Correct this and call ${tool.name} again.`
    case 'not_found':
      return 'Nothing was changed. Take an id that a list tool answered with; ids of other owners are not found either.'
    case 'conflict':
      return 'Look at its present state before trying again.'
    case 'unauthenticated':
    case 'forbidden':
      return 'Calling again will not help: tell the user that these credentials are not enough.'
    case 'rate_limited':
    case 'unavailable':
      return `Call again ${wait}${tool.op.creates ? ', with the same idempotency_key if you gave one' : ''}.`
    default:
      return 'This is not your mistake. Tell the user, and do not repeat the call many times.'
  }
}
