/** `wakeful/langgraph`: agents that are LangGraph graphs, and their checkpoints. The only entry point that loads LangGraph. */

export {
  type CompiledGraph,
  effectsChannel,
  type GraphBuilder,
  type GraphEvent,
  type LangGraphOptions,
  langGraphAgent,
} from './agent.ts'
export type { GraphEffect } from './effects.ts'
export {
  graphSaver,
  METADATA_VERSION,
  readSessionMetadata,
  type SessionMetadata,
} from './outside.ts'
export { graphTools, langchainTools } from './tools.ts'
