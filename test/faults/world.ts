/** Servers as processes on one PostgreSQL, those who call them and are called by them, and the check of it all. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { bucketOf } from '../../src/core/session.ts'
import { type Place, Server } from '../process/server.ts'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'
import { Callers } from './callers.ts'
import { type Ask, check } from './check.ts'
import { receiver } from './receiver.ts'
import type { Ground } from './row.ts'
import { type Acknowledged, type Heard, type Mark, type Received, Witness } from './witness.ts'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const APP = here('../process/app.mjs')
export const SKEW = `--import ${here('skew.mjs')}`
const LEASE_MS = 1500

const pools = new Set<pg.Pool>()
afterEachTest(async () => {
  for (const pool of pools) await pool.end()
  pools.clear()
})

export type Started = Awaited<ReturnType<typeof Server.start>>

export class World {
  readonly acknowledged: Witness<Acknowledged>
  readonly received: Witness<Received>
  readonly heard: Witness<Heard>
  readonly marks: Witness<Mark>
  readonly hold: string
  readonly callers: Callers
  readonly servers: Started[] = []
  readonly wakeUrl: string
  /** Where servers find the database; perhaps by way of a relay. */
  readonly database: string
  /** Its own address. */
  readonly direct: string
  /** Over a connection of our own, to the database itself. */
  readonly ask: Ask
  readonly #env: Record<string, string>

  private constructor(folder: string, given: Given, wakeUrl: string, received: Witness<Received>) {
    this.acknowledged = new Witness(join(folder, 'callers'))
    this.received = received
    this.heard = new Witness(join(folder, 'readers'))
    this.marks = new Witness(join(folder, 'agents'))
    this.hold = join(folder, 'hold')
    this.database = given.by ?? given.url
    this.direct = given.url
    this.wakeUrl = wakeUrl
    this.#env = given.env ?? {}
    this.callers = new Callers(this.acknowledged, () => this.servers.map(({ url }) => url))
    // A database that was made read-only is still ours to write.
    const options = '-c default_transaction_read_only=off'
    const pool = new pg.Pool({ connectionString: given.url, max: 3, options })
    // A server that is killed takes our connections with it; whoever asks next hears of it.
    pool.on('error', () => undefined)
    pools.add(pool)
    this.ask = async <R extends object>(sql: string, values: readonly unknown[] = []) =>
      (await pool.query<R & pg.QueryResultRow>(sql, [...values])).rows
  }

  static async on(ground: Ground, given: Given): Promise<World> {
    const folder = ground.folder()
    const received = new Witness<Received>(join(folder, 'receivers'))
    return new World(folder, given, await receiver(received), received)
  }

  get env(): Record<string, string> {
    return {
      DATABASE_URL: this.database,
      WAKEFUL_APP: APP,
      WAKEFUL_LEASE_MS: String(LEASE_MS),
      WAKEFUL_WAKE_URL: this.wakeUrl,
      WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
      WAKEFUL_RATE_PER_SECOND: '100000',
      WAKEFUL_FILES: `${this.hold}-files`,
      AUTONOMY_MAX_CONSECUTIVE: '1000',
      AUTONOMY_COOLDOWN_MS: '0',
      LOG_LEVEL: 'error',
      WITNESS: this.marks.file,
      HOLD: this.hold,
      ...this.#env,
    }
  }

  async join(env: Record<string, string> = {}, place: Place = {}): Promise<Started> {
    const server = await Server.start({ ...this.env, ...env }, place)
    this.servers.push(server)
    return server
  }

  /** One that dies as soon as it listens, before it is ready. */
  async stillborn(): Promise<void> {
    const server = new Server(this.env)
    await server.address
    await server.end('SIGKILL')
  }

  /** One that dies at a named moment. */
  async victim(moment: string): Promise<Started> {
    return this.join(
      { KILL_AT: moment, NODE_OPTIONS: '--import tsx' },
      { bin: here('victim.script.ts') },
    )
  }

  /** Ends one by a signal and forgets its address. */
  async end(server: Started, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.servers.splice(this.servers.indexOf(server), 1)
    await server.end(signal)
  }

  /** By the API, of whichever server is there. Answers with the alarm's id. */
  async alarm(message: string, more: object = {}): Promise<string> {
    const { status, body } = await this.call('POST', '/v1/alarms', {
      ...{ kind: 'once', delay_seconds: 1, wake_message: message, ...more },
    })
    if (status !== 201) throw new Error(`an alarm was answered with ${status}`)
    return String(body.id)
  }

  async call(
    method: string,
    path: string,
    body?: object,
    server = this.servers[0],
  ): Promise<Answer> {
    const answer = await fetch(`${server?.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) }
  }

  /** The sum of a metric over its labels. */
  async metric(name: string, server = this.servers[0]): Promise<number> {
    const text = await (await fetch(`${server?.url}/metrics`)).text()
    const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))]
    return values.reduce((sum, [, value]) => sum + Number(value), 0)
  }

  /**
   * Timers of sessions of their own, due so many milliseconds from now by the database's clock, or within as many more
   * at random.
   */
  async timers(keys: readonly string[], dueMs: number, each = 1, spreadMs = 0): Promise<void> {
    const buckets = keys.map((key) => bucketOf(key.split(':', 1)[0] ?? ''))
    await this.ask(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
       select b, k, split_part(k, ':', 1), 'bot', split_part(k, ':', 3), now(), now()
       from unnest($1::text[], $2::int[]) s(k, b) on conflict do nothing`,
      [keys, buckets],
    )
    await this.ask(
      `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
       select b, k, gen_random_uuid(), 'timer' || n, now() + make_interval(secs => $3 + random() * $5), 'pending', now(), now()
       from unnest($1::text[], $2::int[]) s(k, b) cross join generate_series(1, $4) n`,
      [keys, buckets, dueMs / 1000, each, spreadMs / 1000],
    )
  }

  /** Nothing waits any more: no event, no timer, no alarm, no lease. */
  async settled(): Promise<void> {
    await until('all is done', async () => {
      const [row] = await this.ask<{ waiting: number }>(
        `select (select count(*) from wakeful.sessions where done_seq < last_seq or claim_token is not null)::int
           + (select count(*) from wakeful.autonomy_timers where status = 'pending')::int
           + (select count(*) from wakeful.alarms where status = 'active' and kind = 'once')::int as waiting`,
      )
      return row?.waiting === 0
    })
  }

  /** Throws with every complaint of the checker. */
  async check(): Promise<void> {
    const complaints = await check(this.ask, {
      acknowledged: this.acknowledged.all(),
      received: this.received.all(),
      heard: this.heard.all(),
      marks: this.marks.all(),
    })
    if (complaints.length > 0) throw new Error(complaints.slice(0, 20).join('\n'))
  }
}

interface Given {
  readonly url: string
  /** By way of this address instead. */
  readonly by?: string
  readonly env?: Record<string, string>
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

const JSON_TYPE = { 'content-type': 'application/json' }

export const keysOf = (count: number, who = 'user') =>
  Array.from({ length: count }, (_, n) => `${who}${n}:bot:t`)
