/**
 * `wakeful/tools`: the operations as tools for agent frameworks, bound to an app in this process or to a server. The same
 * names, descriptions, checks and words as over MCP. A refusal is an answer, not a throw: the model reads it and
 * corrects itself.
 */
import type { StructuredToolInterface } from '@langchain/core/tools'
import { z } from 'zod'
import type { Door } from './api/doors/door.ts'
import { operations } from './app/operations.ts'
import { wallClock } from './clock.ts'
import { type RemoteOptions, remoteDoor } from './mcp/remote.ts'
import { callTool, type Problem, type Tool, toolsOf } from './mcp/tool.ts'

/** An app made by `wakeful()`, or the address of a server and a key. */
export type ToolSource = { door(actAs?: string): Door } | Omit<RemoteOptions, 'now' | 'actAs'>

export interface ToolOptions {
  /** Only these, by name. */
  readonly only?: readonly string[]
  /** The owner to act for: a user id or a DID. Whoever binds the tools says it, never the model. */
  readonly actAs?: string
}

export type ToolAnswer =
  | { readonly ok: true; readonly said: string; readonly data: unknown }
  | { readonly ok: false; readonly said: string; readonly problem: Problem }

export interface PlainTool {
  readonly description: string
  /** A schema of the AI SDK; `inputSchema.jsonSchema` is the JSON Schema. */
  readonly inputSchema: { readonly jsonSchema: object; readonly validate: undefined }
  execute(args: unknown, options?: { readonly abortSignal?: AbortSignal }): Promise<ToolAnswer>
}

/** Plain objects by name, as the AI SDK takes them: `generateText({ model, tools: aiTools(app) })`. */
export function aiTools(source: ToolSource, options: ToolOptions = {}): Record<string, PlainTool> {
  const door = doorOf(source, options)
  const plain = chosen(options).map((tool): [string, PlainTool] => [
    tool.name,
    {
      description: tool.description,
      inputSchema: aiSchema(tool.inputSchema),
      execute: (args, call) => answerOf(tool, door, args, call?.abortSignal),
    },
  ])
  return Object.fromEntries(plain)
}

/** What the AI SDK's own `jsonSchema()` makes. No `validate`: the operation checks, and says all that is wrong. */
function aiSchema(jsonSchema: object): PlainTool['inputSchema'] {
  const marked = { [Symbol.for('vercel.ai.schema')]: true, _type: undefined }
  return { ...marked, jsonSchema, validate: undefined }
}

/** LangChain tools. Their content is the words and the JSON; their artifact is the answer as data. */
export async function langchainTools(
  source: ToolSource,
  options: ToolOptions = {},
): Promise<StructuredToolInterface[]> {
  const door = doorOf(source, options)
  const { tool: make } = await import('@langchain/core/tools')
  const { toJsonSchema } = await import('@langchain/core/utils/json_schema')
  return chosen(options).map((tool) => {
    // LangChain refuses what does not fit a JSON Schema without saying why. A schema that lets everything
    // through, and shows the real one to the model, leaves the check to the operation.
    const open = z.unknown().meta({ ...tool.inputSchema })
    const shown = toJsonSchema(open) as { properties?: unknown }
    const schema = shown.properties === undefined ? tool.inputSchema : open
    return make(
      async (args: unknown, config?: { signal?: AbortSignal }) => {
        const answer = await answerOf(tool, door, args, config?.signal)
        const data = answer.ok && answer.data !== null ? `\n${JSON.stringify(answer.data)}` : ''
        return [`${answer.said}${data}`, answer]
      },
      {
        name: tool.name,
        description: tool.description,
        schema: schema as never,
        responseFormat: 'content_and_artifact',
      },
    ) as unknown as StructuredToolInterface
  })
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
