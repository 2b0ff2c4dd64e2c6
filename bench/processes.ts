/** Servers as processes of their own, timers at a steady rate, and how late their turns began. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bucketOf } from '../src/core/session.ts'
import type { Db } from '../src/store/db.ts'
import { percentile, report } from './stage.ts'

const DIST = new URL('../dist/', import.meta.url)
const BIN = fileURLToPath(new URL('cli/bin.js', DIST))
const ADDRESS = /http:\/\/[\d.]+:\d+/

export const pauseUntil = (ms: number) =>
  new Promise((done) => setTimeout(done, Math.max(0, ms - Date.now())))

/** `wakeful serve`, several times, with agents that are written down here. */
export class Processes {
  readonly #children: ChildProcess[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'wakeful-bench-'))
  readonly #app = join(this.#folder, 'app.mjs')

  /** `agents`: the members of an object, each a function of a turn. */
  constructor(agents: string) {
    const text = `import { agent } from '${new URL('index.js', DIST)}'
const agents = { ${agents} }
export default { agents: Object.fromEntries(Object.entries(agents).map(([name, run]) => [name, agent(run)])) }`
    writeFileSync(this.#app, text)
  }

  /** Answers with its address. */
  async start(settings: Readonly<Record<string, string>>): Promise<string> {
    const env = {
      ...{ PATH: process.env.PATH, PORT: '0', LOG_LEVEL: 'info', WAKEFUL_APP: this.#app },
      ...{ AUTONOMY_MAX_CONSECUTIVE: '1000000', AUTONOMY_COOLDOWN_MS: '0', ...settings },
    }
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    const child = spawn(process.execPath, [BIN, 'serve'], { env, stdio: [...stdio] })
    this.#children.push(child)
    const output = createInterface({ input: child.stdout })
    return new Promise<string>((listening, fail) => {
      child.once('exit', (code) => fail(new Error(`a process ended with code ${code}`)))
      output.on('line', (line) => {
        const [address] = ADDRESS.exec(line) ?? []
        if (address !== undefined) listening(address)
      })
    })
  }

  end(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export interface Steady {
  readonly agent: string
  readonly people: readonly string[]
  readonly fromMs: number
  /** A second, of all of them together. */
  readonly rate: number
  readonly count: number
}

/** Which instant each is for is its name. */
export async function setTimers(db: Db, steady: Steady): Promise<void> {
  const { agent, people, fromMs, rate, count } = steady
  await db.query(
    `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, created_at, updated_at)
     select b, u || ':' || $3 || ':t', u, $3, 't', now(), now() from unnest($1::smallint[], $2::text[]) p(b, u)`,
    [people.map(bucketOf), people, agent],
  )
  const due = Array.from({ length: count }, (_, n) => ({
    user: people[n % people.length] as string,
    ms: Math.round(fromMs + (n * 1_000) / rate),
  }))
  await db.query(
    `insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, status, created_at, updated_at)
     select b, u || ':' || $4 || ':t', gen_random_uuid(), ms::text, to_timestamp(ms / 1000.0), 'pending', now(), now()
     from unnest($1::smallint[], $2::text[], $3::int8[]) t(b, u, ms)`,
    [
      due.map(({ user }) => bucketOf(user)),
      due.map(({ user }) => user),
      due.map(({ ms }) => ms),
      agent,
    ],
  )
}

export interface Late {
  readonly due: number
  readonly ms: number
}

/** Of every timer that was set so, and whose turn is over. */
export async function lateness(db: Db): Promise<Late[]> {
  return db.query<Late & object>(
    `select (e.payload ->> 'timer_id')::float8 as due,
       extract(epoch from t.started_at)::float8 * 1000 - (e.payload ->> 'timer_id')::float8 as ms
     from wakeful.events e join wakeful.turns t on t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq
     where e.type = 'timer' and t.status = 'committed'`,
  )
}

/** Of those due in a span of time. */
export function tell(name: string, all: readonly Late[], fromMs: number, toMs: number): void {
  const late = all
    .filter(({ due }) => due >= fromMs && due < toMs)
    .map(({ ms }) => ms)
    .toSorted((a, b) => a - b)
  report(name, {
    turns: late.length,
    'p50 ms': percentile(late, 0.5),
    'p99 ms': percentile(late, 0.99),
    'max ms': late.at(-1) ?? 0,
  })
}
