/** Shards on the nodes of Citus: a process dies and a shard moves while many timers are due, and every event and turn comes once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openStores } from '../../src/app/shards.ts'
import { bucketOf } from '../../src/core/session.ts'
import type { Db } from '../../src/store/db.ts'
import { ensureMigrated } from '../../src/store/migrate.ts'
import type { Store } from '../../src/store/open.ts'
import { moveSchema } from '../../src/store/shards/citus.ts'
import { evenRanges, PerShard, ShardMap, schemaOf } from '../../src/store/shards/ranges.ts'
import { BIN, folder, Server } from '../process/server.ts'
import { type CitusNode, killNode, onCitus } from '../setup/citus.ts'
import { databaseEnv, eachStore } from '../setup/stores.ts'
import { jitter, until } from '../setup/until.ts'

const APP = fileURLToPath(new URL('../process/app.mjs', import.meta.url))
const SHARDS = 4
const SESSIONS = 2_000
const TIMERS_EACH = 10
const TIMERS = SESSIONS * TIMERS_EACH
const map = new ShardMap(evenRanges(SHARDS))

/** All of them due at one instant. */
async function setTimers({ all }: PerShard<Store>): Promise<void> {
  const people = Array.from({ length: SESSIONS }, (_, n) => {
    const user = `person-${n}`
    return { user, bucket: bucketOf(user), key: `${user}:bot:t` }
  })
  for (const [number, { db }] of all.entries()) {
    const own = people.filter(({ bucket }) => map.ofBucket(bucket) === number)
    const columns = [own.map((p) => p.bucket), own.map((p) => p.key), own.map((p) => p.user)]
    await db.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select b, k, u, 'bot', 't', now(), now() from unnest($1::smallint[], $2::text[], $3::text[]) p(b, k, u)`,
      columns,
    )
    await db.query(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select b, k, gen_random_uuid(), 'timer' || n, now() + interval '3 s', 'pending', now(), now()
       from unnest($1::smallint[], $2::text[]) p(b, k) cross join generate_series(1, ${TIMERS_EACH}) n`,
      columns.slice(0, 2),
    )
  }
}

async function countAll({ all }: PerShard<Store>, sql: string): Promise<number> {
  const counts = await Promise.all(all.map(({ db }) => db.query<{ n: number }>(sql)))
  return counts.flat().reduce((sum, { n }) => sum + n, 0)
}

const COMMITTED = `select count(*)::int as n from wakeful.turns where status = 'committed'`
const WAITING = `select (select count(*) from wakeful.sessions where done_seq < last_seq or claim_token is not null)::int
  + (select count(*) from wakeful.autonomy_timers where status = 'pending')::int as n`

async function reached(stores: PerShard<Store>, turns: number): Promise<void> {
  await until(`${turns} turns`, async () => (await countAll(stores, COMMITTED)) >= turns)
}

/** `wakeful shards move`, as a process of its own. Answers with what it said. */
async function move(env: Record<string, string>, shard: number, to: string): Promise<string> {
  const { PATH = '' } = process.env
  const args = [BIN, 'shards', 'move', String(shard), '--to', to]
  const child = spawn(process.execPath, args, { env: { ...env, PATH } })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      said += String(data)
    })
  await once(child, 'close')
  return said.trim()
}

/** Where a shard is, and where else it could be. */
async function nodes(shard: number): Promise<{ at: CitusNode; other: CitusNode }> {
  const [at] = await onCitus<CitusNode>(
    `select nodename as host, nodeport::int as port from citus_shards where table_name = '${schemaOf(shard)}.sessions'::regclass`,
  )
  const workers = await onCitus<CitusNode>(
    `select nodename as host, nodeport::int as port from pg_dist_node where groupid > 0 and isactive order by nodeid`,
  )
  const other = workers.find(({ port }) => port !== at?.port)
  if (at === undefined || other === undefined) throw new Error('a cluster of two workers or more')
  return { at, other }
}

/** A node dies, and is there again when those of the other have gone on: that of which the other has the most to do. */
async function loseNode(stores: PerShard<Store>): Promise<void> {
  const places = await Promise.all(stores.all.map((_, number) => nodes(number)))
  const choices = await Promise.all(
    places.map(async ({ at }) => {
      const elsewhere = stores.all.filter((_, number) => places[number]?.at.port !== at.port)
      const others = new PerShard(elsewhere, stores.map)
      return { at, others, left: await countAll(others, WAITING) }
    }),
  )
  const [{ at, others, left } = { left: 0 }] = choices.toSorted((a, b) => b.left - a.left)
  if (at === undefined || others === undefined || left === 0)
    throw new Error('nothing is left to do on other nodes')
  const before = await countAll(others, COMMITTED)
  const start = await killNode(at)
  // What is left of it may answer once more.
  await until('it is away', () =>
    countAll(stores, COMMITTED).then(
      () => false,
      () => true,
    ),
  )
  await until('the others go on', async () => (await countAll(others, COMMITTED)) > before)
  await start()
}

