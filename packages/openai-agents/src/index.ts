/** `wakeful/openai-agents`: agents of the OpenAI Agents SDK. The only door that loads it. */
import { type FunctionTool, tool } from '@openai/agents-core'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import { type TurnToolOptions, toolsOfTurn } from '../../tools/src/turn-tools.ts'
import { type AnyOpenAiAgent, type OpenAiAgentOptions, running } from './agent.ts'

export type { AskedCall, FrameworkOptions, Usage } from '../../tools/src/framework-agent.ts'
export type { AnyOpenAiAgent, OpenAiAgentOptions } from './agent.ts'

/** What an agent is made with, again for each turn. */
export interface OpenAiTurn {
  readonly turn: Turn
  /** Wakeful's own, bound to the turn: what they set is written with it, or not at all. */
  readonly tools: FunctionTool[]
}

/** `openAiAgent(({ tools }) => new Agent({ name, model, instructions, tools }))` */
export function openAiAgent(
  make: (offered: OpenAiTurn) => AnyOpenAiAgent,
  options: OpenAiAgentOptions = {},
): Agent {
  if (typeof make !== 'function')
    throw new TypeError('openAiAgent: takes a function that makes the agent of a turn')
  return running((turn) => make({ turn, tools: toolsOf(turn, options.tools) }), options)
}

function toolsOf(turn: Turn, options?: TurnToolOptions): FunctionTool[] {
  return toolsOfTurn(turn, options).map(({ name, description, parameters, run }) =>
    tool({
      ...{ name, description, strict: false },
      // Only so are missing arguments taken.
      parameters: { ...parameters, required: [], additionalProperties: true } as never,
      execute: (args: unknown) => run(args),
    }),
  ) as FunctionTool[]
}
