/**
 * Several real processes on one PostgreSQL. The witness is a file that every turn marks by itself; the
 * checks compare it with what the database says.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'
import { folder, post, Server } from './server.ts'

const APP = fileURLToPath(new URL('app.mjs', import.meta.url))
/** Short, so that the dead are noticed soon. Where nobody dies, a busy machine must not look like a death. */
const LEASE_MS = { short: 1000, long: 20_000 } as const
const made: string[] = []
afterAll(() => dropDatabases(made))

interface Mark {
  readonly what: 'start' | 'end'
  readonly key: string
  readonly seq: number
  readonly attempt: number
  readonly pid: number
}

type Started = Awaited<ReturnType<typeof Server.start>>

class Crowd {
  readonly db: Db
  readonly hold: string
  readonly servers: Started[] = []
  readonly #witness: string
  readonly #url: string

  readonly #leaseMs: number

  private constructor(db: Db, url: string, leaseMs: number) {
    const home = folder()
    this.db = db
    this.#leaseMs = leaseMs
    this.hold = join(home, 'hold')
    this.#witness = join(home, 'witness')
    this.#url = url
  }

  static async of(size: number, lease: keyof typeof LEASE_MS = 'short'): Promise<Crowd> {
    const url = await postgresDatabase(made)
    const crowd = new Crowd((await bareStore(url)).db, url, LEASE_MS[lease])
    await Promise.all(Array.from({ length: size }, () => crowd.join()))
    return crowd
  }

  async join(): Promise<Started> {
    const server = await Server.start({
      DATABASE_URL: this.#url,
      WAKEFUL_APP: APP,
      WAKEFUL_LEASE_MS: String(this.#leaseMs),
      AUTONOMY_MAX_CONSECUTIVE: '1000',
      AUTONOMY_COOLDOWN_MS: '0',
      LOG_LEVEL: 'error',
      WITNESS: this.#witness,
      HOLD: this.hold,
    })
    this.servers.push(server)
    return server
  }

  server(index: number): Started {
    const server = this.servers[index % this.servers.length]
    if (server === undefined) throw new Error('nobody is there')
    return server
  }

  byPid(pid: number): Started {
    const server = this.servers.find((each) => each.pid === pid)
    if (server === undefined) throw new Error(`no process ${pid}`)
    return server
  }

  /** What callers were told is written, by their own account. */
  readonly acknowledged: string[] = []

  /** Says the same in each session `times` over, through all the processes at once. */
  async say(keys: readonly string[], text: string, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const answers = await Promise.all(
        keys.map(async (key, index) => {
          const answer = await post(this.server(index + n).url, key, { text })
          if (answer?.status === 202) this.acknowledged.push(`${key} ${answer.seq}`)
          return answer
        }),
      )
      expect(answers.map((answer) => answer?.status)).toEqual(keys.map(() => 202))
    }
  }

