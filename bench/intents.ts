/**
 * Intents: what outside workers ask for most. `/pending` and claims with 100,000 enabled intents of which 1,000 are
 * due, first with the statistics of an empty table, then with true ones; and reports.
 * `node --import tsx bench/intents.ts [--intents 100000]`
 */
import type { Actor } from '../src/api/contract.ts'
import { execute } from '../src/api/contract.ts'
import type { App } from '../src/app/app.ts'
import { operations } from '../src/app/operations.ts'
import { newId } from '../src/core/ids.ts'
import { bucketOf } from '../src/core/session.ts'
import { claimPending, pendingIntents } from '../src/features/intents/report-rows.ts'
import type { Db } from '../src/store/db.ts'
import { openBenchApp, percentile, postgres, report } from './stage.ts'

const DUE = 1_000
/** Intents of one person. */
const EACH = 25
const ROUNDS = 50
const REPORTS = 2_000
const LANES = 16
const ADMIN: Actor = {
  role: 'admin',
  ownerDid: null,
  userId: null,
  agentId: null,
  keyId: null,
  actAs: false,
}

async function fill(db: Db, count: number): Promise<void> {
  const users = Array.from({ length: Math.ceil(count / EACH) }, (_, n) => `user${n}`)
  await db.query(
    `insert into wakeful.scheduled_intents (bucket, id, user_id, intent_name, trigger_type, trigger_schedule, trigger_condition,
       action_context, next_check, created_at, updated_at, anchor_at)
     select u.bucket, gen_random_uuid(), u.user_id, 'dip', 'price', '{"check_interval_minutes":30}',
       json_build_object('ticker', 'T' || n % 500, 'operator', '<', 'value', 130), 'tell them',
       case when n % ($1::int / $2::int) = 0 then now() - interval '1 minute' else now() + n * interval '1 second' + interval '1 hour' end,
       now(), now(), now()
     from unnest($3::smallint[], $4::text[]) with ordinality u(bucket, user_id, place)
     cross join lateral generate_series((u.place - 1) * $5::int, u.place * $5::int - 1) n`,
    [count, DUE, users.map(bucketOf), users, EACH],
  )
}

/** The same statement, but the database says how long it took and how it read. */
function explaining(db: Db, plans: string[]): Db {
  const explain = (tx: Db): Db => ({
    ...tx,
    query: async <R extends object>(text: string, values?: readonly unknown[]) => {
      const rows = await tx.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers) ${text}`,
        values,
      )
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
      return [] as R[]
    },
  })
  return { ...db, tx: (work, options) => db.tx((tx) => work(explain(tx)), options) }
}

const executionMs = (plan: string) => Number(/Execution Time: ([\d.]+) ms/.exec(plan)?.[1])

async function pending(db: Db, title: string, userId: string | null): Promise<void> {
  const page = { userId, limit: DUE, offset: 0 }
  const times: number[] = []
  let rows = 0
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    rows = (await pendingIntents(db, page)).length
    times.push(performance.now() - start)
  }
  const plans: string[] = []
  for (let round = 0; round < ROUNDS; round++) await pendingIntents(explaining(db, plans), page)
  times.sort((a, b) => a - b)
  const inside = plans.map(executionMs).sort((a, b) => a - b)
  report(title, {
    rows,
    'in the database p50 ms': percentile(inside, 0.5),
    'p99 ms': percentile(inside, 0.99),
    'with all rows read p50 ms': percentile(times, 0.5),
    'reads the index': plans.every((plan) => /Index Scan/.test(plan) && !/Seq Scan/.test(plan))
      ? 'yes'
      : (plans.at(-1) ?? 'no plan'),
  })
}

async function claims(db: Db): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < 10; round++) {
    const tokens = Array.from({ length: DUE }, newId)
    const start = performance.now()
    const rows = await claimPending(db, { userId: null, seconds: 60, tokens })
    times.push(performance.now() - start)
    if (rows.length !== DUE) throw new Error(`${rows.length} claimed`)
    await db.query(
      'update wakeful.scheduled_intents set claim_token = null, claimed_until = null where claim_token is not null',
    )
  }
  times.sort((a, b) => a - b)
  report('claim 1,000', { 'p50 ms': percentile(times, 0.5), 'max ms': times.at(-1) ?? Number.NaN })
}

async function reports(app: App): Promise<void> {
  const fire = operations.find((op) => op.name === 'fire_intent')
  if (fire === undefined) throw new Error('the operation fire_intent is missing')
  const rows = await app.store.db.query<{ id: string }>(
    'select id from wakeful.scheduled_intents order by next_check limit $1',
    [REPORTS],
  )
  const ctx = app.context(ADMIN, { requestId: 'bench', signal: new AbortController().signal })
  const raw = { query: {}, body: { status: 'condition_not_met', trigger_data: { price: 131 } } }
  const start = performance.now()
  const lane = async () => {
    for (let row = rows.pop(); row !== undefined; row = rows.pop())
      await execute(fire, ctx, { ...raw, params: { id: row.id } })
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  const ms = performance.now() - start
  report('reports', { lanes: LANES, 'per second': (REPORTS / ms) * 1000 })
}

const given = process.argv.indexOf('--intents')
const intents = given < 0 ? 100_000 : Number(process.argv[given + 1])
const server = await postgres()
const app = await openBenchApp(server.url, {}, { WAKEFUL_SERVICES: 'http' })
try {
  await app.start()
  const { db } = app.store
  await db.exec('alter table wakeful.scheduled_intents set (autovacuum_enabled = off)')
  await db.exec('analyze wakeful.scheduled_intents')
  await fill(db, intents)
  await pending(db, 'pending, old statistics', null)
  await db.exec('vacuum analyze wakeful.scheduled_intents')
  await pending(db, 'pending', null)
  await pending(db, 'pending of one user', 'user4')
  await claims(db)
  await reports(app)
} finally {
  await app.stop()
  await server.stop()
}
