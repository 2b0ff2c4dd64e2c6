/** `wakeful/mastra`: agents of Mastra. */
import type { Agent } from '../../../src/agents/agent.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { FrameworkOptions } from '../../tools/src/framework-agent.ts'
import { turnTools } from '../../tools/src/index.ts'
import { generating, type MastraAgent } from './agent.ts'

export type { AskedCall, FrameworkOptions, Usage } from '../../tools/src/framework-agent.ts'
export type { MastraAgent, MastraResult, MastraStream } from './agent.ts'

/** `mastraAgent(agent)`: it is offered Wakeful's own tools beside its own, as the toolset `wakeful`, bound to each turn. */
export function mastraAgent(
  agent: MastraAgent | ((turn: Turn) => MastraAgent),
  options: FrameworkOptions = {},
): Agent {
  const make = typeof agent === 'function' ? agent : () => agent
  if (typeof agent !== 'function' && typeof agent?.generate !== 'function')
    throw new TypeError('mastraAgent: takes an agent of Mastra, or a function that makes one')
  return generating(
    (turn) => ({ agent: make(turn), toolsets: { wakeful: turnTools(turn, options.tools) } }),
    options,
  )
}
