/**
 * `npm run bench [-- --quick] [-- --only=burst,http]`: Wakeful beside its peers and beside the bare limits, interleaved, on a durable
 * PostgreSQL of its own (or the one that BENCH_SERVER names). Absolute figures are noisy, ratios within one run much less.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform } from 'node:os'
import pg from 'pg'
import { Arena, buildContestants } from './arena.ts'
import { type Figure, table } from './figures.ts'
import { burst } from './measures/burst.ts'
import { conditions } from './measures/conditions.ts'
import { embedded } from './measures/embedded.ts'
import { growth } from './measures/growth.ts'
import { http } from './measures/http.ts'
import { light } from './measures/light.ts'
import { sockets } from './measures/sockets.ts'
import { plot } from './plot.ts'
import { postgresServer } from './stage.ts'

const RESULTS = new URL('./results/', import.meta.url)
const quick = process.argv.includes('--quick')
const only = process.argv
  .find((arg) => arg.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',')

/** Quick is for seeing that a change did no harm; figures to be quoted want the full one. */
const MEASURES: Readonly<Record<string, (arena: Arena) => Promise<Figure[]>>> = {
  burst: (arena) => burst(arena, { rounds: quick ? 1 : 5, jobs: 20_000, warmUp: 2_000 }),
  light: (arena) =>
    light(arena, {
      rounds: quick ? 1 : 3,
      jobs: quick ? 200 : 1_000,
      windowMs: quick ? 4_000 : 10_000,
      burst: 20_000,
    }),
  growth: (arena) =>
    growth(arena, {
      rounds: quick ? 1 : 3,
      jobs: 20_000,
      warmUp: 2_000,
      others: quick ? 50_000 : 1_000_000,
      light: quick ? 200 : 500,
      windowMs: quick ? 4_000 : 8_000,
    }),
  conditions: (arena) => conditions(arena, { rounds: quick ? 2 : 5, intents: 40_000 }),
  http: (arena) =>
    http(arena, quick ? { rounds: 1, requests: 4_000 } : { rounds: 5, requests: 10_000 }),
  sockets: (arena) => sockets(arena, { rounds: quick ? 1 : 5, clients: 1_000 }),
  embedded: (arena) =>
    embedded(arena, {
      rounds: quick ? 1 : 3,
      turns: quick ? 5_000 : 10_000,
      light: quick ? 200 : 500,
      windowMs: quick ? 4_000 : 10_000,
    }),
}

async function serverVersion(base: string): Promise<string> {
  const client = new pg.Client({ connectionString: `${base}/postgres` })
  await client.connect()
  const { rows } = await client.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  )
  await client.end()
  return rows[0]?.version ?? 'unknown'
}

function write(figures: readonly Figure[], postgres: string, minutes: number): void {
  const [cpu] = cpus()
  const machine = `${availableParallelism()} cores (${cpu?.model.trim() || 'unnamed'}, ${platform()} ${arch()}), Node ${process.version}, PostgreSQL ${postgres}, durable; load ${loadBefore.toFixed(1)} before it began`
  const text = [
    '# Benchmark',
    '',
    `${quick ? 'Quick run' : 'Full run'} of ${minutes.toFixed(1)} minutes on ${machine}. Each figure is the median of its rounds, with`,
    'their range; ratios are taken round by round. WAL records and CPU are for each turn or job, warm-up included.',
    '',
    table(figures),
    '',
    '![ratios](latest.svg)',
    '',
    'graphile-worker: 24 jobs at once, local queue of 500, completions in batches, poll every 100 ms. pg-boss: two workers, batches of 1,000, again at once while they are full, else every',
    '500 ms. Raw SQL: one statement that claims 1,000, numbers, appends and marks, on two connections.',
    '',
  ].join('\n')
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(new URL('latest.md', RESULTS), text)
  writeFileSync(
    new URL('latest.svg', RESULTS),
    plot(figures, `Wakeful beside others, ${availableParallelism()} cores`),
  )
  console.log(`\n${text}`)
}

const unknown = only?.find((name) => !(name in MEASURES))
if (unknown !== undefined)
  throw new Error(`--only=${unknown}: known are ${Object.keys(MEASURES).join(', ')}`)
const began = performance.now()
/** What others had the machine do before we came: figures of a busy one are for comparing rows alone. */
const [loadBefore = 0] = loadavg()
await buildContestants()
const server = await postgresServer()
try {
  const arena = new Arena(server.base)
  const figures: Figure[] = []
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (only !== undefined && !only.includes(name)) continue
    console.error(`${name} …`)
    figures.push(...(await measure(arena)))
  }
  write(figures, await serverVersion(server.base), (performance.now() - began) / 60_000)
} finally {
  await server.stop()
}
