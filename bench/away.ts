/**
 * One of several servers away: eight slices on four servers, three processes, timers at a steady rate, and one server killed in the middle
 * and started again. How late the turns of the other slices begin, before, meanwhile and after; and whether each timer came once.
 * `node --import tsx bench/away.ts [--seconds 60] [--rate 8]`, the seconds of each part, the timers a second of each slice.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openStores } from '../src/app/slices.ts'
import { bucketOf } from '../src/core/sessions/session.ts'
import { evenRanges, type Sliced, SliceMap } from '../src/core/slices/slices.ts'
import { ensureMigrated } from '../src/store/db/migrate.ts'
import type { Store } from '../src/store/db/open.ts'
import { startPostgres } from '../test/setup/server.ts'
import { percentile, report, until } from './stage.ts'

const SERVERS = 4
const SLICES = 8
const PROCESSES = 3
const SESSIONS = 400
const LEAD_MS = 5_000
const CRASH_MS = 3_000
/** The one that goes. */
const GONE = 1
const DIST = new URL('../dist/', import.meta.url)
const BIN = fileURLToPath(new URL('cli/bin.js', DIST))
/** An agent that says nothing. */
const APP = `import { agent } from '${new URL('index.js', DIST)}'
export default { agents: { bot: agent(() => undefined) } }`
const SETTINGS = ['max_connections=200', 'shared_buffers=64MB']

function flag(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}

const partMs = flag('seconds', 60) * 1_000
const rate = flag('rate', 8)
const each = Math.round((3 * partMs * rate) / 1_000)
const map = new SliceMap(evenRanges(SLICES))
const serverOf = (slice: number) => slice % SERVERS

/** Which instant each is for is its name. */
async function setTimers({ all }: Sliced<Store>, fromMs: number): Promise<void> {
  const people = Array.from({ length: SESSIONS }, (_, n) => `person-${n}`)
  for (const [slice, { db }] of all.entries()) {
    const own = people.filter((user) => map.ofBucket(bucketOf(user)) === slice)
    await db.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select b, u || ':bot:t', u, 'bot', 't', now(), now() from unnest($1::smallint[], $2::text[]) p(b, u)`,
      [own.map(bucketOf), own],
    )
    const due = Array.from({ length: each }, (_, n) => ({
      user: own[n % own.length] as string,
      ms: Math.round(fromMs + (n * 1_000) / rate),
    }))
    await db.query(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select b, u || ':bot:t', gen_random_uuid(), ms::text, to_timestamp(ms / 1000.0), 'pending', now(), now()
       from unnest($1::smallint[], $2::text[], $3::int8[]) t(b, u, ms)`,
      [due.map(({ user }) => bucketOf(user)), due.map(({ user }) => user), due.map(({ ms }) => ms)],
    )
  }
}

async function serve(urls: readonly string[], app: string): Promise<ChildProcess> {
  const env = {
    ...{ PATH: process.env.PATH, PORT: '0', LOG_LEVEL: 'info', DATABASE_URL: urls[0] },
    ...{ WAKEFUL_SLICES: urls.join(' '), AUTONOMY_MAX_CONSECUTIVE: '1000000' },
    ...{ AUTONOMY_COOLDOWN_MS: '0', WAKEFUL_APP: app },
  }
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const output = createInterface({ input: child.stdout })
  await new Promise<void>((listening, fail) => {
    child.once('exit', (code) => fail(new Error(`a process ended with code ${code}`)))
    output.on('line', (line) => line.includes('http://') && listening())
  })
  return child
}

interface Late {
  readonly due: number
  readonly ms: number
}

async function lateness({ db }: Store): Promise<Late[]> {
  return db.query<Late & object>(
    `select (e.payload ->> 'timer_id')::float8 as due,
       extract(epoch from t.started_at)::float8 * 1000 - (e.payload ->> 'timer_id')::float8 as ms
     from wakeful.events e join wakeful.turns t on t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq
     where e.type = 'timer' and t.status = 'committed'`,
  )
}

const committed = async ({ db }: Store) => {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from wakeful.turns where status = 'committed'`,
  )
  return row?.n ?? 0
}

const pause = (untilMs: number) =>
  new Promise((done) => setTimeout(done, Math.max(0, untilMs - Date.now())))

const servers = await Promise.all(Array.from({ length: SERVERS }, () => startPostgres(SETTINGS)))
const children: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'wakeful-away-'))
try {
  const app = join(folder, 'app.mjs')
  writeFileSync(app, APP)
  const urls = Array.from(
    { length: SLICES },
    (_, slice) => `${servers[serverOf(slice)]?.base}/postgres`,
  )
  const stores = await openStores(urls, { now: () => null, onError: () => undefined })
  for (const { migrations } of stores.all) await ensureMigrated(migrations, 'auto')
  for (let n = 0; n < PROCESSES; n++) children.push(await serve(urls, app))
  const fromMs = Date.now() + LEAD_MS
  await setTimers(stores, fromMs)
  await pause(fromMs + partMs)
  await servers[GONE]?.crash('SIGQUIT')
  await pause(fromMs + 2 * partMs)
  await servers[GONE]?.start()
  await pause(fromMs + 3 * partMs)
  const counts = () => Promise.all(stores.all.map((store) => committed(store).catch(() => 0)))
  await until(async () => (await counts()).every((n) => n >= each), 120_000)
  const all = await Promise.all(stores.all.map(lateness))
  // The instant of the crash by itself: here all servers share their cores, and a hundred processes end at once.
  const parts = [
    ['before', 0, partMs],
    ['as it goes', partMs, partMs + CRASH_MS],
    ['away', partMs + CRASH_MS, 2 * partMs],
    ['after', 2 * partMs, 3 * partMs],
  ] as const
  for (const gone of [false, true])
    for (const [part, from, to] of parts) {
      const late = all
        .filter((_, slice) => (serverOf(slice) === GONE) === gone)
        .flatMap((rows) => rows.filter(({ due }) => due >= fromMs + from && due < fromMs + to))
        .map(({ ms }) => ms)
        .toSorted((a, b) => a - b)
      report(`${gone ? 'its own' : 'the others'}, ${part}`, {
        turns: late.length,
        'p50 ms': percentile(late, 0.5),
        'p99 ms': percentile(late, 0.99),
        'max ms': late.at(-1) ?? 0,
      })
    }
  const once = all.every(
    (rows) => rows.length === each && new Set(rows.map(({ due }) => due)).size === each,
  )
  report('each once', { timers: each * SLICES, once: String(once) })
  if (!once) process.exitCode = 1
  await Promise.all(stores.all.map((store) => store.close()))
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  await Promise.all(servers.map((server) => server.stop()))
}
