/**
 * Sessions: full turns, a burst of timers, follow-up lateness to the client's frame, and what a million
 * other pending timers change. `node --import tsx bench/sessions.ts [--pglite] [--others N]`
 */
import { randomInt } from 'node:crypto'
import WebSocket from 'ws'
import { agent } from '../src/agents/function.ts'
import type { App } from '../src/app/app.ts'
import { bucketOf } from '../src/core/session.ts'
import { openBenchApp, percentile, postgres, report, until } from './stage.ts'

const TURNS = 20_000
const BURST = 20_000
const LIGHT = 1_000
const LIGHT_SECONDS = 20
const SOCKETS = 50

const noop = agent((turn) => {
  turn.say('one')
  turn.say('two')
})
const silent = agent(() => undefined)
const follow = agent((turn) => {
  if (turn.event.type === 'timer') turn.say(JSON.stringify(turn.event.payload))
})

/** Sessions and timers by plain SQL: what is measured begins when they become due. */
async function seed(
  app: App,
  agentId: string,
  users: number,
  fireAt: string,
  perUser = 1,
): Promise<void> {
  const names = Array.from({ length: users }, (_, n) => `${agentId}${n}`)
  for (let start = 0; start < names.length; start += 5000) {
    const part = names.slice(start, start + 5000)
    const columns = [part.map(bucketOf), part]
    await app.store.db.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select bucket, name || ':${agentId}:t', name, '${agentId}', 't', now(), now()
       from unnest($1::smallint[], $2::text[]) u(bucket, name) on conflict do nothing`,
      columns,
    )
    await app.store.db.query(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select bucket, name || ':${agentId}:t', gen_random_uuid(), 'n' || k, ${fireAt}, 'pending', now(), now()
       from unnest($1::smallint[], $2::text[]) u(bucket, name), generate_series(1, ${perUser}) k`,
      columns,
    )
  }
}

async function count(app: App, sql: string): Promise<number> {
  const [row] = await app.store.db.query<{ n: number }>(`select count(*)::int as n ${sql}`)
  return row?.n ?? 0
}

/**
 * Due at one instant after seeding has ended; resolves at that instant. What watches asks seldom, since
 * it competes with what it measures; the figures come from the rows themselves.
 */
async function dueTogether(app: App, agentId: string, users: number): Promise<Counted> {
  await seed(app, agentId, users, `'9999-01-01'::timestamptz`)
  const [row] = await app.store.db.query<{ ms: number }>(
    `with moved as (
       update wakeful.autonomy_timers set fire_at = now() + interval '5 seconds'
       where session_key like '%:${agentId}:t' returning fire_at)
     select extract(epoch from max(fire_at) - clock_timestamp())::float8 * 1000 as ms from moved`,
  )
  app.engine.home.hints.hint('clock')
  const until = performance.now() + (row?.ms ?? 0)
  const before = await counted(app)
  await new Promise((done) => setTimeout(done, Math.max(0, until - performance.now())))
  return before
}

interface Counted {
  readonly records: number
  readonly cpu: NodeJS.CpuUsage
}

/** Backends tell what they wrote when they have been idle for a while. */
const TOLD_MS = 1_500

async function counted(app: App): Promise<Counted> {
  await new Promise((done) => setTimeout(done, TOLD_MS))
  const [row] = pglite
    ? []
    : await app.store.db.query<{ n: number }>('select wal_records::float8 as n from pg_stat_wal')
  return { records: row?.n ?? Number.NaN, cpu: process.cpuUsage() }
}

/** What one turn cost since then, watching included. */
async function costs(app: App, before: Counted, turns: number): Promise<Record<string, number>> {
  const cpu = process.cpuUsage(before.cpu)
  const { records } = await counted(app)
  return {
    'WAL records each': (records - before.records) / turns,
    'Node CPU us each': (cpu.user + cpu.system) / turns,
  }
}

async function fullTurns(app: App): Promise<void> {
  const before = await dueTogether(app, 'noop', TURNS)
  const left = `from wakeful.sessions where agent_id = 'noop' and done_seq = 0`
  await until(async () => (await count(app, left)) === 0, 120_000)
  const [row] = await app.store.db.query<{ seconds: number }>(
    `select extract(epoch from max(t.finished_at) - min(e.scheduled_for))::float8 as seconds
     from wakeful.turns t join wakeful.events e on e.bucket = t.bucket and e.session_key = t.session_key and e.seq = t.event_seq
     where t.session_key like '%:noop:t'`,
  )
  const seconds = row?.seconds ?? Number.NaN
  report('full turns', {
    turns: TURNS,
    'from due to last commit s': seconds,
    'per second': TURNS / seconds,
    ...(await costs(app, before, TURNS)),
  })
}

