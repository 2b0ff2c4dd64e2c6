/** `wakeful/mastra`: agents of Mastra. */
import type { Agent } from './agents/agent.ts'
import type { ForeignOptions } from './agents/foreign.ts'
import type { Turn } from './agents/function.ts'
import { generating, type MastraAgent } from './agents/mastra.ts'
import { turnTools } from './tools.ts'

export type { AskedCall, ForeignOptions, Usage } from './agents/foreign.ts'
export type { MastraAgent, MastraResult } from './agents/mastra.ts'

/** `mastraAgent(agent)`: it is offered Wakeful's own tools beside its own, as the toolset `wakeful`, bound to each turn. */
export function mastraAgent(
  agent: MastraAgent | ((turn: Turn) => MastraAgent),
  options: ForeignOptions = {},
): Agent {
  const make = typeof agent === 'function' ? agent : () => agent
  if (typeof agent !== 'function' && typeof agent?.generate !== 'function')
    throw new TypeError('mastraAgent: takes an agent of Mastra, or a function that makes one')
  return generating(
    (turn) => ({ agent: make(turn), toolsets: { wakeful: turnTools(turn) } }),
    options,
  )
}
