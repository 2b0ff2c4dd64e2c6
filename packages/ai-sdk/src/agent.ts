/** Agents of the AI SDK: a `ToolLoopAgent`, or any object with its `generate`. Loads nothing of the package, so any version with this shape works. */
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
} from '../../tools/src/framework-agent.ts'
import { streaming, type Writing } from '../../tools/src/streaming.ts'

interface AiSdkCall {
  readonly messages: never[]
  readonly abortSignal: AbortSignal
}

/** What we use of an agent of the AI SDK. */
export interface AiSdkAgent {
  generate(options: AiSdkCall): PromiseLike<AiSdkResult>
  /** Without it the person sees the answer when it is whole. */
  stream?(options: AiSdkCall): PromiseLike<AiSdkStream>
}

/** What we use of its stream. */
export interface AiSdkStream {
  readonly fullStream: AsyncIterable<{ readonly type: string }>
  readonly text: PromiseLike<AiSdkResult['text']>
  readonly content: PromiseLike<AiSdkResult['content']>
  readonly response: PromiseLike<AiSdkResult['response']>
  readonly totalUsage: PromiseLike<AiSdkResult['totalUsage']>
  readonly steps?: PromiseLike<AiSdkResult['steps']> | undefined
}

export interface AiSdkResult {
  readonly text: string
  readonly content: readonly { readonly type: string }[]
  readonly response: { readonly messages: readonly unknown[] }
  readonly totalUsage: {
    readonly inputTokens?: number | undefined
    readonly outputTokens?: number | undefined
  }
  /** One for each model call. */
  readonly steps?: readonly unknown[] | undefined
}

interface ApprovalRequest {
  readonly type: string
  readonly approvalId: string
  readonly toolCall: { readonly toolName: string; readonly input: unknown }
}

/** `make`: the agent for one turn. */
export function generating(
  kind: string,
  make: (turn: Turn) => AiSdkAgent,
  options: FrameworkOptions,
): Agent {
  return frameworkAgent(kind, (turn) => runsOf(make(turn), turn.signal), options)
}

function runsOf(agent: AiSdkAgent, abortSignal: AbortSignal): Runs {
  const run: Runs['run'] = async (messages, live) => {
    const call: AiSdkCall = { messages: messages as never[], abortSignal }
    const result = await streaming(
      agent.stream === undefined ? null : live,
      (writing) => streamed(agent, call, writing),
      async () => agent.generate(call),
    )
    return ranOf(messages, result)
  }
  return {
    run,
    resume: (messages, pending, approved, live) => {
      const ids = Array.isArray(pending) ? pending : []
      const answers = ids.map((approvalId) => ({
        ...{ type: 'tool-approval-response', approvalId, approved },
        ...(approved ? {} : { reason: 'the user did not approve' }),
      }))
      return run([...messages, { role: 'tool', content: answers }], live)
    },
  }
}

async function streamed(
  agent: AiSdkAgent,
  call: AiSdkCall,
  writing: Writing,
): Promise<AiSdkResult | null> {
  const result = await agent.stream?.(call)
  if (result === undefined) return null
  for await (const part of result.fullStream as AsyncIterable<StreamPart>) {
    if (part.type === 'error') throw part.error
    if (part.type === 'start-step') writing.step()
    else if (part.type === 'text-delta') writing.text(part.text ?? '')
    else if (part.type.startsWith('tool-')) writing.answered()
  }
  call.abortSignal.throwIfAborted()
  const { text, content, response, totalUsage, steps } = result
  return {
    text: await text,
    content: await content,
    response: await response,
    totalUsage: await totalUsage,
    steps: await steps,
  }
}

interface StreamPart {
  readonly type: string
  readonly text?: string
  readonly error?: unknown
}

function ranOf(messages: readonly unknown[], result: AiSdkResult): Ran {
  const { text, content, response, totalUsage, steps } = result
  const asked = content.filter(
    (part): part is ApprovalRequest => part.type === 'tool-approval-request',
  )
  return {
    text,
    messages: [...messages, ...response.messages],
    usage: {
      inputTokens: totalUsage.inputTokens ?? 0,
      outputTokens: totalUsage.outputTokens ?? 0,
    },
    calls: steps?.length ?? 1,
    asks: asked.map(({ toolCall }) => ({ tool: toolCall.toolName, input: toolCall.input })),
    pending: asked.map(({ approvalId }) => approvalId),
  }
}
