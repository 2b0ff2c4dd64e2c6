/** The engine of a shard: its services, their loops, and the one door by which a test clock drives them. */

import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import { DEFAULT_LIMITS } from '../features/limits/rules.ts'
import type { Policy } from '../features/sessions/turn.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { Budgets } from './budgets.ts'
import type { Channel } from './channel.ts'
import { aheadService, clockService } from './clock.ts'
import { LocalHints, type Topic } from './hints.ts'
import type { Meter } from './meter.ts'
import { Notifier } from './notifier.ts'
import { OutboxService } from './outbox.ts'
import { prunerService, type Retention } from './pruner.ts'
import { guardExit, type OnMessages } from './run.ts'
import {
  IDLE,
  Loop,
  round,
  type Service,
  SILENT,
  type TestSignals,
  type Tick,
  together,
} from './service.ts'
import { Stops } from './stops.ts'
import type { Trigger } from './trigger.ts'
import { TurnsService } from './turns.ts'
import type { Agents } from './turns-options.ts'
import { type WakesOptions, WakesService } from './wakes.ts'

export interface EngineOptions {
  readonly store: Store
  /** Shared with those who write; the engine's own unless given. */
  readonly hints?: LocalHints
  readonly agents: Agents
  readonly triggers: readonly Trigger[]
  readonly channels: readonly Channel[]
  /** What wakes by a call, and how to call; null where nothing does. */
  readonly wakes: Pick<WakesOptions, 'source' | 'call'> | null
  readonly policy: Policy
  /** Shared with those who set triggers from outside; the engine's own unless given. */
  readonly budgets?: Budgets
  /** Of this process; without it nothing can be stopped. */
  readonly stops?: Stops
  readonly leaseMs: number
  readonly timerPollMs: number
  readonly effectPollMs: number
  readonly retention: Retention
  /** Removes what is kept outside the database and has no row any more. */
  readonly sweep?: () => Promise<number>
  readonly meter: Meter
  readonly tracer?: Tracer
  readonly moments?: TestSignals
  readonly onMessages?: OnMessages
  readonly services: ReadonlySet<string>
  readonly concurrency?: number
  /** Running turns of agents with a limit of their own, counted for all shards of the process. */
  readonly limited?: Map<string, number>
  /** Where there are several shards: whether a bucket is in this one. */
  readonly holds?: (bucket: number) => boolean
  /** How long to sleep at most where nothing is due and all who write tell; left out: no longer than between two looks. */
  readonly idleMs?: number
  /** What else the composition root has running in this process. */
  readonly more?: readonly ExtraService[]
}

/** A service beside the engine's own, with a loop like theirs. */
export interface ExtraService {
  /** Calls `onFree` when something ended and more may be due. */
  readonly service: Service & { onFree?: () => void }
  readonly pollMs: number
  readonly topic?: Topic
}

/** A sweep looks for what is too old this often. */
const PRUNE_MS = 60_000
/** Processes that wait for one instant look within this time of it instead of all at once; the first finds what is due. */
const SPREAD_MS = 4
/** By how much of it an idle sleep may be shorter. */
const IDLE_SPREAD = 0.2
/** How late it may be told what was used up, where no limit is near. */
const BUDGETS_MS = 1_000

export class Engine {
  readonly hints: LocalHints
  readonly outbox: OutboxService
  readonly turns: TurnsService
  readonly stops: Stops
  readonly #clocks: readonly Service[]
  readonly #wakes: WakesService | null
  readonly #pruner: Service
  readonly #ahead: Service
  readonly #budgets: Budgets
  readonly #options: EngineOptions
  readonly #loops: Loop[] = []
  #notifier: Notifier | null = null

