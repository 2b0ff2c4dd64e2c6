/** `wakeful/openai-agents`: agents of the OpenAI Agents SDK. The only door that loads it. */
import { type FunctionTool, tool } from '@openai/agents-core'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import { turnTools } from '../../tools/src/index.ts'
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
  return running((turn) => make({ turn, tools: toolsOf(turn) }), options)
}

function toolsOf(turn: Turn): FunctionTool[] {
  return Object.entries(turnTools(turn)).map(([name, { description, inputSchema, execute }]) =>
    tool({
      name,
      description,
      parameters: { ...inputSchema.jsonSchema, required: [], additionalProperties: true } as never,
      strict: false,
      execute: (args: unknown) => execute(args),
    }),
  ) as FunctionTool[]
}
