/** LangGraph's own suite for checkpointers, in full, on both stores, writing through. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { GraphSaver } from '../../packages/langgraph/src/saver.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { eachStore } from '../setup/stores.ts'

// The suite takes vitest's functions from the global scope.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it })
const { deltaChannelHistoryTests, specTest } = await import(
  '@langchain/langgraph-checkpoint-validation'
)

eachStore('the validation suite', (store) => {
  let opened: Store | undefined
  const db = () => {
    if (opened === undefined) throw new Error('the store is not open')
    return opened.db
  }
  const initializer = {
    checkpointerName: 'wakeful',
    beforeAllTimeout: 60_000,
    async beforeAll() {
      opened = await openStore(await store.database(), {
        now: () => null,
        onError: () => undefined,
      })
      await migrateUp(db())
    },
    afterAll: () => opened?.close(),
    /** Each part of the suite expects to be alone. */
    async createCheckpointer() {
      await db().exec(
        'truncate wakeful.checkpoints, wakeful.checkpoint_blobs, wakeful.checkpoint_writes',
      )
      return new GraphSaver(db())
    },
  }
  specTest(initializer as unknown as Parameters<typeof specTest>[0])
  deltaChannelHistoryTests(initializer as unknown as Parameters<typeof specTest>[0])
})
