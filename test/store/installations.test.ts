/** contract: `WAKEFUL_SCHEMA` lets several installations share one database, and none sees anything of another. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { ConfigError } from '../../src/config.ts'
import { migrateDown } from '../../src/store/migrate.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { openLive } from '../sessions/live.ts'
import { call, type Loose } from '../setup/http.ts'
import { databaseEnv, dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const made: string[] = []
const ADMIN_KEY = 'installation-admin-0123456789abcdef01234'
const ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }
let database = ''

interface Installation extends TestWakeful {
  readonly url: string
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Loose>
}
const all: Installation[] = []

async function install(schema: string | undefined, env: Record<string, string> = {}) {
  const one = await testWakeful({
    ...(schema === undefined ? {} : { schema }),
    agents: { bot: agent((turn) => turn.say(`hello from ${schema}`)) },
    env: {
      ...{ PORT: '0', LOG_LEVEL: 'silent', WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: ADMIN_KEY },
      ...databaseEnv(database),
      ...env,
    },
  })
  const url = await one.listen()
  const ask = async (method: string, path: string, body?: unknown, key?: string) => {
    const headers = key === undefined ? ADMIN : { authorization: `Bearer ${key}` }
    return (await call(`${url}${path}`, method, body, headers)).body
  }
  const installation = { ...one, url, ask }
  all.push(installation)
  return installation
}

beforeAll(async () => {
  database = await postgresDatabase(made)
})
afterAll(async () => {
  await Promise.all(all.map((each) => each.stop()))
  await dropDatabases(made)
})

it('two of them, one under a word of SQL, each see and do only their own', async () => {
  const [usual, other] = [await install(undefined), await install('order')]
  const key = '/v1/sessions/ann:bot:t'
  for (const each of [usual, other]) {
    await each.ask('POST', `${key}/messages`, { text: 'hi' })
    await each.ask('PUT', '/v1/schedules/call', {
      ...{ user_id: 'ann', in: 60, note: 'up', thread_id: 't' },
    })
  }
  await other.ask('POST', '/v1/sessions/bea:bot:t/messages', { text: 'only here' })
  await other.advanceBy(120_000)
  await usual.settle()
  const names = async (each: Installation) =>
    (await each.ask('GET', '/v1/people?order=name')).data.map((one: Loose) => one.user_id)
  expect([await names(usual), await names(other)]).toEqual([['ann'], ['ann', 'bea']])
  const events = async (each: Installation) =>
    (await each.ask('GET', `${key}/events`)).data.map((one: Loose) => one.type)
  // Only the clock of one of them was moved.
  expect(await events(usual)).toEqual(['user_message'])
  expect(await events(other)).toEqual(['user_message', 'alarm'])
  const said = (await other.ask('GET', `${key}/effects`)).data.map(
    (one: Loose) => one.payload.content,
  )
  expect(said).toEqual(['hello from order', 'hello from order'])

  // A key of one opens nothing of the other, and sees its own person's rows through the roles of its own installation.
  const { key: own } = await other.ask('POST', '/v1/keys', { role: 'user', user_id: 'bea' })
  expect((await other.ask('GET', '/v1/sessions', undefined, own)).data).toHaveLength(1)
  expect((await usual.ask('GET', '/v1/sessions', undefined, own)).status).toBe(401)
  expect((await other.ask('GET', `${key}/events`, undefined, own)).status).toBe(404)

  const metrics = async (each: Installation) => (await fetch(`${each.url}/metrics`)).text()
  const turns = /wakeful_turns_total\{[^}]*\} (\d+)/
  const counted = async (each: Installation) => Number(turns.exec(await metrics(each))?.[1])
  expect([await counted(usual), await counted(other)]).toEqual([1, 3])

  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const roles = await client.query(
      `select distinct grantee::text as role, table_schema::text as schema from information_schema.role_table_grants
       where table_schema in ('wakeful', 'order') and grantee::text like '%\\_owner' order by 1`,
    )
    expect(roles.rows).toEqual([
      { role: 'order_owner', schema: 'order' },
      { role: 'wakeful_owner', schema: 'wakeful' },
    ])
    await client.query('begin')
    await client.query('set local role order_owner')
    await expect(client.query('select 1 from wakeful.sessions')).rejects.toThrow(
      'permission denied',
    )
    await client.query('rollback')
  } finally {
    await client.end()
  }
})

it('hints travel on a channel of their own', async () => {
  const heard: string[] = []
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  client.on('notification', ({ channel }) => heard.push(channel))
  await client.query('listen wakeful; listen "order"')
  try {
    const running = await openLive(database, {}, { WAKEFUL_SCHEMA: 'order' })
    try {
      await running.call('POST', '/v1/stops', { level: 'user', target: 'nobody' })
      await until('it was told', () => heard.includes('order'))
    } finally {
      await running.app.stop()
    }
    expect(heard).not.toContain('wakeful')
  } finally {
    await client.end()
  }
})

it('shards of one have its name before their numbers, and taking one away leaves the others', async () => {
  const sharded = await install('team', { WAKEFUL_SHARDS: '2' })
  await sharded.ask('POST', '/v1/sessions/zoe:bot:t/messages', { text: 'hi' })
  await sharded.settle()
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const schemas = async () => {
    const { rows } = await client.query<{ name: string }>(
      `select nspname::text as name from pg_namespace where nspname !~ '^pg_|^information_schema$|^public$' order by 1`,
    )
    return rows.map(({ name }) => name)
  }
  try {
    expect(await schemas()).toEqual(['order', 'team', 'team_1', 'wakeful'])
    const [usual, other] = all
    await other?.stop()
    all.splice(1, 1)
    const gone = await install('order', { WAKEFUL_MIGRATE: 'check' })
    await migrateDown(gone.app.store.migrations, 1_000)
    expect(await schemas()).toEqual(['team', 'team_1', 'wakeful'])
    expect((await usual?.ask('GET', '/v1/people'))?.data).toHaveLength(1)
  } finally {
    await client.end()
  }
})

it.each(['Order', '1st', 'pg_own', 'public', 'a-b', 'wakeful_1', 'x'.repeat(42)])(
  'a name such as %s is refused with what is taken',
  async (schema) => {
    await expect(testWakeful({ agents: {}, schema })).rejects.toThrow(ConfigError)
    await expect(testWakeful({ agents: {}, schema })).rejects.toThrow(
      /^WAKEFUL_SCHEMA: got .*takes/,
    )
  },
)
