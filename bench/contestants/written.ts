/** The same work written by hand with Fastify and `pg`: what is left when nothing but the request itself is served. */
import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'
import { GroupCommit } from '../../src/store/group.ts'
import { contest } from './contest.ts'

const SESSIONS = 1_000
const TABLES = `
  create table sessions (key text primary key, last_seq int not null, done_seq int not null, checkpoint_id uuid, followed int not null,
    followed_at timestamptz, created_at timestamptz not null default now(), updated_at timestamptz not null default now());
  insert into sessions select 'u' || n || ':silent:t', 1, 1, gen_random_uuid(), 0, null from generate_series(0, ${SESSIONS - 1}) n;
  create table alarms (id uuid primary key, user_id text not null, agent_id text not null, label text not null, kind text not null,
    fire_at timestamptz not null, wake_message text not null, payload json not null, status text not null default 'active',
    created_at timestamptz not null default now());
  create index on alarms (fire_at) where status = 'active';
  create index on alarms (user_id, created_at desc, id desc);`

const COLUMNS = 'id, user_id, agent_id, label, kind, fire_at, wake_message, payload'
const EACH = {
  name: 'each',
  text: `insert into alarms (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8) returning created_at`,
}
const GROUP = {
  name: 'group',
  text: `insert into alarms (${COLUMNS}) select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[],
    $6::timestamptz[], $7::text[], $8::json[]) returning id, created_at`,
}
const SELECT = {
  name: 'select',
  text: 'select key, last_seq, done_seq, checkpoint_id, followed, followed_at, created_at, updated_at from sessions where key = $1',
}
const LIST = {
  name: 'list',
  text: `select id, label, fire_at, wake_message, status, created_at from alarms where user_id = $1
    order by created_at desc, id desc limit $2`,
}

interface Body {
  readonly agent_id: string
  readonly kind: string
  readonly delay_seconds: number
  readonly wake_message: string
  readonly payload: unknown
  readonly label?: string
}
const alarm = {
  type: 'object',
  required: ['agent_id', 'kind', 'delay_seconds', 'wake_message'],
  additionalProperties: false,
  properties: {
    agent_id: { type: 'string', minLength: 1 },
    kind: { enum: ['once'] },
    delay_seconds: { type: 'number', minimum: 1 },
    wake_message: { type: 'string', minLength: 1, maxLength: 8192 },
    label: { type: 'string', maxLength: 256 },
    payload: {},
  },
}
const preview = {
  type: 'object',
  required: ['schedule'],
  additionalProperties: false,
  properties: { schedule: { type: 'string', minLength: 1 }, timezone: { type: 'string' } },
}
const ANSWER = { id: '0195f2a4-0000-7000-8000-000000000000', seq: 1, type: 'user_message' }

function rowOf(body: Body): unknown[] {
  const at = new Date(Date.now() + body.delay_seconds * 1000)
  const { agent_id, kind, wake_message, payload, label = '' } = body
  const text = JSON.stringify(payload ?? {})
  return [randomUUID(), 'local', agent_id, label, kind, at, wake_message, text]
}

function shown(row: readonly unknown[], createdAt: Date | undefined) {
  const [id, user_id, agent_id, label, kind, fire_at, wake_message, payload] = row
  const alarm = { id, user_id, agent_id, label, kind, fire_at, wake_message, status: 'active' }
  return { ...alarm, payload: JSON.parse(String(payload)) as unknown, created_at: createdAt }
}

let pool: pg.Pool
const server = Fastify()
const group = new GroupCommit<unknown[], Date>({
  ...{ batchMax: 500, lanes: 2, queueMax: 20_000, onFull: () => new Error('too many wait') },
  async commit(items) {
    const columns = items[0]?.map((_, at) => items.map((item) => item[at])) ?? []
    const { rows } = await pool.query<{ id: string; created_at: Date }>(GROUP, columns)
    const made = new Map(rows.map((row) => [row.id, row.created_at]))
    return items.map(([id]) => made.get(String(id)) as Date)
  },
})

server.post('/', { schema: { body: preview } }, async () => ANSWER)
server.post<{ Body: Body }>('/each', { schema: { body: alarm } }, async ({ body }, reply) => {
  const row = rowOf(body)
  const { rows } = await pool.query<{ created_at: Date }>(EACH, row)
  return reply.code(201).send(shown(row, rows[0]?.created_at))
})
server.post<{ Body: Body }>('/group', { schema: { body: alarm } }, async ({ body }, reply) => {
  const row = rowOf(body)
  return reply.code(201).send(shown(row, await group.submit(row)))
})
server.get<{ Params: { key: string } }>('/sessions/:key', async ({ params }, reply) => {
  const { rows } = await pool.query(SELECT, [params.key])
  return rows[0] ?? reply.code(404).send({ error: 'not found' })
})
server.get<{ Querystring: { limit: number } }>('/alarms', async ({ query }) => {
  const { rows } = await pool.query(LIST, ['local', query.limit])
  return { data: rows, next_cursor: null }
})

await contest({
  async seed({ url }) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(TABLES)
    await client.query('analyze')
    await client.end()
  },
  async start({ url }) {
    pool = new pg.Pool({ connectionString: url, max: 8 })
    return server.listen({ host: '127.0.0.1', port: 0 })
  },
  async left() {
    return false
  },
  async stop() {
    await server.close()
    await pool.end()
  },
})
