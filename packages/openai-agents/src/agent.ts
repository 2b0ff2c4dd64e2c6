/** Agents of the OpenAI Agents SDK, run by its `Runner`. */
import {
  type Agent as OpenAiAgent,
  Runner,
  type RunResult,
  RunState,
  type RunStreamEvent,
  type StreamedRunResult,
} from '@openai/agents-core'
import type { Agent, LiveText } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import {
  type FrameworkOptions,
  frameworkAgent,
  type Ran,
  type Runs,
  type Usage,
} from '../../tools/src/framework-agent.ts'
import { streaming, type Writing } from '../../tools/src/streaming.ts'

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
  // Made for each run, since a run changes its state.
  const start = async (input: () => Promise<Input>, used: Used, live: LiveText | null) => {
    const result = await streaming<AnyResult>(
      live,
      async (writing) => {
        const ending = new AbortController()
        const either = AbortSignal.any([signal, ending.signal])
        const run = await runner.run(agent, await input(), { signal: either, stream: true })
        for await (const event of run) {
          note(event, writing)
          // The SDK would ask the endpoint again up to its limit of turns.
          if (!isEmptyAnswer(event)) continue
          ending.abort()
          return null
        }
        await run.completed
        return run
      },
      async () => runner.run(agent, await input(), { signal }),
    )
    return ranOf(result, used)
  }
  return {
    run: (messages, live) => start(async () => messages as never[], NONE, live),
    resume(_messages, pending, approved, live) {
      const { state: text, used } = pending as Pending
      const decided = async () => {
        const state = await RunState.fromString(agent, text)
        for (const asked of state.getInterruptions())
          if (approved) state.approve(asked)
          else state.reject(asked)
        return state
      }
      return start(decided, used, live)
    },
  }
}

function note(event: RunStreamEvent, writing: Writing): void {
  if (event.type === 'run_item_stream_event') writing.answered()
  if (event.type !== 'raw_model_stream_event') return
  if (event.data.type === 'response_started') writing.step()
  else if (event.data.type === 'output_text_delta') writing.text(event.data.delta)
}

/** Of an endpoint that does not stream. */
function isEmptyAnswer(event: RunStreamEvent): boolean {
  if (event.type !== 'raw_model_stream_event' || event.data.type !== 'response_done') return false
  return event.data.response.output.length === 0
}

type Input = never[] | Awaited<ReturnType<typeof RunState.fromString>>
// biome-ignore lint/suspicious/noExplicitAny: of whatever context
type AnyResult = RunResult<any, AnyOpenAiAgent> | StreamedRunResult<any, AnyOpenAiAgent>

function ranOf(result: AnyResult, used: Used): Ran {
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
