// graphile-worker as its documentation on performance sets it up: a local queue, completions in batches, and polling
// often enough that jobs of the future are not late by seconds.
import { makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { contest } from '../built/contest.js'

const QUIET = { logger: undefined, noHandleSignals: true }
const BATCH = 1_000
let runner
let client

await contest({
  async seed({ url }, jobs) {
    const utils = await makeWorkerUtils({ connectionString: url })
    await utils.migrate()
    for (let start = 0; start < jobs.length; start += BATCH) {
      const specs = jobs.slice(start, start + BATCH).map(({ due }) => ({
        identifier: 'bench',
        payload: { due },
        runAt: new Date(due),
      }))
      await utils.addJobs(specs)
    }
    await utils.release()
  },
  async start({ url }, seen) {
    client = new pg.Client({ connectionString: url })
    await client.connect()
    runner = await run({
      ...QUIET,
      preset: {
        worker: {
          connectionString: url,
          concurrentJobs: 24,
          maxPoolSize: 26,
          pollInterval: 100,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      taskList: { bench: async ({ due }) => seen(due) },
    })
    return ''
  },
  async left() {
    const { rows } = await client.query(
      'select exists (select from graphile_worker._private_jobs) as there',
    )
    return rows[0].there
  },
  async stop() {
    await runner.stop()
    await client.end()
  },
})
