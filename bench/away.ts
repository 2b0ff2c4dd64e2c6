/**
 * One of several servers away: eight shards on four servers, three processes, timers at a steady rate, and one server killed in the middle
 * and started again. How late the turns of the other shards begin, before, meanwhile and after; and whether each timer came once.
 * `node --import tsx bench/away.ts [--seconds 60] [--rate 8]`, the seconds of each part, the timers a second of each shard.
 */
import { openStores } from '../src/app/shards.ts'
import { bucketOf } from '../src/core/session.ts'
import { ensureMigrated } from '../src/store/migrate.ts'
import type { Store } from '../src/store/open.ts'
import { evenRanges, ShardMap } from '../src/store/shards/ranges.ts'
import { startPostgres } from '../test/setup/server.ts'
import { lateness, Processes, pauseUntil, setTimers, tell } from './processes.ts'
import { flag, report, until } from './stage.ts'

const SERVERS = 4
const SHARDS = 8
const PROCESSES = 3
const PEOPLE = Array.from({ length: 400 }, (_, n) => `person-${n}`)
const LEAD_MS = 5_000
/** The one that goes. */
const GONE = 1
const SETTINGS = ['max_connections=200', 'shared_buffers=64MB']

const partMs = flag('seconds', 60) * 1_000
const rate = flag('rate', 8)
const count = Math.round((3 * partMs * rate) / 1_000)
const map = new ShardMap(evenRanges(SHARDS))
const serverOf = (shard: number) => shard % SERVERS

const committed = async ({ db }: Store) => {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from wakeful.turns where status = 'committed'`,
  )
  return row?.n ?? 0
}

const servers = await Promise.all(Array.from({ length: SERVERS }, () => startPostgres(SETTINGS)))
const processes = new Processes('bot: () => undefined')
try {
  const urls = Array.from(
    { length: SHARDS },
    (_, shard) => `${servers[serverOf(shard)]?.base}/postgres`,
  )
  const { all: stores } = await openStores(urls, { now: () => null, onError: () => undefined })
  for (const { migrations } of stores) await ensureMigrated(migrations, 'auto')
  for (let n = 0; n < PROCESSES; n++)
    await processes.start({ DATABASE_URL: urls[0] as string, WAKEFUL_SHARDS: urls.join(' ') })
  const fromMs = Date.now() + LEAD_MS
  for (const [shard, { db }] of stores.entries()) {
    const people = PEOPLE.filter((user) => map.ofBucket(bucketOf(user)) === shard)
    await setTimers(db, { agent: 'bot', people, fromMs, rate, count })
  }
  await pauseUntil(fromMs + partMs)
  await servers[GONE]?.crash('SIGQUIT')
  await pauseUntil(fromMs + 2 * partMs)
  await servers[GONE]?.start()
  await pauseUntil(fromMs + 3 * partMs)
  const counts = () => Promise.all(stores.map((store) => committed(store).catch(() => 0)))
  await until(async () => (await counts()).every((n) => n >= count), 120_000)
  const late = await Promise.all(stores.map(({ db }) => lateness(db)))
  for (const gone of [false, true])
    for (const [part, name] of ['before', 'away', 'after'].entries()) {
      const rows = late.filter((_, shard) => (serverOf(shard) === GONE) === gone).flat()
      const from = fromMs + part * partMs
      tell(`${gone ? 'its own' : 'the others'}, ${name}`, rows, from, from + partMs)
    }
  const once = late.every(
    (rows) => rows.length === count && new Set(rows.map(({ due }) => due)).size === count,
  )
  report('each once', { timers: count * SHARDS, once: String(once) })
  if (!once) process.exitCode = 1
  await Promise.all(stores.map((store) => store.close()))
} finally {
  processes.end()
  await Promise.all(servers.map((server) => server.stop()))
}
