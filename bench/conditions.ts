/**
 * Conditions: how many the clock looks at in a second without an agent call, and how long one price takes from being
 * told to its hits being promoted, with many intents that wait for other tickers.
 * `node --import tsx bench/conditions.ts [--intents 100000]`
 */
import { agent } from '../src/agents/function.ts'
import type { App } from '../src/app/app.ts'
import { priceSignal } from '../src/core/intents/signal.ts'
import { migrateUp } from '../src/store/db/migrate.ts'
import { intentTrigger } from '../src/triggers/intent.ts'
import { takeSignals } from '../src/triggers/signal.ts'
import { openBenchApp, percentile, postgres, report } from './stage.ts'

const TICKERS = 500
const SIGNALS = 60
const ROUNDS = 40
const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }

/** One person each, so that nothing but the ticker brings them together; one in ten fires below 10, the rest below 1. */
async function seed(app: App, intents: number): Promise<void> {
  for (let start = 0; start < intents; start += 5_000) {
    await app.store.db.query(
      `with made as (
         insert into wakeful.scheduled_intents (bucket, id, user_id, intent_name, trigger_type, trigger_condition, action_context, next_check,
           created_at, updated_at, anchor_at, agent_id)
         select n % 1024, gen_random_uuid(), 'u' || n, 'bench', 'price',
           ('{"ticker":"T' || n % ${TICKERS} || '","operator":"<","value":' || case when n / ${TICKERS} % 10 = 0 then 10 else 1 end || '}')::json, 'bench',
           now() + interval '1 day', now(), now(), now(), 'noop'
         from generate_series(${start} + 1, least(${start} + 5000, ${intents})) n returning bucket, id, user_id, trigger_condition)
       insert into wakeful.intent_watches (bucket, intent_id, kind, key, user_id)
       select bucket, id, 'price', trigger_condition ->> 'ticker', user_id from made`,
    )
  }
}

/** What the clock does with intents that are due and have nothing to fire for. */
async function looks(app: App): Promise<void> {
  const tickers = Array.from({ length: TICKERS }, (_, n) => `T${n}`)
  const at = new Date(performance.timeOrigin + performance.now())
  await takeSignals(
    app.store.commits,
    tickers.map((ticker) => priceSignal({ ticker, price: 100 }, at, null)),
    { ...POLICY, autonomy: false },
  )
  await app.store.db.exec('analyze')
  const trigger = intentTrigger
  for (const round of ['first', 'again']) {
    await app.store.db.query(
      `update wakeful.scheduled_intents set next_check = now() where id in (select id from wakeful.scheduled_intents limit ${ROUNDS * 1000})`,
    )
    const start = performance.now()
    let batches = 0
    // Two at a time, as the clock does while much is due.
    const lane = async () => {
      while ((await trigger.promote(app.store.engine)).more) batches++
    }
    await Promise.all([lane(), lane()])
    const ms = performance.now() - start
    report(`looks, ${round}`, {
      conditions: batches * 1000,
      'per second': (batches * 1_000_000) / ms,
      'ms a batch': ms / batches,
    })
  }
}

async function signals(app: App, intents: number): Promise<void> {
  const times: number[] = []
  let promoted = 0
  for (let n = 0; n < SIGNALS; n++) {
    const at = new Date(performance.timeOrigin + performance.now())
    const start = performance.now()
    const [taken] = await takeSignals(
      app.store.commits,
      [priceSignal({ ticker: `T${n}`, price: 5 }, at, null)],
      POLICY,
    )
    times.push(performance.now() - start)
    promoted += taken?.promoted ?? 0
  }
  times.sort((a, b) => a - b)
  report('one price', {
    intents,
    tickers: TICKERS,
    'waiting for it': intents / TICKERS,
    'promoted each': promoted / SIGNALS,
    'p50 ms': percentile(times, 0.5),
    'p99 ms': percentile(times, 0.99),
  })
}

const flag = process.argv.indexOf('--intents')
const intents = flag < 0 ? 100_000 : Number(process.argv[flag + 1])
const server = await postgres()
const app = await openBenchApp(server.url, { noop: agent(() => undefined) })
try {
  await migrateUp(app.store.db)
  await seed(app, intents)
  await looks(app)
  await signals(app, intents)
} finally {
  await app.stop()
  await server.stop()
}
