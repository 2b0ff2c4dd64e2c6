/**
 * Alarms: setting them over HTTP, a burst of wakes to a receiver (fast, and with one in ten that hangs),
 * a burst of agent alarms, and what a million other active alarms change about a claim.
 * `node --import tsx bench/alarms.ts [--claims] [--others 1000000]`; `--claims` measures the claim alone.
 */
import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { agent } from '../src/agents/function.ts'
import type { App } from '../src/app/app.ts'
import { claimWakes } from '../src/features/alarms/slot-rows.ts'
import { migrateUp } from '../src/store/migrate.ts'
import { openBenchApp, percentile, postgres, report, until } from './stage.ts'

const CREATES = 30_000
const CONNECTIONS = 64
const BURST = 10_000
const CLAIMS = 40
const CLAIM_ROWS = 250

/** Clients and receiver live in threads of their own, as they would on other machines. */
const CLIENT = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Pool } = require('undici')
  const { url, total, connections, bare } = workerData
  const pool = new Pool(url, { connections, pipelining: 1 })
  const headers = { 'content-type': 'application/json' }
  const times = []
  let left = total
  async function lane() {
    while (left-- > 0) {
      const start = performance.now()
      const body = JSON.stringify({ kind: 'once', delay_seconds: 864000 + left, wake_message: 'bench', payload: { n: left } })
      const answer = await pool.request(
        bare ? { path: '/readyz', method: 'GET' } : { path: '/v1/alarms', method: 'POST', headers, body },
      )
      if (answer.statusCode >= 300) throw new Error(await answer.body.text())
      await answer.body.dump()
      times.push(performance.now() - start)
    }
  }
  const start = performance.now()
  Promise.all(Array.from({ length: connections }, lane)).then(() => {
    parentPort.postMessage({ ms: performance.now() - start, times })
    return pool.close()
  })`

const RECEIVER = `
  const { parentPort } = require('node:worker_threads')
  const seen = { fast: 0, hung: 0, last: 0 }
  const server = require('node:http').createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += chunk))
    request.on('end', () => {
      if (text.includes('"hang":true')) { seen.hung++; return }
      seen.fast++
      seen.last = performance.timeOrigin + performance.now()
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
  parentPort.on('message', (what) => {
    if (what === 'reset') Object.assign(seen, { fast: 0, hung: 0, last: 0 })
    parentPort.postMessage({ ...seen })
  })`

function answerOf<T>(worker: Worker, ask?: string): Promise<T> {
  return new Promise((done, fail) => {
    worker.once('message', done)
    worker.once('error', fail)
    if (ask !== undefined) worker.postMessage(ask)
  })
}

/** Beside a request that does nothing: on a busy machine only the ratio says something. */
async function creation(url: string): Promise<void> {
  const load = { url, total: CREATES, connections: CONNECTIONS }
  const measure = async (bare: boolean) => {
    const client = new Worker(CLIENT, { eval: true, workerData: { ...load, bare } })
    return answerOf<{ ms: number; times: number[] }>(client)
  }
  const bare = await measure(true)
  const { ms, times } = await measure(false)
  times.sort((a, b) => a - b)
  report('set over HTTP', {
    alarms: CREATES,
    connections: CONNECTIONS,
    'per second': (CREATES / ms) * 1000,
    'bare GET per second': (CREATES / bare.ms) * 1000,
    'p50 ms': percentile(times, 0.5),
    'p99 ms': percentile(times, 0.99),
  })
}

/** By plain SQL: what is measured begins when they become due. `due` and `payload` are SQL over `n`. */
async function seed(
  app: App,
  count: number,
  options: { due: string; payload?: string; agent?: string; label: string },
): Promise<void> {
  const { due, payload = `'{}'`, label } = options
  const agentId = options.agent === undefined ? 'null' : `'${options.agent}'`
  for (let start = 0; start < count; start += 5_000) {
    await app.store.db.query(
      `insert into wakeful.alarms (bucket, id, owner_did, user_id, agent_id, label, kind, fire_at, anchor_at, next_fire_at, scheduled_for,
         due_at, delivery_id, wake_message, payload, created_at, updated_at)
       select n % 1024, gen_random_uuid(), 'did:matrix:u' || n || ':0000000000000000', 'u' || n, ${agentId}, '${label}', 'once', at, now(), at, at,
         at, gen_random_uuid(), 'bench', (${payload})::json, now(), now()
       from (select n, ${due} as at from generate_series(${start} + 1, least(${start} + 5000, ${count})) n) i`,
    )
  }
}

async function countOf(app: App, where: string): Promise<number> {
  const [row] = await app.store.db.query<{ n: number }>(
    `select count(*)::int as n from wakeful.alarms where ${where}`,
  )
  return row?.n ?? 0
}

async function instant(app: App): Promise<string> {
  const [row] = await app.store.db.query<{ at: string }>(
    `select (now() + interval '4 seconds')::text as at`,
  )
  return row?.at ?? ''
}

/** 10,000 due within one second. */
async function wakes(app: App, receiver: Worker, name: string, hanging: boolean): Promise<void> {
  await answerOf(receiver, 'reset')
  const label = `burst-${name}`
  const at = await instant(app)
  const due = `timestamptz '${at}' + n * interval '${1_000_000 / BURST} microseconds'`
  const payload = hanging ? `case when n % 10 = 0 then '{"hang":true}' else '{}' end` : `'{}'`
  await seed(app, BURST, { due, payload, label })
  const expected = hanging ? BURST * 0.9 : BURST
  await until(
    async () => (await countOf(app, `label = '${label}' and status = 'fired'`)) >= expected,
    60_000,
  )
  const [row] = await app.store.db.query<{ last: number }>(
    `select extract(epoch from max(last_fired_at) - min(fire_at))::float8 as last from wakeful.alarms where label = '${label}'`,
  )
  const seen = await answerOf<{ fast: number; hung: number }>(receiver, 'count')
  report(`wakes, ${name}`, {
    due: BURST,
    taken: expected,
    received: seen.fast,
    hanging: seen.hung,
    'last settled after s': row?.last ?? Number.NaN,
  })
}

async function agents(app: App): Promise<void> {
  const at = await instant(app)
  const due = `timestamptz '${at}' + n * interval '${1_000_000 / BURST} microseconds'`
  await seed(app, BURST, { due, label: 'agents', agent: 'noop' })
  await until(
    async () => (await countOf(app, `label = 'agents' and status = 'fired'`)) >= BURST,
    60_000,
  )
  const [row] = await app.store.db.query<{ last: number }>(
    `select extract(epoch from max(last_fired_at) - min(fire_at))::float8 as last from wakeful.alarms where label = 'agents'`,
  )
  report('agent alarms', { due: BURST, 'last turn committed after s': row?.last ?? Number.NaN })
}

/** The claim alone, on an app whose services do not run. */
async function claims(app: App, others: number): Promise<void> {
  const have = await countOf(app, `label = 'others'`)
  const due = `now() + interval '30 days' + random() * interval '300 days'`
  await seed(app, others - have, { due, label: 'others' })
  await seed(app, CLAIMS * CLAIM_ROWS, { due: `now() - interval '1 second'`, label: 'due' })
  await app.store.db.exec('analyze wakeful.alarms')
  const times: number[] = []
  for (let n = 0; n < CLAIMS; n++) {
    const start = performance.now()
    const { wakes: rows } = await claimWakes(app.store.engine, CLAIM_ROWS, 600_000, randomUUID())
    if (rows.length !== CLAIM_ROWS) throw new Error(`claimed ${rows.length} of ${CLAIM_ROWS}`)
    times.push(performance.now() - start)
  }
  await app.store.db.exec(`delete from wakeful.alarms where label = 'due'`)
  times.sort((a, b) => a - b)
  report('claim', {
    'other active': others,
    rows: CLAIM_ROWS,
    'p50 ms': percentile(times, 0.5),
    'p99 ms': percentile(times, 0.99),
  })
}

const flag = process.argv.indexOf('--others')
const others = flag < 0 ? 1_000_000 : Number(process.argv[flag + 1])
const server = await postgres()

async function bursts(): Promise<void> {
  const receiver = new Worker(RECEIVER, { eval: true })
  const { port } = await answerOf<{ port: number }>(receiver)
  const app = await openBenchApp(
    server.url,
    { noop: agent(() => undefined) },
    { WAKEFUL_WAKE_URL: `http://127.0.0.1:${port}/`, WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
  )
  try {
    const address = await app.listen()
    await app.start()
    await creation(address)
    await wakes(app, receiver, 'fast', false)
    await agents(app)
    await wakes(app, receiver, 'one in ten hangs', true)
  } finally {
    await receiver.terminate()
    await app.stop()
  }
}

if (!process.argv.includes('--claims')) await bursts()
const idle = await openBenchApp(server.url, { noop: agent(() => undefined) })
try {
  await migrateUp(idle.store.db)
  await idle.store.db.exec('delete from wakeful.alarms')
  for (const size of [10_000, 100_000, others].filter((size) => size <= others))
    await claims(idle, size)
} finally {
  await idle.stop()
  await server.stop()
}
