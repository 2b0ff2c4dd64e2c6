/**
 * Agents of the Claude Agent SDK. Nothing of the SDK is kept between turns: its transcripts lie in files of one machine and do not
 * commit with the turn, so the conversation is kept in `turn.state` and handed over as text.
 */
import { Server } from '@modelcontextprotocol/server'
import type { Agent, LiveText } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
} from '../../tools/src/framework-agent.ts'
import { type TurnTool, toolsOfTurn } from '../../tools/src/turn-tools.ts'

/** What the SDK's `query` takes as `options`. */
export interface ClaudeOptions {
  readonly mcpServers?: Readonly<Record<string, unknown>>
  readonly allowedTools?: readonly string[]
  readonly [option: string]: unknown
}

/** What we read of the SDK's messages; the one of type `result` is the last. */
export interface ClaudeMessage {
  readonly type: string
  readonly subtype?: string
  readonly is_error?: boolean
  readonly result?: string
  readonly errors?: readonly string[]
  readonly api_error_status?: number | null
  readonly num_turns?: number
  readonly total_cost_usd?: number
  readonly usage?: object
}

/** What we use of the SDK. */
export type ClaudeQuery = (asked: { prompt: string; options: never }) => AsyncIterable<object>

const PACKAGE = '@anthropic-ai/claude-agent-sdk'
const SERVER = 'wakeful'

/** Loaded with the first turn: it is an optional package. */
async function installedQuery(): Promise<ClaudeQuery> {
  const sdk = (await import(PACKAGE)) as { query: ClaudeQuery }
  return sdk.query
}

export function querying(
  make: (turn: Turn) => ClaudeOptions,
  options: FrameworkOptions,
  query?: ClaudeQuery,
): Agent {
  return frameworkAgent(
    'claude-agent-sdk',
    async (turn) => {
      const tools = toolsOfTurn(turn, options.tools)
      return runsOf(query ?? (await installedQuery()), optionsOf(make(turn), tools), turn.signal)
    },
    options,
  )
}

function optionsOf(made: ClaudeOptions, tools: readonly TurnTool[]) {
  const instance = serverOf(tools)
  return {
    persistSession: false,
    settingSources: [],
    tools: [],
    ...made,
    mcpServers: { ...made.mcpServers, [SERVER]: { type: 'sdk', name: SERVER, instance } },
    allowedTools: [
      ...(made.allowedTools ?? []),
      ...tools.map(({ name }) => `mcp__${SERVER}__${name}`),
    ],
  }
}

function serverOf(tools: readonly TurnTool[]): Server {
  const server = new Server({ name: SERVER, version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ name, description, parameters }) => ({
      ...{ name, description },
      // The protocol's own type wants lists it may write to.
      inputSchema: parameters as never,
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name)
    const text =
      tool === undefined ? `There is no tool ${params.name}.` : await tool.run(params.arguments)
    return { content: [{ type: 'text' as const, text }] }
  })
  return server
}

interface Said {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

function runsOf(query: ClaudeQuery, options: object, signal: AbortSignal): Runs {
  return {
    async run(messages, live) {
      const ending = new AbortController()
      const end = () => ending.abort(signal.reason)
      signal.addEventListener('abort', end, { once: true })
      try {
        const asked = { ...options, abortController: ending, includePartialMessages: live !== null }
        const prompt = promptOf(messages as readonly Said[])
        return ranOf(messages, await resultOf(query({ prompt, options: asked as never }), live))
      } finally {
        signal.removeEventListener('abort', end)
      }
    },
    resume: () => Promise.reject(new Error('claudeAgent: no run waits for approval')),
  }
}

/** The newest message is the one to act on. */
function promptOf(messages: readonly Said[]): string {
  const last = messages.at(-1)?.content ?? ''
  if (messages.length < 2) return last
  const before = messages
    .slice(0, -1)
    .map(({ role, content }) => `<${role}>\n${content}\n</${role}>`)
  return `The conversation so far:\n${before.join('\n')}\n\nNow:\n${last}`
}

async function resultOf(
  answers: AsyncIterable<object>,
  live: LiveText | null,
): Promise<ClaudeMessage> {
  let result: ClaudeMessage | undefined
  for await (const message of answers as AsyncIterable<ClaudeMessage & Partial>)
    if (message.type === 'result') result = message
    else if (message.type === 'stream_event' && live !== null) show(message, live)
  if (result === undefined) throw new Error('the Claude Agent SDK ended without a result')
  if (result.subtype === 'success' && result.is_error !== true) return result
  const why = result.errors?.join('; ') || result.result || result.subtype
  const status = result.api_error_status ?? undefined
  throw Object.assign(new Error(`the Claude Agent SDK failed: ${why}`), { status })
}

/** An event of the model's own stream; of a subagent where it has a parent. */
interface Partial {
  readonly event?: {
    readonly type: string
    readonly delta?: { readonly type: string; readonly text?: string }
  }
  readonly parent_tool_use_id?: string | null
}

/** The answer is the text of the last message, so a new message withdraws what the last one wrote. */
function show({ event, parent_tool_use_id: parent }: Partial, live: LiveText): void {
  if (parent) return
  if (event?.type === 'message_start') live.retract()
  if (event?.delta?.type === 'text_delta') live.write(event.delta.text ?? '')
}

function ranOf(messages: readonly unknown[], result: ClaudeMessage): Ran {
  const { result: text = '', num_turns: calls = 1, total_cost_usd: usd = 0 } = result
  const usage = (result.usage ?? {}) as Readonly<Record<string, number | undefined>>
  const inputs = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
  return {
    text,
    messages: [...messages, ...(text.trim() === '' ? [] : [{ role: 'assistant', content: text }])],
    usage: {
      inputTokens: inputs.reduce((sum, name) => sum + (usage[name] ?? 0), 0),
      outputTokens: usage.output_tokens ?? 0,
    },
    ...{ calls, usd, asks: [] },
  }
}
