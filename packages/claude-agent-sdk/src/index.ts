/** `wakeful/claude-agent-sdk`: agents of the Claude Agent SDK. */
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { FrameworkOptions } from '../../tools/src/framework-agent.ts'
import { type ClaudeOptions, type ClaudeQuery, querying } from './agent.ts'

export type { AskedCall, FrameworkOptions, Usage } from '../../tools/src/framework-agent.ts'
export type { ClaudeMessage, ClaudeOptions, ClaudeQuery } from './agent.ts'

export interface ClaudeAgentOptions extends FrameworkOptions {
  /** `query` of the SDK; by default it is loaded from `@anthropic-ai/claude-agent-sdk`. */
  readonly query?: ClaudeQuery
}

/**
 * `claudeAgent({ model, systemPrompt })`: what the SDK's `query` takes as `options`, or a function that makes it for a turn. Wakeful's own
 * tools are offered as the MCP server `wakeful`. The SDK's built-in tools and the settings of the machine are left out unless named.
 */
export function claudeAgent(
  made: ClaudeOptions | ((turn: Turn) => ClaudeOptions),
  options: ClaudeAgentOptions = {},
): Agent {
  if (typeof made !== 'function' && (typeof made !== 'object' || made === null))
    throw new TypeError('claudeAgent: takes the options of a query, or a function that makes them')
  return querying(typeof made === 'function' ? made : () => made, options, options.query)
}
