/** A service of the engine: the loop around its tick, one round of all under a clock moved by hand, and what tests wait for. */
import { performance } from 'node:perf_hooks'
import type { Db } from '../store/db.ts'
import type { DueTable } from '../store/due.ts'
import { soonestDue } from '../store/reading.ts'
import { soonest } from './trigger.ts'

/** Named moments that tests wait for, or kill at. Silent and free unless somebody listens. */
export type Moment = 'claimed' | 'delivered' | 'committed' | 'promoted'

export interface TestSignals {
  reach(moment: Moment, key: string): void | Promise<void>
}

export const SILENT: TestSignals = { reach: () => undefined }

export interface Tick {
  /** Rows taken. */
  readonly did: number
  /** More is due right now: tick again without sleeping. */
  readonly more: boolean
  /** Until the next due instant, if one is known. */
  readonly nextMs: number | null
  /** Of the rows taken, those whose turns are begun already. */
  readonly leased?: number
}

export interface Service {
  readonly name: string
  /** It has something to do only while a row of these is due; absent: it must look to know. */
  readonly tables?: readonly DueTable[]
  /** What others do in a round is at once its business. */
  readonly follows?: boolean
  tick(): Promise<Tick>
  /** Resolves when everything a tick started has come to rest. */
  settle?(): Promise<void>
  /** A tick that waits for something to happen ends: it is about to be stopped. */
  halt?(): void
  /** Stop claiming; finish or release what runs. */
  close?(): Promise<void>
}

/** The monotonic clock that a loop sleeps by. */
export interface Stopwatch {
  now(): number
  /** Calls back once after `ms`; answers how to call that off. */
  after(ms: number, done: () => void): () => void
}

export interface LoopOptions {
  readonly pollMs: number
  readonly onError: (service: string, error: unknown) => void
  readonly stopwatch?: Stopwatch
  /** How long after a due instant this process looks: others that wait for the same one look a little sooner or later. */
  readonly spreadMs?: () => number
  /** Where nothing was found for a while it may sleep this long, since hints come. Less than the poll interval: never. */
  readonly idleMs?: () => number
}

export const IDLE: Tick = { did: 0, more: false, nextMs: null }

/** After errors the loop waits this long, doubling up to the maximum: a database that is away is not hammered. */
const ERROR_WAIT_MS = 100
const ERROR_WAIT_MAX_MS = 5000
/** The last stretch before a due instant is spent yielding instead of in a timer, whose grain is a millisecond. */
const SPIN_MS = 1.5

const MACHINE: Stopwatch = {
  now: () => performance.now(),
  after(ms, done) {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
}

export class Loop {
  readonly service: Service
  readonly #options: LoopOptions
  readonly #stopwatch: Stopwatch
  #stopping = false
  #hinted = false
  #wake: (() => void) | null = null
  #running: Promise<void> | null = null
  #errors = 0
  /** How long it sleeps where nothing is known to be due: longer each time, up to what it may. */
  #pollMs: number

  constructor(service: Service, options: LoopOptions) {
    this.service = service
    this.#options = options
    this.#stopwatch = options.stopwatch ?? MACHINE
    this.#pollMs = options.pollMs
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Something may be due earlier than thought. */
  hint(): void {
    this.#hinted = true
    this.#wake?.()
  }

  /** Resolves when all is still; may be called twice. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#wake?.()
    this.service.halt?.()
    await this.#running
    await this.service.close?.()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#hinted = false
      const began = this.#stopwatch.now()
      const tick = await this.#tick()
      if (this.#stopping) return
      if (tick === null) await this.#sleep(this.#stopwatch.now() + this.#errorWait(), false)
      else if (tick.more) await yieldOnce()
      else {
        // Reckoned from the beginning: the next instant was asked for then, and the rest of the tick took time.
        const spread = this.#options.spreadMs?.() ?? 0
        const next = began + (tick.nextMs ?? Number.POSITIVE_INFINITY) + spread
        const look = this.#stopwatch.now() + this.#patience(tick)
        await this.#sleep(Math.min(next, look), true, next <= look)
      }
    }
  }

  #patience({ did }: Tick): number {
    const { pollMs, idleMs } = this.#options
    const longest = Math.max(pollMs, idleMs?.() ?? 0)
    this.#pollMs = did > 0 ? pollMs : Math.min(Math.max(this.#pollMs, pollMs) * 2, longest)
    return did > 0 ? pollMs : this.#pollMs
  }

  async #tick(): Promise<Tick | null> {
    try {
      const tick = await this.service.tick()
      this.#errors = 0
      return tick
    } catch (error) {
      this.#errors++
      this.#options.onError(this.service.name, error)
      return null
    }
  }

  #errorWait(): number {
    return Math.min(ERROR_WAIT_MS * 2 ** (this.#errors - 1), ERROR_WAIT_MAX_MS)
  }

  /** `exactly`: something is due then. A mere look need not be awake for it: several times a second that is a twentieth of a core. */
  async #sleep(until: number, wakeable: boolean, exactly = false): Promise<void> {
    const coarse = Math.max(0, until - this.#stopwatch.now() - (exactly ? SPIN_MS : 0))
    if (coarse >= 1 && !(wakeable && this.#hinted)) {
      await new Promise<void>((done) => {
        const callOff = this.#stopwatch.after(coarse, done)
        this.#wake = () => {
          if (!wakeable && !this.#stopping) return
          callOff()
          done()
        }
      })
      this.#wake = null
    }
    while (this.#stopwatch.now() < until && !this.#stopping && !(wakeable && this.#hinted))
      await yieldOnce()
  }
}

function yieldOnce(): Promise<void> {
  return new Promise((done) => setImmediate(done))
}

/**
 * Each service once, in their order. One that names its tables looks only where something of them is due, or where another
 * has just made something so: most looks find nothing, and a test or a forecast is thousands of instants.
 */
export async function round(services: readonly Service[], db: Db): Promise<Tick> {
  const waits = await waitsOf(services, db)
  const ticks: Tick[] = []
  /** What others have done and nobody has taken up yet. */
  let open = 0
  for (const service of services) {
    const nextMs = waits.get(service)
    const idle = nextMs !== undefined && (nextMs === null || nextMs > 0)
    const looks = !idle || (open > 0 && service.follows)
    const tick = looks ? await service.tick() : { did: 0, more: false, nextMs }
    if (looks || service.follows) await service.settle?.()
    open += tick.did - (tick.leased ?? 0)
    ticks.push(tick)
  }
  return together(ticks)
}

/** How long until something is due for each that says where to look; null: nothing waits. */
async function waitsOf(
  services: readonly Service[],
  db: Db,
): Promise<ReadonlyMap<Service, number | null>> {
  const nowMs = db.now()?.getTime()
  const tables = [...new Set(services.flatMap((service) => service.tables ?? []))]
  if (nowMs === undefined || tables.length === 0) return new Map()
  const instants = await soonestDue(db, tables)
  const waits = new Map<DueTable, number | null>(
    tables.map((table, place) => {
      const at = instants[place]
      return [table, at ? at.getTime() - nowMs : null]
    }),
  )
  return new Map(
    services.flatMap((service) =>
      service.tables === undefined
        ? []
        : [[service, soonest(service.tables.map((table) => waits.get(table) ?? null))]],
    ),
  )
}

export function together(ticks: readonly Tick[]): Tick {
  return {
    did: ticks.reduce((sum, { did }) => sum + did, 0),
    more: ticks.some(({ more }) => more),
    nextMs: soonest(ticks.map(({ nextMs }) => nextMs)),
  }
}
