// pg-boss with two workers that fetch a thousand jobs at a time, again at once while batches come back full, else as often as it
// allows, twice a second.

import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { contest } from '../built/contest.js'

const QUEUE = 'bench'
const WORKERS = 2
const BATCH = 1_000
const POLL_SECONDS = 0.5
let boss
let client

await contest({
  async seed({ url }, jobs) {
    const seeding = new PgBoss({ connectionString: url, supervise: false, schedule: false })
    seeding.on('error', console.error)
    await seeding.start()
    await seeding.createQueue(QUEUE)
    for (let start = 0; start < jobs.length; start += BATCH) {
      const part = jobs.slice(start, start + BATCH)
      const rows = part.map(({ due }) => ({ data: { due }, startAfter: new Date(due) }))
      await seeding.insert(QUEUE, rows)
    }
    await seeding.stop({ graceful: false })
  },
  async start({ url }, seen) {
    client = new pg.Client({ connectionString: url })
    await client.connect()
    boss = new PgBoss({ connectionString: url, schedule: false })
    boss.on('error', console.error)
    await boss.start()
    const options = {
      batchSize: BATCH,
      pollingIntervalSeconds: POLL_SECONDS,
      burstWhenBatchFull: true,
    }
    const work = async (jobs) => {
      for (const { data } of jobs) seen(data.due)
    }
    for (let n = 0; n < WORKERS; n++) await boss.work(QUEUE, options, work)
    return ''
  },
  async left() {
    const { rows } = await client.query(
      `select exists (select from pgboss.job where name = $1 and state < 'completed') as there`,
      [QUEUE],
    )
    return rows[0].there
  },
  async stop() {
    await boss.stop({ graceful: false })
    await client.end()
  },
})
