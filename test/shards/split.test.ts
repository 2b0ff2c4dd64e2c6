/** A shard is split: every row is in one place, whoever was killed on the way, and what is due comes once. */
import { spawn } from 'node:child_process'
import { describe, expect, it, vi } from 'vitest'
import { movedTables } from '../../packages/shards/src/move-rows.ts'
import { splitShard } from '../../packages/shards/src/split.ts'
import { openStores } from '../../src/app/shards.ts'
import { bucketOf } from '../../src/core/session.ts'
import type { Db } from '../../src/store/db.ts'
import { ensureMigrated } from '../../src/store/migrate.ts'
import { BIN, ensureBuilt } from '../process/server.ts'
import { type Stage, stage } from '../setup/listening-app.ts'
import { databaseEnv, eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const PEOPLE = Array.from({ length: 8 }, (_, n) => `person-${n}`)
const MOVED = PEOPLE.filter((user) => bucketOf(user) >= 512)
const as = (user: string) => ({ 'wakeful-act-as': user })

/** Everything in the first shard, and two that have nobody yet. */
async function oneFullShard(store: StoreUnderTest): Promise<string> {
  const database = await store.database()
  const { all, home } = await shardsOf(database)
  await ensureMigrated(home.migrations, 'auto')
  await home.db.query('insert into wakeful.shards values (0, 0, 1023, null, now())')
  await Promise.all(all.map((each) => each.close()))
  return database
}

async function live(database: string): Promise<Stage> {
  const s = await stage(database, {
    agents: {
      bot: (turn) => turn.schedule('again', { in: 3600, data: { n: '1E2' }, cancelOnReply: true }),
    },
    work: { echo: async ({ task }) => ({ title: task, content: task }) },
  })
  for (const user of PEOPLE) {
    await s.call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'hi', id: 'one' })
    await s.set({ kind: 'cron', cron_expr: '0 * * * *', label: user, agent_id: 'bot' }, as(user))
    const intent = { user_id: user, intent_name: 'x', action_context: 'say so', agent_id: 'bot' }
    const waits = { trigger_type: 'event', trigger_condition: { keywords: ['launch'] } }
    await s.call('POST', '/v1/intents', { ...intent, ...waits })
    await s.call('POST', '/v1/work', { task: 'x', agent_type: 'echo', user_id: user })
    const key = { 'idempotency-key': `signal-${user}` }
    await s.call('POST', '/v1/signals', { kind: 'event', name: 'rain', user_id: user }, key)
  }
  await s.call('POST', '/v1/signals', { kind: 'event', name: 'sun' })
  await s.settle()
  return s
}

const shardsOf = (database: string) =>
  openStores(String(databaseEnv(database).WAKEFUL_SHARDS).split(' '), {
    now: () => null,
    onError: () => undefined,
  })

/** All rows of people, wherever they are. */
async function everything({ app }: Stage): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {}
  for (const table of await movedTables(app.store.db)) {
    const all = await Promise.all(
      app.stores.all.map(({ db }) =>
        db.query<{ row: string }>(`select row_to_json(t)::text as row from wakeful.${table} t`),
      ),
    )
    rows[table] = all.flatMap((each) => each.map(({ row }) => row)).sort()
  }
  return rows
}

/** Where whose sessions are, and what the tables themselves refuse. */
async function inPlace({ app }: Stage): Promise<void> {
  for (const [number, { db }] of app.stores.all.entries()) {
    const rows = await db.query<{ user: string }>(
      `select split_part(session_key, ':', 1) as user from wakeful.sessions`,
    )
    const wanted = number === 0 ? PEOPLE.filter((user) => !MOVED.includes(user)) : MOVED
    expect(new Set(rows.map(({ user }) => user))).toEqual(new Set(number < 2 ? wanted : []))
  }
}

async function worksForAll(s: Stage): Promise<void> {
  const before = (await s.call('GET', '/v1/ledger?trigger=alarm&limit=200')).body.data.length
  for (const user of PEOPLE) {
    const again = { text: 'hi', id: 'one' }
    const path = `/v1/sessions/${user}:bot:t`
    expect((await s.call('POST', `${path}/messages`, again)).status, user).toBe(200)
    const key = { 'idempotency-key': `signal-${user}` }
    const told = { kind: 'event', name: 'rain', user_id: user }
    const repeated = await s.call('POST', '/v1/signals', told, key)
    expect(repeated.headers.get('idempotency-replayed'), user).toBe('true')
  }
  const launch = await s.call('POST', '/v1/signals', { kind: 'event', name: 'launch' })
  expect(launch.body.promoted).toBe(PEOPLE.length)
  await s.advanceBy(3_600_000)
  const events = await s.query<{ type: string; session_key: string; seq: number }>(
    'select type, session_key, seq from wakeful.events',
  )
  const timers = events.filter((e) => e.type === 'timer' && e.session_key.endsWith(':bot:t'))
  expect(timers.length).toBe(PEOPLE.length)
  expect(new Set(events.map(({ session_key, seq }) => `${session_key} ${seq}`)).size).toBe(
    events.length,
  )
  const fired = (await s.call('GET', '/v1/ledger?trigger=alarm&limit=200')).body.data.length
  expect(fired - before).toBe(PEOPLE.length)
}

