/**
 * `wakeful/tools`: the operations as tools for agent frameworks, bound to an app in this process or to a server. The same
 * names, descriptions, checks and words as over MCP. A refusal is an answer, not a throw: the model reads it and
 * corrects itself.
 */
import type { Turn } from '../../../src/agents/function.ts'
import type { Door } from '../../../src/api/callers/caller.ts'
import { operations } from '../../../src/app/operations.ts'
import { wallClock } from '../../../src/clock.ts'
import { callTool, type Problem, type Tool, toolsOf } from '../../../src/mcp/tool.ts'
import { type RemoteOptions, remoteDoor } from '../../mcp-stdio/src/remote.ts'
import { type ToolSchema, toolSchema } from './schema.ts'
import { type TurnToolOptions, toolsOfTurn } from './turn-tools.ts'

export { conclude } from './conclude.ts'
export { promptFor } from './prompt.ts'
export { type AnthropicTool, type OpenAiTool, toolsFor } from './raw-tools.ts'
export type { ToolSchema } from './schema.ts'
export type { TurnToolOptions } from './turn-tools.ts'

/** An app made by `wakeful()`, or the address of a server and a key. */
export type ToolSource = { door(actAs?: string): Door } | Omit<RemoteOptions, 'now' | 'actAs'>

export interface ToolOptions {
  /** Only the tools with these names. */
  readonly only?: readonly string[]
  /** The owner to act for: a user id or a DID. The app that binds the tools sets it, never the model. */
  readonly actAs?: string
}

export type ToolAnswer =
  | { readonly ok: true; readonly said: string; readonly data: unknown }
  | { readonly ok: false; readonly said: string; readonly problem: Problem }

export interface PlainTool<A = ToolAnswer> {
  readonly description: string
  /** `inputSchema.jsonSchema` is the JSON Schema. */
  readonly inputSchema: ToolSchema
  execute(args: unknown, options?: { readonly abortSignal?: AbortSignal }): Promise<A>
}

/** By name; each returns text. */
export type TurnTools = Record<string, PlainTool<string>>

/** Plain objects by name, as the AI SDK takes them: `generateText({ model, tools: aiTools(app) })`. */
export function aiTools(source: ToolSource, options: ToolOptions = {}): Record<string, PlainTool> {
  const door = doorOf(source, options)
  const plain = chosen(options).map((tool): [string, PlainTool] => [
    tool.name,
    {
      description: tool.description,
      inputSchema: toolSchema(tool.inputSchema),
      execute: (args, call) => answerOf(tool, door, args, call?.abortSignal),
    },
  ])
  return Object.fromEntries(plain)
}

/** The tools of a turn as plain objects by name, for the AI SDK and Mastra: `generateText({ model, tools: turnTools(turn) })`. */
export function turnTools(turn: Turn, options: TurnToolOptions = {}): TurnTools {
  const made = toolsOfTurn(turn, options).map(
    ({ name, description, parameters, run }): [string, PlainTool<string>] => [
      name,
      { description, inputSchema: toolSchema(parameters), execute: (args) => run(args) },
    ],
  )
  return Object.fromEntries(made)
}

function doorOf(source: ToolSource, { actAs }: ToolOptions): Door {
  if ('door' in source) return source.door(actAs)
  return remoteDoor({ ...source, ...(actAs === undefined ? {} : { actAs }), now: wallClock })
}

function chosen({ only }: ToolOptions): Tool[] {
  const tools = toolsOf(operations)
  const unknown = only?.filter((name) => !tools.has(name)) ?? []
  if (unknown.length > 0) {
    throw new TypeError(
      `no tools: ${unknown.join(', ')}; there are ${[...tools.keys()].join(', ')}`,
    )
  }
  return [...tools.values()].filter(({ name }) => only?.includes(name) ?? true)
}

async function answerOf(
  tool: Tool,
  door: Door,
  args: unknown,
  signal: AbortSignal | undefined,
): Promise<ToolAnswer> {
  const given = typeof args === 'object' && args !== null ? (args as Record<string, unknown>) : {}
  const outcome = await callTool(tool, door, given, signal)
  if (!outcome.ok) return outcome
  return { ok: true, said: outcome.said, data: outcome.data }
}
