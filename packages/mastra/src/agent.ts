/**
 * Agents of Mastra. Loads nothing of the package. A run that waits for approval is in Mastra's own storage; if it is gone, the
 * model is told to ask again.
 */
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
} from '../../tools/src/framework-agent.ts'
import { streaming, type Writing } from '../../tools/src/streaming.ts'

/** What we use of an agent of Mastra. */
export interface MastraAgent {
  generate(messages: never[], options: MastraCall): Promise<MastraResult>
  /** Without it the person sees the answer when it is whole. */
  stream?(messages: never[], options: MastraCall): Promise<MastraStream>
  approveToolCallGenerate?(options: MastraCall & MastraResume): Promise<MastraResult>
  declineToolCallGenerate?(options: MastraCall & MastraResume): Promise<MastraResult>
}

/** What we use of its stream. */
export interface MastraStream {
  readonly fullStream: AsyncIterable<unknown>
  getFullOutput(): Promise<MastraResult>
}

interface MastraCall {
  readonly abortSignal: AbortSignal
  readonly toolsets: never
}

interface MastraResume {
  readonly runId: string
  readonly toolCallId: string
}

/** `calls`: already reported; a resumed run counts from its beginning. */
interface Pending extends MastraResume {
  readonly calls?: number
}

export interface MastraResult {
  readonly text: string
  readonly finishReason?: string | undefined
  readonly runId?: string | undefined
  readonly suspendPayload?: unknown
  readonly error?: unknown
  readonly response: { readonly messages?: readonly unknown[] | undefined }
  readonly totalUsage: {
    readonly inputTokens?: number | undefined
    readonly outputTokens?: number | undefined
  }
  /** One for each model call. */
  readonly steps?: readonly unknown[] | undefined
}

type Usage = MastraResult['totalUsage']

/** `make`: the agent for one turn, and the tools that are bound to it. */
export function generating(
  make: (turn: Turn) => { readonly agent: MastraAgent; readonly toolsets: object },
  options: FrameworkOptions,
): Agent {
  return frameworkAgent(
    'mastra',
    (turn) => {
      const { agent, toolsets } = make(turn)
      return runsOf(agent, { abortSignal: turn.signal, toolsets: toolsets as never })
    },
    options,
  )
}

const LOST = '[what you wanted leave for was forgotten: ask for it again if it is still wanted]'

function runsOf(agent: MastraAgent, call: MastraCall): Runs {
  const run: Runs['run'] = async (messages, live) => {
    const result = await streaming(
      agent.stream === undefined ? null : live,
      (writing) => streamed(agent, messages as never[], call, writing),
      () => agent.generate(messages as never[], call),
    )
    return ranOf(messages, result)
  }
  return {
    run,
    async resume(messages, pending, approved, live) {
      const { calls = 0, ...resume } = pending as Pending
      const asked = { ...call, ...resume }
      const result = await (approved
        ? agent.approveToolCallGenerate?.(asked)
        : agent.declineToolCallGenerate?.(asked)
      )?.catch(orForgotten)
      if (result !== undefined) return ranOf(messages, result, calls)
      return run([...messages, { role: 'user', content: LOST }], live)
    },
  }
}

async function streamed(
  agent: MastraAgent,
  messages: never[],
  call: MastraCall,
  writing: Writing,
): Promise<MastraResult | null> {
  const output = await agent.stream?.(messages, call)
  if (output === undefined) return null
  for await (const { type, payload } of output.fullStream as AsyncIterable<Chunk>) {
    if (type === 'error') throw payload?.error
    if (type === 'step-start') writing.step()
    else if (type === 'text-delta') writing.text(payload?.text ?? '')
    else if (type.startsWith('tool-')) writing.answered()
  }
  return output.getFullOutput()
}

interface Chunk {
  readonly type: string
  readonly payload?: { readonly text?: string; readonly error?: unknown }
}

function orForgotten(error: unknown): undefined {
  if (error instanceof Error && /could not find a suspended run/.test(error.message)) return
  throw error
}

function ranOf(messages: readonly unknown[], result: MastraResult, before = 0): Ran {
  const { text, finishReason, runId = '', response, error } = result
  if (error !== undefined && error !== null) throw error
  const usage: Usage = result.totalUsage ?? {}
  const { toolName, toolCallId, args } = (result.suspendPayload ?? {}) as Record<string, unknown>
  const isAsking = finishReason === 'suspended' && typeof toolCallId === 'string'
  // A suspended run reports no steps, but the model was called.
  const calls = Math.max(1, (result.steps?.length ?? 1) - before)
  return {
    text: text ?? '',
    messages: [...messages, ...(response.messages ?? [])],
    usage: { inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 },
    calls,
    asks: isAsking ? [{ tool: String(toolName), input: args }] : [],
    pending: { runId, toolCallId, calls: before + calls },
  }
}
