/** `wakeful/langgraph`: agents that are LangGraph graphs. The only door that loads LangGraph. */
export {
  type CompiledGraph,
  effectsChannel,
  type GraphBuilder,
  type GraphEffect,
  type GraphEvent,
  type LangGraphOptions,
  langGraphAgent,
} from './agents/langgraph.ts'
