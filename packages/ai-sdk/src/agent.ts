/** Agents of the AI SDK: a `ToolLoopAgent`, or any object with its `generate`. Loads nothing of the package, so any version with this shape works. */
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
} from '../../tools/src/framework-agent.ts'

/** What we use of an agent of the AI SDK. */
export interface AiSdkAgent {
  generate(options: {
    readonly messages: never[]
    readonly abortSignal: AbortSignal
  }): PromiseLike<AiSdkResult>
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
  const run = async (messages: readonly unknown[]): Promise<Ran> => {
    const result = await agent.generate({ messages: messages as never[], abortSignal })
    return ranOf(messages, result)
  }
  return {
    run,
    resume: (messages, pending, approved) => {
      const ids = Array.isArray(pending) ? pending : []
      const answers = ids.map((approvalId) => ({
        ...{ type: 'tool-approval-response', approvalId, approved },
        ...(approved ? {} : { reason: 'the user did not approve' }),
      }))
      return run([...messages, { role: 'tool', content: answers }])
    },
  }
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
