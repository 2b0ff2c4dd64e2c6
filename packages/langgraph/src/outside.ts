/** For graphs that run outside of turns: the saver, which also reads checkpoints of turns. */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import type { Db } from '../../../src/store/db.ts'
import { GraphSaver } from './saver.ts'

export {
  METADATA_VERSION,
  readSessionMetadata,
  type SessionMetadata,
} from '../../../src/features/sessions/checkpoint.ts'

/**
 * LangGraph's checkpointer on an app's store: `graph.compile({ checkpointer: graphSaver(app) })`. Each put is written at once.
 * It can read the threads of sessions, but only their turns write them.
 */
export function graphSaver(app: { readonly db: Db }): BaseCheckpointSaver {
  // `compile` is typed for versions that are numbers; LangGraph itself takes whatever its saver counts in.
  return new GraphSaver(app.db) as unknown as BaseCheckpointSaver
}
