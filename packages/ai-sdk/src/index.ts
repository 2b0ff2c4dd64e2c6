/** `wakeful/ai-sdk`: agents of the AI SDK. Of that only types are taken, so any version will do whose agents have this shape. */
import type { ToolSet } from 'ai'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { FrameworkOptions } from '../../tools/src/framework-agent.ts'
import { turnTools } from '../../tools/src/index.ts'
import { type AiSdkAgent, generating } from './agent.ts'

export type { AskedCall, FrameworkOptions, Usage } from '../../tools/src/framework-agent.ts'
export type { AiSdkAgent, AiSdkResult, AiSdkStream } from './agent.ts'

/** What an agent is made with, again for each turn. */
export interface AiSdkTurn {
  readonly turn: Turn
  /** Wakeful's own, bound to the turn: what they set is written with it, or not at all. */
  readonly tools: ToolSet
}

/** `aiSdkAgent(({ tools }) => new ToolLoopAgent({ model, tools }))` */
export function aiSdkAgent(
  make: (offered: AiSdkTurn) => AiSdkAgent,
  options: FrameworkOptions = {},
): Agent {
  if (typeof make !== 'function')
    throw new TypeError('aiSdkAgent: takes a function that makes the agent of a turn')
  return generating(
    'ai-sdk',
    (turn) => make({ turn, tools: turnTools(turn, options.tools) as ToolSet }),
    options,
  )
}
