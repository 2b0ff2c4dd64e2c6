/** Agents of the OpenAI Agents SDK, run by its `Runner`. */
import { type Agent as OpenAiAgent, Runner, type RunResult, RunState } from '@openai/agents-core'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
  type Usage,
} from '../../tools/src/framework-agent.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever it takes as context and gives as output
export type AnyOpenAiAgent = OpenAiAgent<any, any>

export interface OpenAiAgentOptions extends FrameworkOptions {
  /** Default: a new `Runner`. */
  readonly runner?: Runner
}

/** A run that waits for approval: the SDK's serialized state, and the usage reported so far. */
interface Pending {
  readonly state: string
  readonly used: Used
}

/** Usage of a run from its beginning; runs stored by an older version have no `requests`. */
interface Used extends Usage {
  readonly requests?: number
}

const NONE: Used = { inputTokens: 0, outputTokens: 0 }

/** `make`: the agent for one turn. */
export function running(make: (turn: Turn) => AnyOpenAiAgent, options: OpenAiAgentOptions): Agent {
  const runner = options.runner ?? new Runner()
  return frameworkAgent('openai-agents', (turn) => runsOf(runner, make(turn), turn.signal), options)
}

function runsOf(runner: Runner, agent: AnyOpenAiAgent, signal: AbortSignal): Runs {
  return {
    run: async (messages) => ranOf(await runner.run(agent, messages as never[], { signal }), NONE),
    async resume(_messages, pending, approved) {
      const { state: text, used } = pending as Pending
      const state = await RunState.fromString(agent, text)
      for (const asked of state.getInterruptions())
        if (approved) state.approve(asked)
        else state.reject(asked)
      return ranOf(await runner.run(agent, state, { signal }), used)
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: of whatever context
function ranOf(result: RunResult<any, AnyOpenAiAgent>, used: Used): Ran {
  const { history, interruptions, state } = result
  const { inputTokens, outputTokens, requests } = state.usage
  const asks = interruptions.map((asked) => ({
    tool: asked.name ?? 'a tool',
    input: asked.arguments ?? '',
  }))
  const pending: Pending = {
    state: asks.length > 0 ? state.toString() : '',
    used: { inputTokens, outputTokens, requests },
  }
  return {
    text: asks.length > 0 ? '' : textOf(result.finalOutput),
    messages: history,
    // A resumed run counts from its beginning.
    usage: {
      inputTokens: inputTokens - used.inputTokens,
      outputTokens: outputTokens - used.outputTokens,
    },
    calls: requests - (used.requests ?? 0),
    asks,
    pending,
  }
}

function textOf(output: unknown): string {
  if (output === undefined || output === null) return ''
  if (typeof output === 'string') return output
  const text = JSON.stringify(output)
  if (text === undefined) throw new TerminalError('the output of the agent is not JSON')
  return text
}
