/**
 * Conditions: how many the clock looks at in a second without an agent call, and how long one price takes from being
 * told to its hits being promoted, with many intents that wait for other tickers.
 * `node --import tsx bench/conditions.ts [--intents 100000]`
 */
import { agent } from '../src/agents/function.ts'
import type { App } from '../src/app/app.ts'
import { priceSignal } from '../src/features/intents/signal.ts'
import { takeSignals } from '../src/features/intents/signal-trigger.ts'
import { migrateUp } from '../src/store/migrate.ts'
import { looks, POLICY, price, seed, TICKERS } from './measures/conditions.ts'
import { openBenchApp, percentile, postgres, report } from './stage.ts'

const SIGNALS = 60
const LOOKED_AT = 40_000

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
  await price(app)
  for (const round of ['first', 'again'])
    report(`looks, ${round}`, { 'per second': await looks(app, Math.min(LOOKED_AT, intents)) })
  await signals(app, intents)
} finally {
  await app.stop()
  await server.stop()
}
