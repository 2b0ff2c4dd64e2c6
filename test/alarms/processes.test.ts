/**
 * Two server processes on one PostgreSQL, one of them killed or frozen in the middle of its work. The
 * witness is the receiver: it wrote down what reached it, and that is compared with the database.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { folder, Server } from '../process/server.ts'
import { type Received, type Receiver, type Row, receiver } from '../setup/listening-app.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const LIBRARY = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
const LEASE_MS = 1000
/** Long enough that a living process which gets no CPU for a while is not taken for a dead one. */
const PATIENT_LEASE_MS = 6000
const EACH = 250

const databases: string[] = []
const clients: pg.Client[] = []

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()))
})
afterAll(() => dropDatabases(databases))

/** An agent that takes its time, so that there is a middle to be killed in. */
function appModule(): string {
  const path = join(folder(), 'app.mjs')
  writeFileSync(
    path,
    `import { agent } from ${JSON.stringify(LIBRARY)}
     import { setTimeout as pause } from 'node:timers/promises'
     const slow = () => pause(20 + Math.random() * 200)
     export default { agents: { bot: agent(async (turn) => { await slow(); turn.say('awake') }) } }`,
  )
  return path
}

type Started = Awaited<ReturnType<typeof Server.start>>

interface Pair {
  readonly one: Started
  readonly hook: Receiver
  query(text: string): Promise<Row[]>
}

/** Two processes, and 500 alarms due at once: half for the agent, half for the receiver. */
async function pair(leaseMs: number): Promise<Pair> {
  const hook = await receiver((_, response) => {
    setTimeout(() => response.writeHead(204).end(), 20 + Math.random() * 300)
  })
  const env = {
    DATABASE_URL: await postgresDatabase(databases),
    WAKEFUL_APP: appModule(),
    WAKEFUL_WAKE_URL: hook.url,
    WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
    WAKEFUL_LEASE_MS: String(leaseMs),
    LOG_LEVEL: 'error',
  }
  const [one, two] = await Promise.all([Server.start(env), Server.start(env)])
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  clients.push(client)
  const set = (url: string, body: object) =>
    fetch(`${url}/v1/alarms`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'once', delay_seconds: 86_400, wake_message: 'x', ...body }),
    }).then(async (answer) => expect(answer.status, await answer.text()).toBe(201))
  await Promise.all(
    Array.from({ length: EACH }, async (_, n) => {
      await set(n % 2 === 0 ? one.url : two.url, { agent_id: 'bot', conversation_id: `c${n % 40}` })
      await set(n % 2 === 0 ? two.url : one.url, {})
    }),
  )
  // All at once, however long setting them took.
  await client.query(
    `update wakeful.alarms set fire_at = now(), next_fire_at = now(), scheduled_for = now(), due_at = now()`,
  )
  return { one, hook, query: async (text) => (await client.query<Row>(text)).rows }
}

/** All have fired, each slot under one delivery id, each event in one committed turn. */
async function verify({ hook, query }: Pair): Promise<void> {
  await until('all alarms have ended', async () => {
    const [row] = await query(
      `select count(*)::int as n from wakeful.alarms where status = 'active'`,
    )
    return row.n === 0
  })
  const [ended] = await query(
    `select count(*) filter (where status = 'fired')::int as fired, max(failure_count)::int as failures from wakeful.alarms`,
  )
  expect(ended).toEqual({ fired: 2 * EACH, failures: 0 })
  const calls = new Map<string, Received[]>()
  for (const each of hook.received)
    calls.set(each.body.alarm_id, [...(calls.get(each.body.alarm_id) ?? []), each])
  expect(calls.size).toBe(EACH)
  for (const same of calls.values()) {
    expect(new Set(same.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(same.map(({ body }) => body.attempt)).size).toBe(same.length)
  }
  const odd = await query(
    `select a.id, a.attempt, array_agg(json_build_array(e.seq, t.attempt, t.status, t.error, t.started_at, t.finished_at) order by e.seq, t.attempt) as turns
     from wakeful.alarms a
     left join wakeful.events e on e.bucket = a.bucket and e.trigger_id = a.id
     left join wakeful.turns t on t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq
     where a.agent_id is not null group by a.id, a.attempt
     having count(e.seq) <> 1 or count(*) filter (where t.status = 'committed') <> 1`,
  )
  expect(odd).toEqual([])
  const gaps = await query(
    'select session_key from wakeful.events group by session_key having count(*) <> max(seq)',
  )
  expect(gaps).toEqual([])
}

describe('two processes', () => {
  it('one killed in the middle: each is taken, again only under the same delivery id', async () => {
    const all = await pair(PATIENT_LEASE_MS)
    await until('it is in the middle', () => all.hook.received.length >= EACH / 2)
    await all.one.end('SIGKILL')
    await verify(all)
    const again = all.hook.received.length - EACH
    // At most what the dead process had in hand.
    expect(again).toBeLessThanOrEqual(EACH)
  })

  it('one frozen past its lease: the other takes over, the first writes nothing when it wakes', async () => {
    const all = await pair(LEASE_MS)
    await until('it is in the middle', () => all.hook.received.length >= EACH / 2)
    all.one.signal('SIGSTOP')
    // By the database's clock, from now on: it can renew nothing. What it holds in a transaction is locked until it wakes.
    const [frozen] = await all.query(`select (now() + interval '${LEASE_MS} ms')::text as until`)
    await until('its leases are over', async () => {
      const [row] = await all.query(`select now() > '${frozen.until}' as over`)
      return row.over
    })
    all.one.signal('SIGCONT')
    await verify(all)
  })
})