/** What runs in transactions of this database from now on, in order. */
function statementsOf(db: Db): string[] {
  const written: string[] = []
  const { tx: begin } = db
  vi.spyOn(db, 'tx').mockImplementation(
    (work, options) =>
      begin.call(
        db,
        (tx) => {
          const note =
            <A extends unknown[], R>(run: (text: string, ...rest: A) => R) =>
            (text: string, ...rest: A) => {
              written.push(text)
              return run(text, ...rest)
            }
          return work({ ...tx, query: note(tx.query) as Db['query'], exec: note(tx.exec) })
        },
        options,
      ) as never,
  )
  return written
}

/** `wakeful shards split 0`, as a process of its own. */
function command(env: Record<string, string>) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [BIN, 'shards', 'split', '0'], { env: { ...env, PATH } })
  const run = {
    child,
    said: '',
    ended: new Promise<number | string | null>((done) =>
      child.on('close', (code, signal) => done(code ?? signal)),
    ),
  }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      run.said += String(data)
    })
  return run
}

eachStore('a split', (store) => {
  const STEPS = ['go to shard', 'waiting', 'copying', 'rows copied', 'let them go', 'arrived']

  it('moves the upper half, every row once and as it was, while the server goes on', async () => {
    const database = await oneFullShard(store)
    const s = await live(database)
    const before = await everything(s)
    const stores = await shardsOf(database)
    const told: string[] = []
    const written = statementsOf(stores.home.migrations)
    const { rows } = await splitShard(stores, 0, {
      told: (step) => told.push(step),
      async wait() {
        await s.settle()
        // Between the first step and the last nobody serves them; the others are served.
        for (const user of PEOPLE) {
          const { status } = await s.call('GET', `/v1/sessions/${user}:bot:t`)
          expect(status, user).toBe(MOVED.includes(user) ? 503 : 200)
        }
      },
    })
    expect(rows).toBeGreaterThan(MOVED.length * 5)
    for (const step of STEPS) expect(told.join('\n')).toContain(step)
    // A write between the lock and the end of the copy would be lost.
    const locked = written.findIndex((text) => /lock table .*sessions.* exclusive/.test(text))
    expect(locked).toBeGreaterThan(-1)
    expect(locked).toBeLessThan(written.findIndex((text) => text.startsWith('declare')))
    // A process that has not heard of the last step yet refuses them, and never writes into the wrong place.
    const [user] = MOVED
    const late = await s.call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'too soon' })
    expect(late.status).toBe(503)
    const { db } = s.app.store
    await expect(db.query('update wakeful.sessions set bucket = 1023')).rejects.toMatchObject({
      constraint: 'shard_holds',
    })
    await s.settle()
    expect(await everything(s)).toEqual(before)
    await inPlace(s)
    await worksForAll(s)
    await Promise.all(stores.all.map((each) => each.close()))
  })

  it.each(STEPS)('goes on where it died: after "%s"', async (step) => {
    const database = await oneFullShard(store)
    const s = await live(database)
    const before = await everything(s)
    const stores = await shardsOf(database)
    const dies = (said: string) => {
      if (said.includes(step)) throw new Error('killed')
    }
    const hooks = { wait: async () => undefined, told: dies }
    await expect(splitShard(stores, 0, hooks)).rejects.toThrow('killed')
    // Whatever runs meanwhile finds nothing due in two places.
    await s.settle()
    await expect(splitShard(stores, 1, { ...hooks, told: () => undefined })).rejects.toThrow()
    await splitShard(stores, 0, { ...hooks, told: () => undefined })
    await s.settle()
    expect(await everything(s)).toEqual(before)
    await inPlace(s)
    await worksForAll(s)
    await Promise.all(stores.all.map((each) => each.close()))
  })

  it('kill −9 in the middle, by the command itself', async () => {
    ensureBuilt()
    const database = await oneFullShard(store)
    const s = await live(database)
    const before = await everything(s)
    const env = { ...databaseEnv(database), LOG_LEVEL: 'silent' }
    const first = command(env)
    await until('copying', () => first.said.includes('copying'))
    first.child.kill('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    const second = command(env)
    expect([await second.ended, second.said]).toEqual([0, expect.stringContaining('done')])
    await s.settle()
    expect(await everything(s)).toEqual(before)
    await worksForAll(s)
  })

  it('without a further shard in WAKEFUL_SHARDS it is refused, and so is a number that is none', async () => {
    const database = await store.database()
    const s = await live(database)
    const stores = await shardsOf(database)
    const hooks = { wait: async () => undefined, told: () => undefined }
    await expect(splitShard(stores, 0, hooks)).rejects.toThrow('add one to it')
    await expect(splitShard(stores, 7, hooks)).rejects.toThrow('there is no shard 7')
    await s.stop()
    await Promise.all(stores.all.map((each) => each.close()))
  })

  describe('every table', () => {
    it('has buckets and moves with its people, or is known to stay', async () => {
      const stores = await shardsOf(await store.database())
      const all = await stores.home.db.query<{ name: string }>(
        `select tablename::text as name from pg_tables where schemaname = 'wakeful'`,
      )
      const moved = new Set(await movedTables(stores.home.db))
      const stays = all.map(({ name }) => name).filter((name) => !moved.has(name))
      expect(stays.sort()).toEqual(
        [
          ...['agent_minutes', 'agents', 'api_keys', 'auth_challenges', 'channel_readers'],
          // Moved by the names of their owners. Batches name sessions, which are marked as due where they arrive.
          ...[
            'hooks',
            'idempotency_keys',
            'leases',
            'mcp_sources',
            'migrations',
            'settings',
            'signals',
          ],
          ...['shards', 'source_polls', 'stops', 'tickets'],
        ].sort(),
      )
      await Promise.all(stores.all.map((each) => each.close()))
    })
  })
})
