/**
 * The ledger with a million slots: how long a page takes under each filter, first with the statistics of an empty table,
 * then with true ones; how the database reads; and what its indexes cost when timers are promoted.
 * `node --import tsx bench/ledger.ts [--slots 1000000]`
 */
import type { Actor } from '../src/api/contract.ts'
import { execute } from '../src/api/contract.ts'
import type { App } from '../src/app/app.ts'
import { operations } from '../src/app/operations.ts'
import { newId } from '../src/core/ids.ts'
import { bucketOf } from '../src/core/session.ts'
import { ledgerWindows } from '../src/features/ledger/rows.ts'
import { promoteTimers } from '../src/features/timers/rows.ts'
import type { Db } from '../src/store/db.ts'
import { openBenchApp, percentile, postgres, report } from './stage.ts'

const ROUNDS = 30
/** Slots of one person; the first has a tenth of all. */
const EACH = 100
const TIMERS = 10_000
const BATCH = 1_000
const INDEXES = ['events_slot_idx', 'events_user_slot_idx', 'events_trigger_slot_idx']
const ADMIN: Actor = {
  role: 'admin',
  ownerDid: null,
  userId: null,
  agentId: null,
  keyId: null,
  actAs: false,
}

/** Alarms that fired: events, turns and messages; every tenth said nothing, every twentieth failed. */
async function fill(db: Db, slots: number): Promise<void> {
  const heavy = Math.floor(slots / 10)
  const users = Array.from({ length: Math.ceil((slots - heavy) / EACH) }, (_, n) => `user${n}`)
  await db.query(
    `insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, created_at)
     select u.bucket, u.user_id || ':bot:chat', n, gen_random_uuid(), 'alarm',
       ('{"alarm_id":"' || u.trigger_id || '","label":"stretch","wake_message":"wake up","payload":{},"missed_count":0,"attempt":1}')::json,
       u.trigger_id, t.at, t.at
     from unnest($1::smallint[], $2::text[], $3::uuid[], $4::int[]) u(bucket, user_id, trigger_id, total)
     cross join lateral generate_series(1, u.total) n
     cross join lateral (select now() - interval '300 days' * n / u.total - interval '1 second' * u.bucket as at) t`,
    [
      ['heavy', ...users].map(bucketOf),
      ['heavy', ...users],
      ['heavy', ...users].map(newId),
      [heavy, ...users.map(() => EACH)],
    ],
  )
  await db.exec(`
    insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, last_seq, done_seq, created_at, updated_at)
      select bucket, session_key, split_part(session_key, ':', 1), 'bot', 'chat', max(seq), max(seq), now(), now()
      from wakeful.events group by 1, 2;
    insert into wakeful.attempts (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at, error, cause)
      select bucket, session_key, seq, 1, id, case when seq % 20 = 0 then 'failed' else 'committed' end, created_at, created_at,
        case when seq % 20 = 0 then 'no luck' end, case when seq % 20 = 0 then 'agent_error' end
      from wakeful.events;
    insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status, channel, event_seq,
        reason, created_at, updated_at)
      select bucket, session_key, seq::bigint * 1000, gen_random_uuid(), 'c', 'send_message', '{"content":"stretch"}', id::text, 'completed',
        'websocket', seq, 'promise', created_at, created_at
      from wakeful.events where seq % 10 <> 0`)
}

async function pages(app: App, title: string, query: Record<string, unknown>): Promise<void> {
  const op = operations.find(({ name }) => name === 'get_ledger')
  if (op === undefined) throw new Error('get_ledger is missing')
  const times: number[] = []
  let rows = 0
  for (let round = 0; round < ROUNDS; round++) {
    const caller = { requestId: newId(), signal: new AbortController().signal }
    const start = performance.now()
    const answer = await execute(op, app.context(ADMIN, caller), {
      params: {},
      query,
      body: undefined,
    })
    times.push(performance.now() - start)
    rows = (answer.body as { data: unknown[] }).data.length
  }
  times.sort((a, b) => a - b)
  report(title, { rows, p50_ms: percentile(times, 0.5), p95_ms: percentile(times, 0.95) })
}

