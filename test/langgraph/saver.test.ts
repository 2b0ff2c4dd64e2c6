/** The saver outside of turns: a graph of one's own on an app's store. */
import { expect, it } from 'vitest'
import {
  graphSaver,
  langGraphAgent,
  readSessionMetadata,
} from '../../packages/langgraph/src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { KEY, lines, oneNode, say } from './graphs.ts'

const graph = () => oneNode(() => ({ seen: ['once'], effects: [say('hello')] }))

eachStore('the saver of an app', (store) => {
  it('keeps the state of graphs that no session runs', async () => {
    const w = await world(store, { bot: () => undefined })
    const config = { configurable: { thread_id: 'a thread of my own' } }
    const compiled = graph().compile({ checkpointer: graphSaver(w) })
    await compiled.invoke({}, config)
    await compiled.invoke({}, config)
    expect((await compiled.getState(config)).values.seen).toEqual(['once', 'once'])
    expect(await graphSaver(w).getTuple({ configurable: { thread_id: 'another' } })).toBeUndefined()
  })

  it('reads what a session’s turn ended in, checked; what a newer version wrote is not misread', async () => {
    const w = await world(store, { graph: langGraphAgent(graph()) })
    await lines(w, 'hi')
    const config = { configurable: { thread_id: KEY } }
    const metadata = (await graphSaver(w).getTuple(config))?.metadata ?? {}
    expect(readSessionMetadata(metadata)).toEqual({
      metadata_version: 1,
      event_seq: 1,
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: null,
    })
    await w.query(
      `update wakeful.checkpoints set metadata = replace(metadata::text, '"metadata_version":1', '"metadata_version":2')::json`,
    )
    await expect(graphSaver(w).getTuple(config)).rejects.toThrow('metadata_version')
  })
})
