/** The protocol's questions, which tools are there and call one, and those about events, answered for one caller. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import { JsonError, readJson } from '../../packages/exact-json/src/index.ts'
import type { Door } from '../api/callers/caller.ts'
import type { OpenStreams } from './event-stream.ts'
import { EVENT_CAPABILITIES, type EventOperations, serveEvents } from './events.ts'
import { brief, descriptionsIn } from './schema.ts'
import { callTool, mayUse, type Outcome, type Tool } from './tool.ts'
import { DEFAULT_TOOLS, INSTRUCTIONS } from './tools.ts'

/** Objects around an argument: the message, `params`, `arguments`. */
const ARGUMENT_LEVEL = 3
/** The longest message taken, as for every body of HTTP. */
export const MESSAGE_BYTES_MAX = 256 * 1024

/** Throws a `JsonError` for what is no JSON. */
export function readMessage(text: string, opaque: ReadonlySet<string>): unknown {
  try {
    return readJson(text, opaque, ARGUMENT_LEVEL)
  } catch (error) {
    if (!(error instanceof JsonError) || error.kind === 'syntax') throw error
    return withError(parsed(text, error), error)
  }
}

/** What is behind the first thing that cannot be kept was not read yet, and may be no JSON. */
function parsed(text: string, error: JsonError): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw error
  }
}

function withError(message: unknown, error: JsonError): unknown {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown }
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) throw error
  return { ...(message as object), params: { ...params, arguments: { arguments: error } } }
}

/** Which tools a client is shown; it may call any of them. */
export type ToolSet = 'default' | 'all'

export interface McpOptions {
  readonly tools: ReadonlyMap<string, Tool>
  readonly events: EventOperations | null
  readonly streams: OpenStreams
  readonly version: string
}

export function mcpServer(options: McpOptions, door: Door, set: ToolSet): Server {
  const server = new Server(
    { name: 'wakeful', title: 'Wakeful', version: options.version },
    {
      capabilities: { tools: {}, ...(options.events === null ? {} : EVENT_CAPABILITIES) },
      instructions: INSTRUCTIONS,
    },
  )
  if (options.events !== null) serveEvents(server, options.events, options.streams, door)
  const offered = [...options.tools.values()].filter(
    (tool) => mayUse(tool, door.role) && (set === 'all' || DEFAULT_TOOLS.has(tool.name)),
  )
  server.setRequestHandler('tools/list', () => {
    const creators = offered.filter(({ name }) => !isUpdate(name))
    const told = new Set(creators.flatMap(({ inputSchema }) => descriptionsIn(inputSchema)))
    const toldTo = (tool: Tool) => (isUpdate(tool.name) ? told : undefined)
    return { tools: offered.map((tool) => described(tool, set, toldTo(tool))) }
  })
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    // By the whole table: one that is there but not for this role is refused in words, not unknown.
    const tool = options.tools.get(params.name)
    if (tool === undefined) {
      const known = offered.map(({ name }) => name).join(', ')
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(params.name.slice(0, 64))}; there are ${known}`,
      )
    }
    return resultOf(await callTool(tool, door, params.arguments ?? {}, ctx.mcpReq.signal))
  })
  return server
}

type Described = Pick<Tool, 'name' | 'title' | 'description' | 'annotations' | 'inputSchema'> & {
  outputSchema: object
}

/** Some clients hand on nothing else. */
const WORDS = {
  type: 'string',
  description: 'What was set, changed or found, in words: tell the user this.',
} as const

/** An update takes the fields of the tool that creates, which describes them. */
const isUpdate = (name: string) => name.startsWith('update_')

function described(tool: Tool, set: ToolSet, told: ReadonlySet<unknown> = new Set()) {
  const { name, title, description, annotations } = tool
  const isAll = set === 'all'
  const inputSchema = isAll
    ? tool.inputSchema
    : (brief(tool.inputSchema, told) as Tool['inputSchema'])
  const { properties = {}, required = [], ...rest } = tool.outputSchema ?? {}
  const whole = { ...rest, type: 'object', properties: { ...properties, words: WORDS }, required }
  const wordsAlone = { type: 'object', properties: { words: WORDS }, required: ['words'] }
  const outputSchema = isAll ? whole : wordsAlone
  const made: Described = { name, title, description, annotations, inputSchema, outputSchema }
  // The protocol's own type wants lists it may write to; nobody does.
  return made as never
}

/** Words first; then the JSON as text, exact, for clients that hand on only text; then as data. */
function resultOf(outcome: Outcome) {
  if (!outcome.ok) {
    return {
      isError: true,
      content: [{ type: 'text' as const, text: outcome.said }],
      _meta: { 'wakeful/problem': outcome.problem },
    }
  }
  const { said, json, data } = outcome
  const content = [said, ...(json === null ? [] : [json])].map((text) => ({
    type: 'text' as const,
    text,
  }))
  return { content, structuredContent: { ...data, words: data?.words ?? said } }
}