async function allPages(app: App, title: string): Promise<void> {
  const [some] = await app.store.db.query<{ trigger_id: string; at: Date }>(
    `select trigger_id, created_at as at from wakeful.events where session_key = 'user7:bot:chat' order by seq limit 1`,
  )
  const [middle] = await app.store.db.query<{ trigger_id: string }>(
    `select trigger_id from wakeful.events where session_key = 'heavy:bot:chat' limit 1`,
  )
  const half = new Date((some?.at.getTime() ?? 0) - 150 * 86_400_000).toISOString()
  await pages(app, `${title} everybody`, {})
  await pages(app, `${title} months ago`, { to: half })
  await pages(app, `${title} one user`, { user_id: 'user7' })
  await pages(app, `${title} heavy user`, { user_id: 'heavy' })
  await pages(app, `${title} heavy, ago`, { user_id: 'heavy', to: half })
  await pages(app, `${title} session`, { session_key: 'user7:bot:chat' })
  await pages(app, `${title} heavy session`, { session_key: 'heavy:bot:chat' })
  await pages(app, `${title} trigger`, { trigger_id: some?.trigger_id })
  await pages(app, `${title} heavy trigger`, { trigger_id: middle?.trigger_id })
  await pages(app, `${title} only failed`, { outcome: 'failed' })
  await pages(app, `${title} only work`, { trigger: 'work' })
}

/** The plan of the events' window, as the operation asks for it. */
async function explain(app: App, userId: string | null): Promise<void> {
  const plans: string[] = []
  const explained = (db: Db): Db => ({
    ...db,
    query: async <R extends object>(text: string, values?: readonly unknown[]) => {
      const rows = await db.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers) ${text}`,
        values,
      )
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
      return [] as R[]
    },
    tx: (work, options) => db.tx((tx) => work(explained(tx)), options),
  })
  const scope = { userId, session: null, triggerId: null, from: null, to: null, after: null }
  await ledgerWindows(explained(app.store.db), scope, null, 64)
  console.log(`\nwindow of events, ${userId ?? 'everybody'}:\n${plans[0]}\n`)
}

async function promotion(app: App, title: string): Promise<void> {
  const { db } = app.store
  const users = Array.from({ length: TIMERS }, (_, n) => `timed${n}`)
  await db.query(
    `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
     select bucket, user_id || ':bot:t', user_id, 'bot', 't', now(), now() from unnest($1::smallint[], $2::text[]) u(bucket, user_id)
     on conflict do nothing`,
    [users.map(bucketOf), users],
  )
  await db.query(
    `insert into wakeful.autonomy_timers (bucket, id, session_key, timer_id, fire_at, status, created_at, updated_at)
     select bucket, gen_random_uuid(), user_id || ':bot:t', gen_random_uuid()::text, now() - interval '1 second', 'pending', now(), now()
     from unnest($1::smallint[], $2::text[]) u(bucket, user_id)`,
    [users.map(bucketOf), users],
  )
  const start = performance.now()
  let promoted = 0
  for (;;) {
    const { events } = await promoteTimers(app.store.engine, BATCH)
    promoted += events.length
    if (events.length === 0) break
  }
  const ms = performance.now() - start
  report(`promote ${title}`, { promoted, ms, each_us: (ms / promoted) * 1000 })
}

async function indexed(db: Db, on: boolean): Promise<void> {
  if (!on)
    for (const name of INDEXES) await db.exec(`alter index wakeful.${name} rename to off_${name}`)
  const list = INDEXES.map((name) => `'off_${name}'`).join(', ')
  // An index that is not ready is not written to either: the cost of keeping it is gone, it need not be built anew.
  await db.exec(
    `update pg_index set indisready = ${on}, indisvalid = ${on} where indexrelid in (
       select oid from pg_class where relname in (${list}))`,
  )
}

const wanted = process.argv.indexOf('--slots')
const slots = wanted < 0 ? 1_000_000 : Number(process.argv[wanted + 1])
const server = await postgres()
const app = await openBenchApp(server.url, {})
try {
  await app.start()
  const { db } = app.store
  // For migrations: the one that may take longer than any request.
  await fill(app.store.migrations, slots)
  report('filled', { slots })
  await allPages(app, 'no stats')
  await app.store.migrations.exec('vacuum analyze')
  await allPages(app, 'stats')
  await explain(app, null)
  await explain(app, 'heavy')
  for (let round = 0; round < 2; round++) await promotion(app, 'with the indexes')
  await indexed(db, false)
  for (let round = 0; round < 2; round++) await promotion(app, 'without them')
} finally {
  await app.stop()
  await server.stop()
}
