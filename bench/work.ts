/**
 * Work: many recurring works due in one minute, with an executor that does nothing; how long until every output
 * is completed. `node --import tsx bench/work.ts [--works 10000] [--users 1000]`
 */
import { pino } from 'pino'
import { App } from '../src/app/app.ts'
import { readConfig } from '../src/app/packs.ts'
import { postgres, report, until } from './stage.ts'

const option = (name: string, otherwise: number) => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? otherwise : Number(process.argv[at + 1])
}
const WORKS = option('works', 10_000)
const USERS = option('users', 1_000)

const server = await postgres()
const config = readConfig({ DATABASE_URL: server.url, PORT: '0', LOG_LEVEL: 'error' })
const app = await App.open({
  config,
  agents: new Map(),
  work: new Map([['idle', async () => ({ title: 'Nothing', content: '' })]]),
  log: pino({ level: 'error' }, pino.destination(2)),
})
await app.start()
// By plain SQL: what is measured begins when they become due, all in one minute that has just passed.
await app.store.db.query(
  `insert into wakeful.work (bucket, id, task, agent_type, user_id, frequency, frequency_cron, timezone, anchor_at, is_active,
     next_run_at, created_at, updated_at)
   select n % $2::int % 1024, gen_random_uuid(), 'bench', 'idle', 'u' || n % $2::int, 'daily', '@every 24h', 'UTC', at, true, at, now(), now()
   from (select n, date_trunc('second', now()) + interval '3 seconds' - (n % 60) * interval '1 millisecond' as at
         from generate_series(1, $1::int) n) i`,
  [WORKS, USERS],
)
const [due] = await app.store.db.query<{ at: Date }>(
  'select max(next_run_at) as at from wakeful.work',
)
const count = async () => {
  const [row] = await app.store.db.query<{
    done: number
    last: Date | null
    p50: number
    failed: number
  }>(
    `select count(*) filter (where status = 'completed')::int as done, count(*) filter (where status = 'failed')::int as failed,
       max(completed_at) as last,
       percentile_cont(0.5) within group (order by extract(epoch from completed_at - slot) * 1000)::float8 as p50
     from wakeful.work_outputs`,
  )
  if (row === undefined) throw new Error('no figures')
  return row
}
await until(async () => (await count()).done === WORKS, 60_000)
const { last, p50, failed } = await count()
report('work due at once', {
  works: WORKS,
  users: USERS,
  'all completed after ms': (last?.getTime() ?? 0) - (due?.at.getTime() ?? 0),
  'p50 ms': p50,
  failed,
})
await app.stop()
await server.stop()