/** Seq without gap, one committed turn and one effect for each event, in order. */
async function checkLog({ all }: PerShard<Store>): Promise<void> {
  for (const { db } of all) {
    const wrong = await db.query(
      `select s.session_key, s.last_seq,
         array(select seq from wakeful.events e where e.bucket = s.bucket and e.session_key = s.session_key order by 1) as seqs,
         array(select event_seq from wakeful.turns t where t.bucket = s.bucket and t.session_key = s.session_key
               and t.status = 'committed' order by event_seq) as turns,
         array(select event_seq from wakeful.effects f where f.bucket = s.bucket and f.session_key = s.session_key order by position) as effects
       from wakeful.sessions s`,
    )
    const wanted = Array.from({ length: TIMERS_EACH }, (_, n) => n + 1)
    for (const { session_key, seqs, turns, effects } of wrong as Record<string, unknown>[])
      expect({ session_key, seqs, turns, effects }).toEqual({
        ...{ session_key, seqs: wanted, turns: wanted, effects: wanted },
      })
  }
}

/** The shards of a new database, all of them migrated and on their nodes. */
async function freshStores(urls: readonly string[]): Promise<PerShard<Store>> {
  const stores = await openStores(urls, { now: () => null, onError: () => undefined })
  for (const { migrations } of stores.all) await ensureMigrated(migrations, 'auto')
  return stores
}

eachStore('shards on nodes', (store) => {
  it('a move for which others wait is given up, and tried again until it is done', async () => {
    const urls = String(databaseEnv(await store.database()).WAKEFUL_SHARDS).split(' ')
    const stores = await freshStores(urls)
    const { db, migrations } = stores.all[1] as Store
    const write = (to: Db) => to.query(`update wakeful.settings set value = value`)
    const { at, other } = await nodes(1)
    const told: string[] = []
    let ends = () => {}
    const ended = new Promise<void>((done) => {
      ends = done
    })
    const moving = moveSchema(migrations, other.host, other.port, {
      wait: jitter,
      told: (line) => {
        told.push(line)
        ends()
      },
    })
    // A transaction that goes on for long begins while the rows are copied, so that the move waits for it at its end.
    const copying = `select 1 from pg_replication_slots where slot_name like 'citus_shard_move%' and confirmed_flush_lsn is not null`
    await until('the rows are copied', async () => (await onCitus(copying, at)).length > 0)
    const long = db.tx(async (tx) => {
      await write(tx)
      await ended
    })
    const behind = `select 1 from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and not granted`
    await until('the move waits', async () => (await onCitus(behind)).length > 0)
    const short = write(db)
    await Promise.all([moving, long, short])
    expect(told).toEqual([expect.stringContaining('try 1 of 5 was given up')])
    expect((await nodes(1)).at).toEqual(other)
    await Promise.all(stores.all.map((each) => each.close()))
  })

  it('20,000 timers of four shards: a process and a node are killed, a shard moves to another node, and each comes once', async () => {
    const database = await store.database()
    const env = databaseEnv(database)
    const home = folder()
    const settings = {
      ...{ ...env, WAKEFUL_APP: APP, WAKEFUL_LEASE_MS: '5000', LOG_LEVEL: 'error' },
      ...{ AUTONOMY_MAX_CONSECUTIVE: '1000', AUTONOMY_COOLDOWN_MS: '0' },
      ...{ WITNESS: join(home, 'witness'), HOLD: join(home, 'hold') },
    }
    const first = await Server.start(settings)
    await Server.start(settings)
    const urls = String(env.WAKEFUL_SHARDS).split(' ')
    const stores = await openStores(urls, { now: () => null, onError: () => undefined })
    try {
      await setTimers(stores)
      await reached(stores, TIMERS * 0.1)
      await first.end('SIGKILL')
      await reached(stores, TIMERS * 0.2)
      const { other } = await nodes(1)
      const to = `${other.host}:${other.port}`
      const before = await countAll(stores, COMMITTED)
      const moving = move(env, 1, to)
      await Server.start(settings)
      expect((await moving).split('\n').at(-1)).toBe(`shard 1 is on ${to}`)
      const during = (await countAll(stores, COMMITTED)) - before
      expect(during, 'turns while it moved').toBeGreaterThan(0)
      expect((await nodes(1)).at).toEqual(other)
      await reached(stores, TIMERS * 0.5)
      await loseNode(stores)
      for (let left = TIMERS; left > 0; ) {
        const now = left
        left = await until('less is waiting', async () => {
          const waiting = await countAll(stores, WAITING)
          return waiting < now ? waiting + 1 : undefined
        })
        left -= 1
      }
      await checkLog(stores)
      expect(
        await countAll(
          stores,
          `select count(*)::int as n from wakeful.events where type = 'timer'`,
        ),
      ).toBe(TIMERS)
      expect(await countAll(stores, COMMITTED)).toBe(TIMERS)
    } finally {
      await Promise.all(stores.all.map((each) => each.close()))
    }
  })
})
