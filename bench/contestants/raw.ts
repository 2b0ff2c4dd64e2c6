/**
 * What PostgreSQL itself can do here: one statement that claims a thousand jobs, numbers and appends their events and
 * marks them, in a loop on two connections. No agent, no checkpoint, no proof: nothing with a log can be faster.
 */
import pg from 'pg'
import { contest } from './contest.ts'

const LANES = 2
const BATCH = 1_000
const PAUSE_MS = 2

const TABLES = `
  create table heads (key text primary key, last_seq int not null) with (fillfactor = 80);
  create table jobs (id bigint primary key, key text not null, due_at timestamptz not null, done boolean not null) with (fillfactor = 80);
  create index on jobs (due_at) where not done;
  create table events (key text, seq int, payload json not null, created_at timestamptz not null, primary key (key, seq));`

const CYCLE = {
  name: 'cycle',
  text: `with due as materialized (
      select id, key, due_at from jobs where not done and due_at <= now() order by due_at limit ${BATCH} for update skip locked),
    numbered as (
      update heads h set last_seq = last_seq + 1 from due d where h.key = d.key returning h.key, h.last_seq),
    added as (
      insert into events select key, last_seq, '{}', now() from numbered),
    marked as (
      update jobs j set done = true from due d where j.id = d.id)
    select extract(epoch from due_at)::float8 * 1000 as due from due`,
}

let clients: pg.Client[] = []
let working: Promise<unknown> = Promise.resolve()
let stopping = false

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

async function lane(client: pg.Client, seen: (due: number) => void): Promise<void> {
  while (!stopping) {
    const { rows } = await client.query<{ due: number }>(CYCLE)
    for (const { due } of rows) seen(Math.round(due))
    if (rows.length === 0) await new Promise((done) => setTimeout(done, PAUSE_MS))
  }
}

await contest({
  async seed({ url }, jobs) {
    const client = await connect(url)
    await client.query(TABLES)
    await client.query(
      `insert into jobs select n, 'k' || n, to_timestamp(due / 1000), false from unnest($1::float8[]) with ordinality j(due, n)`,
      [jobs.map(({ due }) => due)],
    )
    await client.query(`insert into heads select key, 0 from jobs`)
    await client.query('analyze')
    await client.end()
  },
  async start({ url }, seen) {
    clients = await Promise.all(Array.from({ length: LANES + 1 }, () => connect(url)))
    working = Promise.all(clients.slice(0, LANES).map((client) => lane(client, seen)))
    return ''
  },
  async left() {
    const { rows } = (await clients[LANES]?.query<{ there: boolean }>(
      'select exists (select from jobs where not done) as there',
    )) ?? { rows: [] }
    return rows[0]?.there ?? true
  },
  async stop() {
    stopping = true
    await working
    await Promise.all(clients.map((client) => client.end()))
  },
})
