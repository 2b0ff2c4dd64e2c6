/**
 * The child's half of a contest: whoever is measured runs in a process of its own, so that its CPU is its own and its
 * connections are gone when what they did is counted. It says lines of JSON and hears single words.
 */
import { createInterface } from 'node:readline'

/** What becomes due: `count` jobs at random instants within `windowMs` after the start. */
export interface Load {
  readonly kind: string
  readonly count: number
  readonly windowMs: number
}

export interface Setup {
  readonly url: string
  readonly loads: readonly Load[]
  /** Due at once, before the rest: nobody is measured while its code is still being compiled. */
  readonly warmUp: number
  /** From the beginning of seeding to the first that is due. */
  readonly leadMs: number
  readonly env?: Readonly<Record<string, string>>
}

export interface Job {
  readonly kind: string
  /** Milliseconds since 1970. */
  readonly due: number
}

/** What the child says. */
export type Said =
  | { readonly booted: true }
  | { readonly seeded: number }
  | { readonly ready: string }
  | { readonly handled: number }
  | { readonly left: boolean }
  | { readonly ended: Ended }

export interface Ended {
  /** Since the first was due. */
  readonly cpuMs: number
  readonly rssMb: number
  /** Handler entered − due, of what was not warm-up. */
  readonly late: readonly number[]
}

export interface Contestant {
  /** Writes all jobs, over connections that are closed afterwards. */
  seed(setup: Setup, jobs: readonly Job[]): Promise<void>
  /** Begins to work; answers with an address where there is one. `seen` is called as a handler is entered. */
  start(setup: Setup, seen: (due: number) => void): Promise<string>
  /** Is anything due that is not durably done? */
  left(): Promise<boolean>
  stop(): Promise<void>
}

const SAY_EVERY_MS = 20

export const wallMs = () => performance.timeOrigin + performance.now()

/** Resolves when it has left the process. */
function say(what: Said): Promise<void> {
  return new Promise((done) => process.stdout.write(`${JSON.stringify(what)}\n`, () => done()))
}

function jobsOf({ loads, warmUp, leadMs }: Setup): { first: number; jobs: Job[] } {
  const now = Math.floor(wallMs())
  const first = now + leadMs
  const jobs = loads.flatMap(({ kind, count, windowMs }) =>
    Array.from({ length: count }, () => ({
      kind,
      due: first + Math.floor(Math.random() * windowMs),
    })),
  )
  const [load] = loads
  if (load === undefined) return { first, jobs }
  return { first, jobs: [...Array(warmUp).fill({ kind: load.kind, due: now }), ...jobs] }
}

/** Runs until it is told to stop. */
export async function contest(contestant: Contestant): Promise<void> {
  const setup = JSON.parse(process.argv[2] ?? '{}') as Setup
  const words = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const hear = async () => (await words.next()).value as string | undefined
  void say({ booted: true })
  await hear()
  const { first, jobs } = jobsOf(setup)
  await contestant.seed(setup, jobs)
  void say({ seeded: first })
  await hear()
  let before = process.cpuUsage()
  setTimeout(() => {
    before = process.cpuUsage()
  }, first - wallMs())
  const late: number[] = []
  let handled = 0
  let told = 0
  const tell = () => {
    if (handled === told) return
    told = handled
    void say({ handled })
  }
  const ticking = setInterval(tell, SAY_EVERY_MS)
  const address = await contestant.start(setup, (due) => {
    if (due >= first) late.push(wallMs() - due)
    if (++handled === jobs.length) tell()
  })
  void say({ ready: address })
  while ((await hear()) === 'left') void say({ left: await contestant.left() })
  clearInterval(ticking)
  const { user, system } = process.cpuUsage(before)
  const rssMb = process.memoryUsage().rss / 2 ** 20
  await contestant.stop()
  // A pipe takes long lists in parts, and what is not in it when we exit is lost.
  await say({ ended: { cpuMs: (user + system) / 1000, rssMb, late } })
  process.exit(0)
}