  constructor(options: EngineOptions) {
    this.#options = options
    this.hints = options.hints ?? new LocalHints()
    const { store, leaseMs, meter, policy, triggers, tracer = UNTRACED } = options
    const { moments = SILENT } = options
    const [db, commits, enabled, hints] = [store.engine, store.commits, policy.autonomy, this.hints]
    guardExit()
    this.#pruner = prunerService({
      db,
      retention: options.retention,
      ...(options.sweep === undefined ? {} : { sweep: options.sweep }),
    })
    this.#ahead = aheadService({
      ...{ db: store.migrations, leaseMs },
      onPulled: (text) => {
        meter.trouble('ahead', new Error(text))
        // They sleep until instants that were ahead.
        for (const topic of ['clock', 'turns', 'outbox'] as const) hints.local(topic)
      },
    })
    this.outbox = new OutboxService({
      ...{ reads: db, commits, channels: options.channels, meter },
      holds: options.holds,
    })
    const stops = options.stops ?? new Stops(db, [db])
    this.stops = stops
    const stopped = () => stops.everything
    this.#budgets =
      options.budgets ?? new Budgets(commits, DEFAULT_LIMITS, () => hints.hint('turns'))
    this.turns = new TurnsService({
      budgets: this.#budgets,
      stops,
      claims: db,
      commits,
      reads: store.db,
      agents: options.agents,
      triggers: new Map(triggers.map((trigger) => [trigger.type, trigger])),
      ...{ policy, leaseMs, hints, meter, tracer, moments },
      onMessages: options.onMessages,
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      ...(options.limited === undefined ? {} : { limited: options.limited }),
    })
    const runner = options.services.has('turns') ? { turns: this.turns } : {}
    this.#clocks = triggers.map((trigger) =>
      clockService({ db, trigger, hints, meter, tracer, enabled, stopped, ...runner }),
    )
    const leased = { claims: db, commits, leaseMs, meter, moments }
    this.#wakes =
      options.wakes === null
        ? null
        : new WakesService({ ...options.wakes, ...leased, tracer, enabled, stops })
    hints.on('outbox', (keys) => this.outbox.look(keys))
    // At once: a look for sessions that wait may take its time.
    hints.on('turns', () => {
      this.turns.interrupt().catch((error) => meter.trouble('turns', error))
    })
  }

  /** Starts the loops this process runs. Not for use beside a test clock. */
  start(): void {
    const { store, meter } = this.#options
    if (store.listen !== null) {
      const onError = (error: unknown) => meter.trouble('notifier', error)
      this.#notifier = new Notifier({
        connect: store.listen,
        db: store.engine,
        hints: this.hints,
        onError,
      })
      this.#notifier.start()
    }
    for (const { service, pollMs, topic } of this.#chosen()) {
      const loop = this.#loop(service, pollMs, topic)
      service.onFree = () => loop.hint()
    }
  }

  /** What this process runs, by its settings. */
  #chosen(): ExtraService[] {
    const { services, timerPollMs: pollMs, effectPollMs, more = [] } = this.#options
    const chosen: ExtraService[] = [{ service: this.#ahead, pollMs: this.#options.leaseMs / 3 }]
    if (services.has('clock')) {
      for (const service of this.#clocks) chosen.push({ service, pollMs, topic: 'clock' })
      if (this.#wakes !== null) chosen.push({ service: this.#wakes, pollMs, topic: 'clock' })
      chosen.push({ service: later(this.#pruner), pollMs: PRUNE_MS })
    }
    if (services.has('turns')) {
      chosen.push({ service: this.turns, pollMs, topic: 'turns' })
      chosen.push({ service: this.#budgets, pollMs: BUDGETS_MS })
    }
    // The process that holds a socket serves it, so wherever HTTP is, so is this loop.
    if (services.has('outbox') || services.has('http'))
      chosen.push({ service: this.outbox, pollMs: effectPollMs, topic: 'outbox' })
    return [...chosen, ...more]
  }

  #loop(service: Service, pollMs: number, topic?: Topic): Loop {
    const loop = new Loop(service, {
      pollMs,
      onError: (where, error) => this.#options.meter.trouble(where, error),
      spreadMs: () => (this.#notifier?.hearsOthers ? Math.random() * SPREAD_MS : 0),
      // Only who is told of news may sleep through them.
      ...(topic === undefined ? {} : { idleMs: () => this.#idleMs() }),
    })
    if (topic !== undefined) this.hints.on(topic, () => loop.hint())
    this.#loops.push(loop)
    loop.start()
    return loop
  }

  /** Only while hints of the others come: else they are found by looking alone. Not all processes look at once. */
  #idleMs(): number {
    const { idleMs = 0, store } = this.#options
    // The embedded store has one process, which notifies itself.
    if (store.kind === 'pglite') return idleMs
    return this.#notifier?.connected ? idleMs * (1 - Math.random() * IDLE_SPREAD) : 0
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    if (this.#loops.length === 0)
      await Promise.all(this.#services().map((service) => service.close?.()))
    await this.#notifier?.stop()
  }

  /**
   * Runs everything due at the present instant until nothing more happens. Returns the time until
   * something else becomes due.
   */
  quiesce(): Promise<number | null> {
    return untilQuiet(() => this.round())
  }

  /** Every service once, as far as it may have something to do. */
  round(): Promise<Tick> {
    return round(this.#services(), this.#options.store.engine)
  }

  #services(): Service[] {
    const some = (service: Service | null) => (service === null ? [] : [service])
    const more = (this.#options.more ?? []).map(({ service }) => service)
    return [
      ...[this.#ahead, ...this.#clocks, ...some(this.#wakes), this.turns, this.outbox],
      ...[...more, this.#budgets],
    ]
  }

  /** One sweep of the pruner, for tests and for the command line. */
  async prune(): Promise<number> {
    return (await this.#pruner.tick()).did
  }
}

/** The engines of a process: one for each shard. */
export class Engines {
  readonly shards: PerShard<Engine>

  constructor(shards: PerShard<Engine>) {
    this.shards = shards
  }

  get home(): Engine {
    return this.shards.home
  }

  get running(): number {
    return this.shards.all.reduce((sum, { turns }) => sum + turns.depth, 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.shards.all.map((engine) => engine.stop()))
  }

  quiesce(): Promise<number | null> {
    return untilQuiet(async () => {
      const rounds: Tick[] = []
      for (const engine of this.shards.all) rounds.push(await engine.round())
      return together(rounds)
    })
  }

  /** One sweep of the pruners, for tests and for the command line. */
  async prune(): Promise<number> {
    let did = 0
    for (const engine of this.shards.all) did += await engine.prune()
    return did
  }
}

async function untilQuiet(round: () => Promise<Tick>): Promise<number | null> {
  for (;;) {
    const { did, more, nextMs } = await round()
    if (did === 0 && !more) return nextMs
  }
}

/** Nothing is so old that a start would have to wait for it: the first sweep comes after one interval. */
function later(service: Service): Service {
  let first = true
  return {
    name: service.name,
    async tick() {
      if (!first) return service.tick()
      first = false
      return IDLE
    },
  }
}
