/**
 * `wakeful/tools`: the operations as tools for agent frameworks, bound to an app in this process or to a server. The same
 * names, descriptions, checks and words as over MCP. A refusal is an answer, not a throw: the model reads it and
 * corrects itself.
 */
import type { StructuredToolInterface } from '@langchain/core/tools'
import type { Schema } from 'ai'
import { z } from 'zod'
import type { Turn } from '../../../src/agents/function.ts'
import type { Door } from '../../../src/api/callers/caller.ts'
import { operations } from '../../../src/app/operations.ts'
import { wallClock } from '../../../src/clock.ts'
import { callTool, type Problem, type Tool, toolsOf } from '../../../src/mcp/tool.ts'
import { turnTools as offeredTools } from '../../companion/src/think.ts'
import { useTool } from '../../companion/src/tools.ts'
import { type RemoteOptions, remoteDoor } from '../../mcp-stdio/src/remote.ts'
import { DECISIONS, mayDecide } from './decide.ts'

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
  /** A schema of the AI SDK, for its types too; `inputSchema.jsonSchema` is the JSON Schema. */
  readonly inputSchema: Schema<unknown>
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
      inputSchema: aiSchema(tool.inputSchema),
      execute: (args, call) => answerOf(tool, door, args, call?.abortSignal),
    },
  ])
  return Object.fromEntries(plain)
}

/** What the AI SDK's own `jsonSchema()` makes. No `validate`: the operation checks, and says all that is wrong. */
function aiSchema(jsonSchema: object): Schema<unknown> {
  const marked = { [Symbol.for('vercel.ai.schema')]: true, _type: undefined }
  // Its symbol is not exported, so no type can name it.
  return { ...marked, jsonSchema, validate: undefined } as unknown as Schema<unknown>
}

/**
 * The tools bound to a turn, for an agent that runs a model in it: what they set is written with the turn, or not at all, and is this
 * user's and this agent's. `follow_up` is the turn's alone.
 */
export function turnTools(turn: Turn): TurnTools {
  const own = offeredTools([...toolsOf(operations).values()], 'speaking').map(
    ({ name, description, parameters }): [string, PlainTool<string>] => [
      name,
      {
        description,
        inputSchema: aiSchema(parameters),
        execute: async (args) => (await useTool(turn, name, JSON.stringify(args ?? {}))).said,
      },
    ],
  )
  return {
    ...Object.fromEntries(own),
    follow_up: followUp(turn),
    ...(mayDecide(turn) ? decisionTools(turn) : {}),
  }
}

function decisionTools(turn: Turn): TurnTools {
  const made = Object.entries(DECISIONS).map(
    ([name, { description, properties, required, run }]): [string, PlainTool<string>] => [
      name,
      {
        description,
        inputSchema: aiSchema({ type: 'object', properties, required }),
        execute: async (args) => refusable(() => run(turn, args ?? {})),
      },
    ],
  )
  return Object.fromEntries(made)
}

function refusable(work: () => string): string {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return `Refused, nothing was changed: ${error.message}`
  }
}

/** Unlike an alarm, the next message of the user cancels it. */
function followUp(turn: Turn): PlainTool<string> {
  return {
    description: FOLLOW_UP,
    inputSchema: aiSchema({
      type: 'object',
      properties: {
        in_seconds: { type: 'number', description: 'How long to wait for the user.' },
        note: { type: 'string', description: 'What you are told then.' },
      },
      required: ['in_seconds'],
    }),
    execute: async (args) => {
      const { in_seconds, note } = (args ?? {}) as { in_seconds?: unknown; note?: unknown }
      return refusable(() => {
        turn.followUp('follow_up', { inSeconds: Number(in_seconds), payload: { note } })
        return `You are asked again in ${Number(in_seconds)} seconds, unless the user writes first.`
      })
    },
  }
}
const FOLLOW_UP =
  'Look in again after a while if the user does not write: a nudge, a question about how it went. The next message of the user calls it off, and calling this again replaces it. For what must happen whatever the user does, use set_alarm.'

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