async function burst(app: App): Promise<void> {
  const before = await dueTogether(app, 'silent', BURST)
  const left = `from wakeful.sessions where agent_id = 'silent' and done_seq = 0`
  await until(async () => (await count(app, left)) === 0, 60_000)
  const [row] = await app.store.db.query<{ promoted: number; done: number }>(
    `select extract(epoch from max(e.created_at - e.scheduled_for))::float8 as promoted,
       extract(epoch from max(t.finished_at - e.scheduled_for))::float8 as done
     from wakeful.turns t join wakeful.events e on e.bucket = t.bucket and e.session_key = t.session_key and e.seq = t.event_seq
     where t.session_key like '%:silent:t'`,
  )
  report('burst', {
    timers: BURST,
    'last promoted after s': row?.promoted ?? Number.NaN,
    'last done after s': row?.done ?? Number.NaN,
    ...(await costs(app, before, BURST)),
  })
}

/** 1,000 follow-ups at random instants over 20 s, to 50 sockets; lateness is frame received − due, by one machine's clock. */
async function lateness(address: string): Promise<void> {
  const late: number[] = []
  const sockets = await Promise.all(
    Array.from({ length: SOCKETS }, async (_, n) => {
      const socket = new WebSocket(
        `${address.replace('http', 'ws')}/v1/sessions/light${n}:light:t/socket`,
      )
      await new Promise((done) => socket.once('open', done))
      socket.on('message', (data) => {
        const at = performance.timeOrigin + performance.now()
        const frame = JSON.parse(String(data)) as { type: string; id: string; content: string }
        if (frame.type !== 'agent_follow_up') return
        socket.send(JSON.stringify({ type: 'ack', id: frame.id }))
        const { payload } = JSON.parse(frame.content) as { payload: { due: number } }
        late.push(at - payload.due)
      })
      return socket
    }),
  )
  // All are set before the first is due.
  const base = performance.timeOrigin + performance.now() + 15_000
  const set = async (n: number) => {
    const due = Math.floor(base + randomInt(LIGHT_SECONDS * 1000))
    const answer = await fetch(`${address}/v1/sessions/light${n % SOCKETS}:light:t/timers/n${n}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ fire_at: new Date(due).toISOString(), payload: { due } }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  for (let n = 0; n < LIGHT; n += SOCKETS) {
    await Promise.all(Array.from({ length: SOCKETS }, (_, k) => set(n + k)))
  }
  if (performance.timeOrigin + performance.now() > base)
    throw new Error('setting the timers took too long')
  await until(async () => late.length >= LIGHT, (LIGHT_SECONDS + 60) * 1000)
  for (const socket of sockets) socket.close()
  late.sort((a, b) => a - b)
  report('lateness, light', {
    n: late.length,
    'min ms': late[0] ?? 0,
    'p50 ms': percentile(late, 0.5),
    'p99 ms': percentile(late, 0.99),
    'max ms': late.at(-1) ?? 0,
  })
}

async function idleSockets(address: string, many: number): Promise<void> {
  global.gc?.()
  const before = process.memoryUsage().rss
  // Clients live in this process too; their half is measured by opening raw upgrades, not `ws` clients.
  const { connect } = await import('node:net')
  const { hostname, port } = new URL(address)
  const raw = await Promise.all(
    Array.from({ length: many }, (_, n) => {
      const stream = connect(Number(port), hostname)
      stream.write(
        `GET /v1/sessions/idle${n}:light:t/socket HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      )
      return new Promise<typeof stream>((done) => stream.once('data', () => done(stream)))
    }),
  )
  await new Promise((done) => setTimeout(done, 1000))
  global.gc?.()
  const bytes = (process.memoryUsage().rss - before) / many
  report('idle sockets', { sockets: many, 'KB each, both ends': bytes / 1024 })
  for (const stream of raw) stream.destroy()
}

const pglite = process.argv.includes('--pglite')
const others = Number(process.argv[process.argv.indexOf('--others') + 1] || 0) || 0
const server = pglite ? null : await postgres()
const app = await openBenchApp(
  server?.url ?? 'memory:',
  { noop, light: follow, silent },
  {
    AUTONOMY_MAX_CONSECUTIVE: '1000000',
    AUTONOMY_COOLDOWN_MS: '0',
  },
)
const address = await app.listen()
await app.start()
try {
  if (others > 0) {
    await seed(
      app,
      'other',
      others / 10,
      `now() + interval '30 days' + random() * interval '300 days'`,
      10,
    )
    await app.store.db.exec('analyze wakeful.autonomy_timers; analyze wakeful.sessions')
    report('others', { pending: await count(app, `from wakeful.autonomy_timers`) })
  }
  const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice(7)
  if (!only || only === 'turns') await fullTurns(app)
  if (!only || only === 'burst') await burst(app)
  if (!only || only === 'light') await lateness(address)
  if (!only || only === 'sockets') await idleSockets(address, 2000)
} finally {
  await app.stop()
  await server?.stop()
}
