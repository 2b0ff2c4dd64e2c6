/** All processes agree on whose rows are where, or do not start; a shard that is away takes nothing from the others. */
import pg from 'pg'
import { expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { bucketOf } from '../../src/core/session.ts'
import { openApp } from '../../src/index.ts'
import { evenRanges, ShardMap } from '../../src/store/shards/ranges.ts'
import { Relay } from '../faults/relay.ts'
import { openLive } from '../sessions/live.ts'
import { databaseEnv, eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const map = new ShardMap(evenRanges(3))
const [ANN, BOB, EVE] = [0, 1, 2].map((shard) => {
  for (let n = 0; ; n++) if (map.ofBucket(bucketOf(`p${n}`)) === shard) return `p${n}`
}) as [string, string, string]

const urlsOf = (database: string) => String(databaseEnv(database).WAKEFUL_SHARDS).split(' ')

async function starts(shards: readonly string[], more: Record<string, string> = {}): Promise<void> {
  const env = { PORT: '0', LOG_LEVEL: 'silent', WAKEFUL_SHARDS: shards.join(' '), ...more }
  const app = await openApp({ agents: { bot: agent(() => undefined) }, env })
  try {
    await app.start()
  } finally {
    await app.stop()
  }
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

eachStore('the map', (store) => {
  it('fewer shards than it has, another order, or those of somebody else: refused with one line', async () => {
    const [one, two, three] = urlsOf(await store.database()) as [string, string, string]
    const shards = [one, two, three]
    await starts(shards)
    await starts(shards)
    await expect(starts(shards.slice(0, 2))).rejects.toThrow(
      'the map in the database has 3 shards, and WAKEFUL_SHARDS names 2: name all of them, in their order',
    )
    await expect(starts([one])).rejects.toThrow('names 1: name all of them')
    // Its third shard is a schema of that name on another server, where nobody has made it yet: a new one knows nobody.
    const other = urlsOf(await store.database())
    await expect(starts([one, two, String(other[2])])).resolves.toBeUndefined()
    await expect(starts(other)).rejects.toThrow(
      'shard 2 of WAKEFUL_SHARDS is of another installation: name all of them, in their order',
    )
  })

  it('a shard that lacks migrations is refused where a start may not bring them', async () => {
    const shards = urlsOf(await store.database())
    await starts(shards)
    await run(String(shards[2]), 'delete from wakeful_2.migrations where version = 1')
    await expect(starts(shards, { WAKEFUL_MIGRATE: 'check' })).rejects.toThrow(
      'shard 2: WAKEFUL_MIGRATE is check, and the database lacks 0001_baseline',
    )
  })

  it('with people in one shard, further ones wait for a split; without, each gets its share', async () => {
    const database = await store.database()
    const s = await openLive(database, { bot: () => undefined })
    const kept = await s.app.store.db.query('select number, first_bucket from wakeful.shards')
    expect(kept.length).toBe(3)
    await s.app.stop()
  })

  it('a shard that is away: its people get 503, the others are served, and what was due comes once when it is back', async () => {
    const shards = urlsOf(await store.database())
    const relay = await Relay.before(String(shards[2]))
    const env = { WAKEFUL_SHARDS: [shards[0], shards[1], relay.url].join(' ') }
    const s = await openLive(String(shards[0]), { bot: () => undefined }, env)
    const say = (user: string) =>
      s.call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'hi' })
    const fires = (user: string, seconds: number) =>
      s.call('PUT', `/v1/sessions/${user}:bot:t/timers/x`, { delay_seconds: seconds })
    const events = async (user: string) =>
      (await s.call('GET', `/v1/sessions/${user}:bot:t/events`)).body.data?.length
    for (const user of [ANN, BOB, EVE]) expect((await say(user)).status).toBe(202)
    for (const user of [ANN, BOB, EVE]) expect((await fires(user, 2)).status).toBe(200)
    const { id } = (
      await s.call('POST', '/v1/alarms', { schedule: 'in 2 hours', wake_message: 'x' }, as(ANN))
    ).body
    await relay.close()
    await until('503', async () => (await say(EVE)).status === 503)
    for (const user of [ANN, BOB]) {
      await until(`${user} hears`, async () => (await events(user)) === 2)
      expect((await say(user)).status).toBe(202)
    }
    // Who knows it answers; nobody can say that nobody does.
    expect((await s.call('GET', `/v1/alarms/${id}`)).status).toBe(200)
    expect((await s.call('GET', `/v1/alarms/${crypto.randomUUID()}`)).status).toBe(503)
    expect((await s.call('GET', '/v1/alarms')).status).toBe(503)
    await until('told by health', async () => {
      const { status, body } = await s.call('GET', '/healthz')
      expect(status).toBe(200)
      return body.status === 'away: shard 2'
    })
    await relay.listen()
    await until('fired', async () => (await events(EVE)) === 2)
    const [fired] = await s.query<{ n: number }>(
      `select count(*)::int as n from wakeful.events where type = 'timer'`,
    )
    expect(fired?.n).toBe(3)
    await until('well', async () => (await s.call('GET', '/healthz')).body.status === 'ok')
    await s.app.stop()
  })
})

const as = (user: string) => ({ 'wakeful-act-as': user })
