/** Where contests take place: starts contestants, each in a process of its own on a fresh database, and counts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import pg from 'pg'
import { type Ended, type Said, type Setup, wallMs } from './contestants/contest.ts'
import { counters, cpuMsOf } from './counters.ts'

/** Built as the product is: a loader that keeps names would cost each call of a closure. */
const FILES = {
  wakeful: './built/wakeful.js',
  raw: './built/raw.js',
  bare: './built/bare.js',
  written: './built/written.js',
  graphile: './peers/graphile.mjs',
  boss: './peers/boss.mjs',
  sending: './peers/sending.mjs',
} as const
export type Who = keyof typeof FILES

const PATIENCE_MS = 120_000
const LOOK_EVERY_MS = 5
const LEAD_MS = 4_000
const LEAD_MAX_MS = 32_000

/** `BENCH_PROFILE=<folder>`: where each contestant's CPU profile goes. */
const PROFILE = process.env.BENCH_PROFILE
const PROFILED = PROFILE === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${PROFILE}`]

type Answer<K> = Extract<Said, Record<K & string, unknown>>

/** One child and what it has said. */
class Child {
  handled = 0
  readonly #child: ChildProcess
  readonly #said: Said[] = []
  #heard: () => void = () => undefined
  #exit: Error | null = null

  constructor(who: Who, setup: Setup) {
    const file = fileURLToPath(new URL(FILES[who], import.meta.url))
    const stdio = ['pipe', 'pipe', 'inherit'] as const
    this.#child = spawn(process.execPath, [...PROFILED, file, JSON.stringify(setup)], {
      stdio: [...stdio],
    })
    const { stdout } = this.#child
    if (stdout === null) throw new Error('a child without a voice')
    createInterface({ input: stdout }).on('line', (line) => this.#hear(line))
    this.#child.once('exit', (code) => {
      this.#exit = new Error(`${who} ended with code ${code}`)
      this.#heard()
    })
  }

  #hear(line: string): void {
    // Others may print, too; ours are objects.
    if (!line.startsWith('{')) return
    const said = JSON.parse(line) as Said
    if ('handled' in said) this.handled = said.handled
    else this.#said.push(said)
    this.#heard()
  }

  tell(word: string): void {
    this.#child.stdin?.write(`${word}\n`)
  }

  async answer<K extends string>(key: K): Promise<Answer<K>> {
    await this.until(() => this.#said[0] !== undefined)
    const said = this.#said.shift()
    if (said === undefined || !(key in said))
      throw new Error(`expected ${key}, heard ${JSON.stringify(said)}`)
    return said as Answer<K>
  }

  /** Looks again whenever the child has said something. */
  async until(holds: () => boolean): Promise<void> {
    const end = wallMs() + PATIENCE_MS
    while (!holds()) {
      if (this.#exit !== null) throw this.#exit
      if (wallMs() > end) throw new Error(`nothing heard of it for ${PATIENCE_MS} ms`)
      await new Promise<void>((resume) => {
        const timer = setTimeout(resume, 1_000)
        this.#heard = () => {
          clearTimeout(timer)
          resume()
        }
      })
    }
  }

  /** What its process has used so far. */
  cpuMs(): number {
    return cpuMsOf(this.#child.pid ?? 0)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

export interface Contest {
  readonly who: Who
  readonly loads: Setup['loads']
  readonly warmUp?: number
  readonly processes?: number
  /** From the beginning of seeding to the first that is due. */
  readonly leadMs?: number
  readonly env?: Readonly<Record<string, string>>
  /** A fresh store for it, instead of a database of the server. */
  readonly store?: () => string
  /** The database it begins with, as `template` made it. */
  readonly template?: string
  /** Beside it, while it runs: called when all is ready, with the address and the CPU time of its process; awaited at the end. */
  readonly beside?: (address: string, cpuMs: () => number) => Promise<void>
}

export interface Outcome {
  /** From the first due instant until nothing was left. */
  readonly ms: number
  readonly late: readonly number[]
  readonly rssMb: number
  /** For each job, from the first due instant on: to load and begin is no job's. */
  readonly nodeMicros: number
  /** For each job, warm-up included; so are the records. */
  readonly postgresMicros: number | null
  readonly walRecords: number | null
}

const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Before anything is measured. */
export async function buildContestants(): Promise<void> {
  await build({
    entryPoints: ['wakeful', 'raw', 'bare', 'written', 'contest', 'soaked'].map((name) =>
      folder(`./contestants/${name}.ts`),
    ),
    outdir: folder('./built'),
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' },
    logLevel: 'warning',
  })
}

export class Arena {
  readonly #server: string
  #databases = 0

  /** The address of a PostgreSQL server, without a database. */
  constructor(server: string) {
    this.#server = server
  }

  /** Again with more time where seeding took longer than thought. */
  async hold(contest: Contest): Promise<Outcome> {
    for (let { leadMs = LEAD_MS } = contest; ; leadMs *= 2) {
      const outcome = await this.#holdOnce(contest, leadMs)
      if (outcome !== null) return outcome
      if (leadMs > LEAD_MAX_MS) throw new Error(`${contest.who} was not ready in time`)
    }
  }

  async #holdOnce(contest: Contest, leadMs: number): Promise<Outcome | null> {
    const { who, loads, warmUp = 0, processes = 1, env, store, template } = contest
    const url = store?.() ?? (await this.#freshDatabase(template))
    const setup = { url, loads, warmUp, leadMs, ...(env === undefined ? {} : { env }) }
    const first = new Child(who, setup)
    // Only one of them seeds.
    const others = Array.from(
      { length: processes - 1 },
      () => new Child(who, { ...setup, loads: [] }),
    )
    const children = [first, ...others]
    try {
      for (const child of children) await child.answer('booted')
      first.tell('seed')
      const { seeded: due } = await first.answer('seeded')
      for (const child of others) {
        child.tell('seed')
        await child.answer('seeded')
      }
      return await this.#run(contest, url, children, due)
    } finally {
      for (const child of children) child.kill()
      if (store === undefined) await this.#drop(url)
    }
  }

  async #run(
    { loads, warmUp = 0, beside }: Contest,
    url: string,
    children: readonly Child[],
    due: number,
  ): Promise<Outcome | null> {
    const counted = url.startsWith('postgres:')
    const before = counted ? await counters(url) : null
    const addresses: string[] = []
    for (const child of children) {
      child.tell('go')
      addresses.push((await child.answer('ready')).ready)
    }
    const jobs = warmUp + loads.reduce((sum, { count }) => sum + count, 0)
    if (jobs > 0 && wallMs() > due) return null
    const company = beside?.(addresses[0] ?? '', () => children[0]?.cpuMs() ?? Number.NaN)
    // A failure beside it is heard at the end; without a listener it would end this process first.
    company?.catch(() => undefined)
    await finished(children, jobs)
    const ms = wallMs() - due
    await company
    const ended: Ended[] = []
    for (const child of children) {
      child.tell('stop')
      ended.push((await child.answer('ended')).ended)
    }
    // When the children's connections are closed all that they did is counted.
    const after = counted ? await counters(url) : null
    const each = (sum: number) => sum / Math.max(1, jobs)
    const cpu = sumOf(ended, ({ cpuMs }) => cpuMs)
    const postgres = (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN)
    const wal = (after?.walRecords ?? Number.NaN) - (before?.walRecords ?? Number.NaN)
    return {
      ms,
      late: ended.flatMap(({ late }) => late).sort((a, b) => a - b),
      rssMb: Math.max(...ended.map(({ rssMb }) => rssMb)),
      nodeMicros: (cpu * 1000) / Math.max(1, jobs - warmUp),
      postgresMicros: Number.isNaN(postgres) ? null : each(postgres * 1000),
      walRecords: Number.isNaN(wal) ? null : each(wal),
    }
  }

  /** Fills a database once, for contests that begin with it. */
  async template(fill: (url: string) => Promise<void>): Promise<string> {
    const url = await this.#freshDatabase()
    await fill(url)
    await this.#admin('checkpoint')
    return url
  }

  dropTemplate(url: string): Promise<void> {
    return this.#drop(url)
  }

  async onDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
    const url = await this.#freshDatabase()
    try {
      return await work(url)
    } finally {
      await this.#drop(url)
    }
  }

  async #freshDatabase(template?: string): Promise<string> {
    const name = `bench${process.pid}n${++this.#databases}`
    const like = template === undefined ? '' : ` template ${nameOf(template)}`
    await this.#admin(`create database ${name}${like}`)
    return `${this.#server}/${name}`
  }

  async #drop(url: string): Promise<void> {
    await this.#admin(`drop database ${nameOf(url)} with (force)`)
    // What one has written is not to be brought to disk while the next is measured.
    await this.#admin('checkpoint')
  }

  async #admin(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: `${this.#server}/postgres` })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
}

const nameOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)

/** Everything was handled, and nothing is left to be made durable. */
async function finished(children: readonly Child[], jobs: number): Promise<void> {
  if (jobs === 0) return
  const [first] = children
  if (first === undefined) throw new Error('nobody takes part')
  // With several, any of them may be the last to say something: then they are looked at in turns.
  if (children.length === 1) await first.until(() => first.handled >= jobs)
  else
    while (sumOf(children, ({ handled }) => handled) < jobs)
      await new Promise((done) => setTimeout(done, LOOK_EVERY_MS))
  for (;;) {
    first.tell('left')
    if (!(await first.answer('left')).left) return
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS))
  }
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0)
}
