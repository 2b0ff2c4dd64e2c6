/** Intents that are due and whose condition does not hold: how many of them the clock looks at in a second. */
import type { App } from '../../src/app/app.ts'
import { priceSignal } from '../../src/features/intents/signal.ts'
import { takeSignals } from '../../src/features/intents/signal-trigger.ts'
import { intentTrigger } from '../../src/features/intents/trigger.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import type { Arena } from '../arena.ts'
import type { Figure } from '../figures.ts'
import { openBenchApp } from '../stage.ts'

export const TICKERS = 500
export const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }

export interface Size {
  readonly rounds: number
  readonly intents: number
}

/** One person each, so that nothing but the ticker brings them together; one in ten fires below 10, the rest below 1. */
export async function seed(app: App, intents: number): Promise<void> {
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

/** Every ticker has a price at which nothing fires. */
export async function price(app: App): Promise<void> {
  const tickers = Array.from({ length: TICKERS }, (_, n) => `T${n}`)
  const at = new Date(performance.timeOrigin + performance.now())
  await takeSignals(
    app.store.commits,
    tickers.map((ticker) => priceSignal({ ticker, price: 100 }, at, null)),
    { ...POLICY, autonomy: false },
  )
  await app.store.db.exec('analyze')
}

/** Conditions a second, of so many that are due at once. */
export async function looks(app: App, count: number): Promise<number> {
  await app.store.db.query(
    `update wakeful.scheduled_intents set next_check = now() where id in (select id from wakeful.scheduled_intents limit ${count})`,
  )
  const start = performance.now()
  // Two at a time, as the clock does while much is due.
  const lane = async () => {
    while ((await intentTrigger.promote(app.store.engine)).more);
  }
  await Promise.all([lane(), lane()])
  return (count * 1000) / (performance.now() - start)
}

export async function conditions(arena: Arena, size: Size): Promise<Figure[]> {
  const rounds = await arena.onDatabase(async (url) => {
    const app = await openBenchApp(url, {})
    try {
      await migrateUp(app.store.migrations)
      await seed(app, size.intents)
      await price(app)
      // The first look compiles and plans.
      await looks(app, size.intents)
      const rates: number[] = []
      for (let round = 0; round < size.rounds; round++) rates.push(await looks(app, size.intents))
      return rates
    } finally {
      await app.stop()
    }
  })
  console.error(`  ${rounds.map(Math.round).join(', ')} /s`)
  return [
    {
      measure: 'conditions that do not hold',
      name: 'Wakeful, the clock alone',
      unit: '/s',
      rounds,
      goal: { least: 20_000 },
    },
  ]
}
