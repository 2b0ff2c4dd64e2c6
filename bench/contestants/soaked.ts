/** Lives with recurring alarms until it is told to stop, and says every ten seconds how it is. Arguments: address of the store, fires a second. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import WebSocket from 'ws'
import { agent } from '../../src/agents/function.ts'
import type { App } from '../../src/app/app.ts'
import { bucketOf } from '../../src/core/session.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openBenchApp, percentile } from '../stage.ts'
import { wallMs } from './contest.ts'

export interface Sample {
  readonly fires: number
  readonly p50: number
  readonly p99: number
  readonly rssMb: number
  readonly heapMb: number
  /** Of rows that are rewritten: sessions and triggers. */
  readonly stateMb: number
  /** Of rows that only come: events, turns, messages. */
  readonly logMb: number
  readonly blockedMs: number
}

/** Each alarm fires once in so many seconds. */
const PERIOD = 10
const SAMPLE_MS = 10_000
/** The people who listen; the others' agent looks and says nothing. */
const LISTENERS = 50
const STATE = ['sessions', 'alarms', 'autonomy_timers', 'checkpoints']
const LOG = ['events', 'attempts', 'effects', 'alarm_wakes']

const [url = '', rate = '1'] = process.argv.slice(2)
const alarms = Number(rate) * PERIOD
let late: number[] = []

const steady = agent((turn) => {
  const { scheduled_for: due } = turn.event.payload as { scheduled_for?: string }
  if (due !== undefined) late.push(wallMs() - Date.parse(due))
  if (/^u\d+$/.test(turn.session.userId) && Number(turn.session.userId.slice(1)) < LISTENERS)
    turn.say('here')
})

async function seed(app: App): Promise<void> {
  await migrateUp(app.store.migrations)
  const users = Array.from({ length: alarms }, (_, n) => `u${n}`)
  await app.store.db.query(
    `insert into wakeful.alarms (bucket, id, owner_did, user_id, agent_id, conversation_id, label, kind, cron_expr, anchor_at, next_fire_at,
       scheduled_for, due_at, delivery_id, wake_message, payload, created_at, updated_at)
     select bucket, gen_random_uuid(), 'did:matrix:' || name || ':0000000000000000', name, 'steady', 't', '', 'cron', '@every ${PERIOD}s', at, at,
       at, at, gen_random_uuid(), 'soak', '{}', now(), now()
     from (select *, now() + interval '5 seconds' + interval '${PERIOD} seconds' * n / ${alarms} as at
       from unnest($1::smallint[], $2::text[]) with ordinality u(bucket, name, n)) u`,
    [users.map(bucketOf), users],
  )
}

async function listen(address: string): Promise<void> {
  for (let n = 0; n < Math.min(LISTENERS, alarms); n++) {
    const socket = new WebSocket(
      `${address.replace('http', 'ws')}/v1/sessions/u${n}:steady:t/socket`,
    )
    socket.on('message', (data) => {
      const { id } = JSON.parse(String(data)) as { id?: string }
      if (id !== undefined) socket.send(JSON.stringify({ type: 'ack', id }))
    })
    await new Promise((done, fail) => {
      socket.once('open', done)
      socket.once('error', fail)
    })
  }
}

const sizeOf = (tables: readonly string[]) =>
  `(${tables.map((name) => `pg_total_relation_size('wakeful.${name}')`).join(' + ')})::float8 / 1048576`

const app = await openBenchApp(url, { steady })
await seed(app)
const address = await app.listen()
await app.start()
await listen(address)
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
const sample = async () => {
  const seen = late.sort((a, b) => a - b)
  late = []
  const [sizes] = await app.store.db.query<{ state: number; log: number }>(
    `select ${sizeOf(STATE)} as state, ${sizeOf(LOG)} as log`,
  )
  const { rss, heapUsed } = process.memoryUsage()
  const said: Sample = {
    fires: seen.length / (SAMPLE_MS / 1000),
    p50: percentile(seen, 0.5),
    p99: percentile(seen, 0.99),
    rssMb: rss / 2 ** 20,
    heapMb: heapUsed / 2 ** 20,
    stateMb: sizes?.state ?? Number.NaN,
    logMb: sizes?.log ?? Number.NaN,
    blockedMs: delay.max / 1e6,
  }
  delay.reset()
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
const ticking = setInterval(() => void sample(), SAMPLE_MS)
process.stdin.once('data', async () => {
  clearInterval(ticking)
  await app.stop()
  process.exit(0)
})