  marks(): Mark[] {
    if (!existsSync(this.#witness)) return []
    const lines = readFileSync(this.#witness, 'utf8').split('\n')
    return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Mark)
  }

  marksOf(key: string, what?: Mark['what']): Mark[] {
    return this.marks().filter((mark) => mark.key === key && (what ?? mark.what) === mark.what)
  }

  /** Every event is done, every timer promoted. */
  settled(): Promise<true> {
    return until('all is done', async () => {
      const [row] = await this.db.query<{ waiting: number }>(
        `select (select count(*) from wakeful.sessions where done_seq < last_seq or claim_token is not null)::int
             + (select count(*) from wakeful.autonomy_timers where status = 'pending')::int as waiting`,
      )
      return row?.waiting === 0
    })
  }

  /** Invariants 1, 2, 3 and 6, by the database: seq without gap, one committed turn and one effect for each event. */
  async checkLog(): Promise<void> {
    const rows = await this.db.query<{
      session_key: string
      seqs: number[]
      turns: number[]
      effects: number[]
    }>(
      `select s.session_key,
         array(select seq from wakeful.events e where e.bucket = s.bucket and e.session_key = s.session_key order by 1) as seqs,
         array(select event_seq from wakeful.turns t where t.bucket = s.bucket and t.session_key = s.session_key
               and t.status = 'committed' order by finished_at, event_seq) as turns,
         array(select event_seq from wakeful.effects f where f.bucket = s.bucket and f.session_key = s.session_key order by position) as effects
       from wakeful.sessions s where s.last_seq > 0`,
    )
    for (const { session_key, seqs, turns, effects } of rows) {
      expect(seqs, session_key).toEqual(seqs.map((_, n) => n + 1))
      expect(turns, session_key).toEqual(seqs)
      expect(effects, session_key).toEqual(seqs)
    }
  }
}

const keysOf = (count: number, who: string) =>
  Array.from({ length: count }, (_, n) => `${who}${n}:bot:t`)

it('invariants 1, 2 and 4: three processes keep the order of each session, one turn at a time, and promote 500 timers once', async () => {
  const crowd = await Crowd.of(3, 'long')
  const spoken = keysOf(12, 'user')
  const timed = keysOf(50, 'timed')
  const saying = crowd.say(spoken, 'slow', 4)
  await crowd.db.query(
    `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
     select 7, k, split_part(k, ':', 1), 'bot', 't', now(), now() from unnest($1::text[]) k`,
    [timed],
  )
  await crowd.db.query(
    `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
     select 7, k, gen_random_uuid(), 'timer' || n, now() + interval '200 ms', 'pending', now(), now()
     from unnest($1::text[]) k cross join generate_series(1, 10) n`,
    [timed],
  )
  await saying
  await crowd.settled()
  await crowd.checkLog()
  for (const key of [...spoken, ...timed]) {
    const marks = crowd.marksOf(key).map(({ what, seq }) => `${what} ${seq}`)
    const count = spoken.includes(key) ? 4 : 10
    const wanted = Array.from({ length: count }, (_, n) => [
      `start ${n + 1}`,
      `end ${n + 1}`,
    ]).flat()
    expect(marks, key).toEqual(wanted)
  }
  const [slots] = await crowd.db.query(
    `select count(*)::int as events, count(distinct trigger_id)::int as timers from wakeful.events where type = 'timer'`,
  )
  expect(slots).toEqual({ events: 500, timers: 500 })
})

it('invariants 2, 3, 6 and 9: a process killed with -9 amid its turns loses nothing acknowledged, and leaves each event with one committed turn, in order', async () => {
  const crowd = await Crowd.of(3)
  const keys = keysOf(40, 'user')
  const saying = crowd.say(keys, 'slow', 3)
  // Somebody who is in the middle of several turns right now.
  const amid = (least: number) => {
    const open = new Map<number, number>()
    for (const { what, pid } of crowd.marks())
      open.set(pid, (open.get(pid) ?? 0) + (what === 'start' ? 1 : -1))
    return [...open].flatMap(([pid, running]) => (running >= least ? [pid] : []))
  }
  const victim = await until('a process amid its turns', () => {
    const [pid] = amid(3)
    if (pid === undefined) return undefined
    // Frozen, so that it cannot end them between this look and its death.
    crowd.byPid(pid).signal('SIGSTOP')
    if (amid(1).includes(pid)) return pid
    crowd.byPid(pid).signal('SIGCONT')
    return undefined
  })
  const killed = crowd.byPid(victim).end('SIGKILL')
  await Promise.allSettled([saying])
  await killed
  await crowd.settled()
  await crowd.checkLog()
  const again = new Set<string>()
  for (const key of keys) {
    const starts = crowd.marksOf(key, 'start')
    const seqs = starts.map(({ seq }) => seq)
    expect(seqs, key).toEqual([...seqs].sort((a, b) => a - b))
    for (const { seq, attempt } of starts) if (attempt > 1) again.add(`${key} ${seq}`)
  }
  const log = await crowd.db.query<{ name: string }>(
    `select session_key || ' ' || seq as name from wakeful.events`,
  )
  expect(crowd.acknowledged.length).toBeGreaterThan(0)
  expect(log.map(({ name }) => name)).toEqual(expect.arrayContaining(crowd.acknowledged))
  // What it had begun was begun again, and counted (rule 14).
  expect(again.size).toBeGreaterThan(0)
  const rows = await crowd.db.query<{ name: string }>(
    `select session_key || ' ' || event_seq as name from wakeful.turns where attempt > 1`,
  )
  expect(new Set(rows.map(({ name }) => name))).toEqual(again)
})

it('invariant 5: a process frozen beyond its lease writes nothing when it wakes', async () => {
  const crowd = await Crowd.of(2)
  writeFileSync(crowd.hold, '')
  const key = 'ann:bot:t'
  await crowd.say([key], 'hold', 1)
  const first = await until('the turn begins', () => crowd.marksOf(key, 'start')[0])
  const frozen = crowd.byPid(first.pid)
  frozen.signal('SIGSTOP')
  const second = await until('another takes over', () => crowd.marksOf(key, 'start')[1])
  expect(second.pid).not.toBe(first.pid)
  expect([first.attempt, second.attempt]).toEqual([1, 2])
  rmSync(crowd.hold)
  await crowd.settled()
  const everything = async () => [
    await crowd.db.query('select * from wakeful.sessions'),
    await crowd.db.query('select * from wakeful.turns'),
    await crowd.db.query('select id, payload from wakeful.effects'),
    await crowd.db.query('select checkpoint_id from wakeful.checkpoints'),
  ]
  const before = await everything()
  frozen.signal('SIGCONT')
  await until('it learns that its lease was lost', async () => {
    const metrics = await (await fetch(`${frozen.url}/metrics`)).text()
    return /^\w*leases?_lost\w* [1-9]/m.test(metrics)
  })
  expect(await everything()).toEqual(before)
  await crowd.checkLog()
  const winner = crowd.marksOf(key, 'end').find(({ pid }) => pid !== first.pid)
  const turns = await crowd.db.query('select status, attempt from wakeful.turns')
  expect(turns).toEqual([{ status: 'committed', attempt: winner?.attempt }])
  // Nor is it out of the game.
  await crowd.say([key], 'again', 2)
  await crowd.settled()
  await crowd.checkLog()
})

it('rule 15: a turn that kills its process every time is given up after ten deaths, and the session goes on', async () => {
  const crowd = await Crowd.of(3)
  const key = 'ann:bot:t'
  await crowd.say([key], 'die', 1)
  const ends = await Promise.all(crowd.servers.map(({ exited }) => exited))
  expect(ends.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL'])
  expect(crowd.marksOf(key, 'start').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
  expect(await crowd.db.query('select deaths from wakeful.sessions')).toEqual([{ deaths: 2 }])
  // The seven after the third are aged into being instead of waited for.
  await crowd.db.query(`update wakeful.sessions set deaths = deaths + 7, leased_until = now()`)
  const last = await crowd.join()
  expect((await post(last.url, key, { text: 'still there?' }))?.status).toBe(202)
  await crowd.settled()
  const turns = await crowd.db.query<{ event_seq: number; status: string; error: string | null }>(
    'select event_seq, status, error from wakeful.turns order by event_seq',
  )
  expect(turns).toEqual([
    {
      event_seq: 1,
      status: 'failed',
      error: 'given up: the process died 10 times during this turn',
    },
    { event_seq: 2, status: 'committed', error: null },
  ])
  expect(crowd.marksOf(key, 'start').map(({ seq }) => seq)).toEqual([1, 1, 1, 2])
})
