/** The engine: its services, their loops, and the one door by which a test clock drives them. */
import type { Channel, PushChannel } from '../channels/channel.ts'
import type { Policy } from '../core/sessions/turn.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { Store } from '../store/db/open.ts'
import type { Trigger } from '../triggers/trigger.ts'
import { clockService } from './clock.ts'
import { guardExit } from './guard.ts'
import { LocalHints, type Topic } from './hints.ts'
import type { Meter } from './meter.ts'
import { type Moments, SILENT } from './moments.ts'
import { Notifier } from './notifier.ts'
import { OutboxService } from './outbox.ts'
import { prunerService, type Retention } from './pruner.ts'
import { PushesService } from './pushes.ts'
import { IDLE, Loop, type Service } from './service.ts'
import { type SourcesOptions, SourcesService } from './sources.ts'
import { type Agents, TurnsService } from './turns.ts'
import { type WakesOptions, WakesService } from './wakes.ts'

export interface EngineOptions {
  readonly store: Store
  /** Shared with those who write; the engine's own unless given. */
  readonly hints?: LocalHints
  readonly agents: Agents
  readonly triggers: readonly Trigger[]
  readonly channels: readonly Channel[]
  /** Those that reach people who hold no connection. */
  readonly pushChannels?: readonly PushChannel[]
  /** What wakes by a call, and how to call; null where nothing does. */
  readonly wakes: Pick<WakesOptions, 'source' | 'call'> | null
  /** Where facts are pulled from, and how. */
  readonly sources: Pick<SourcesOptions, 'sources' | 'fetch' | 'take'>
  readonly policy: Policy
  readonly leaseMs: number
  readonly timerPollMs: number
  readonly effectPollMs: number
  readonly retention: Retention
  /** Removes what is kept outside the database and has no row any more. */
  readonly sweep?: () => Promise<number>
  readonly meter: Meter
  readonly tracer?: Tracer
  readonly moments?: Moments
  readonly services: ReadonlySet<string>
  readonly concurrency?: number
  /** What else the composition root has running in this process. */
  readonly more?: readonly ExtraService[]
}

/** A service beside the engine's own, with a loop like theirs. */
export interface ExtraService {
  readonly service: Service & { onFree?: () => void }
  readonly pollMs: number
  readonly topic?: Topic
}

/** A sweep looks for what is too old this often. */
const PRUNE_MS = 60_000
/** When the next source is due is known; this finds what a dead process was asking. */
const SOURCES_MS = 5_000

/** How often pushes that another process set or let go are looked for. */
const PUSHES_MS = 1_000

export class Engine {
  readonly hints: LocalHints
  readonly outbox: OutboxService
  readonly turns: TurnsService
  readonly #clocks: readonly Service[]
  readonly #wakes: WakesService | null
  readonly #sources: SourcesService
  readonly #pruner: Service
  readonly #extra: readonly ExtraService[]
  readonly #options: EngineOptions
  readonly #loops: Loop[] = []
  #notifier: Notifier | null = null

  constructor(options: EngineOptions) {
    this.#options = options
    this.hints = options.hints ?? new LocalHints()
    const { store, meter, policy, triggers, tracer = UNTRACED } = options
    guardExit()
    this.#clocks = triggers.map((trigger) =>
      clockService({
        db: store.engine,
        trigger,
        hints: this.hints,
        meter,
        tracer,
        enabled: policy.autonomy,
      }),
    )
    this.#pruner = prunerService({
      db: store.engine,
      retention: options.retention,
      ...(options.sweep === undefined ? {} : { sweep: options.sweep }),
    })
    this.outbox = new OutboxService({
      reads: store.engine,
      commits: store.commits,
      channels: options.channels,
      meter,
    })
    this.turns = new TurnsService({
      claims: store.engine,
      commits: store.commits,
      reads: store.db,
      agents: options.agents,
      triggers: new Map(triggers.map((trigger) => [trigger.type, trigger])),
      policy,
      leaseMs: options.leaseMs,
      hints: this.hints,
      meter,
      tracer,
      moments: options.moments ?? SILENT,
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    })
    this.#wakes =
      options.wakes === null
        ? null
        : new WakesService({
            ...options.wakes,
            claims: store.engine,
            commits: store.commits,
            leaseMs: options.leaseMs,
            meter,
            tracer,
            moments: options.moments ?? SILENT,
            enabled: policy.autonomy,
          })
    this.#sources = new SourcesService({
      ...options.sources,
      db: store.engine,
      leaseMs: options.leaseMs,
      meter,
      moments: options.moments ?? SILENT,
      enabled: policy.autonomy,
    })
    this.#extra = [...(options.more ?? []), ...this.#pushes()]
    this.hints.on('outbox', (keys) => this.outbox.look(keys))
  }

  /** Starts the loops this process runs. Not for use beside a test clock. */
  start(): void {
    const { services, store, timerPollMs, effectPollMs, meter, sources } = this.#options
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
    if (services.has('clock'))
      for (const clock of this.#clocks) this.#loop(clock, timerPollMs, 'clock')
    if (services.has('clock') && this.#wakes !== null) {
      const loop = this.#loop(this.#wakes, timerPollMs, 'clock')
      this.#wakes.onFree = () => loop.hint()
    }
    if (services.has('turns')) this.#loop(this.turns, timerPollMs, 'turns')
    // The process that holds a socket serves it, so wherever HTTP is, so is this loop.
    if (services.has('outbox') || services.has('http'))
      this.#loop(this.outbox, effectPollMs, 'outbox')
    if (services.has('clock') && sources.sources.length > 0) {
      const loop = this.#loop(this.#sources, SOURCES_MS)
      this.#sources.onFree = () => loop.hint()
    }
    if (services.has('clock')) this.#loop(later(this.#pruner), PRUNE_MS)
    for (const { service, pollMs, topic } of this.#extra) {
      const loop = this.#loop(service, pollMs, topic)
      service.onFree = () => loop.hint()
    }
  }

  #pushes(): ExtraService[] {
    const { store, pushChannels: channels = [], services, leaseMs, meter } = this.#options
    if (channels.length === 0 || !services.has('outbox')) return []
    const service = new PushesService({
      channels,
      claims: store.engine,
      commits: store.commits,
      leaseMs,
      meter,
      moments: this.#options.moments ?? SILENT,
    })
    return [{ service, pollMs: PUSHES_MS, topic: 'outbox' }]
  }

  #loop(service: Service, pollMs: number, topic?: Topic): Loop {
    const loop = new Loop(service, {
      pollMs,
      onError: (where, error) => this.#options.meter.trouble(where, error),
    })
    if (topic !== undefined) this.hints.on(topic, () => loop.hint())
    this.#loops.push(loop)
    loop.start()
    return loop
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
  async quiesce(): Promise<number | null> {
    for (;;) {
      let did = 0
      let more = false
      let nextMs: number | null = null
      for (const service of this.#services()) {
        const tick = await service.tick()
        await service.settle?.()
        did += tick.did
        more ||= tick.more
        if (tick.nextMs !== null) nextMs = Math.min(nextMs ?? tick.nextMs, tick.nextMs)
      }
      if (did === 0 && !more) return nextMs
    }
  }

  #services(): Service[] {
    const wakes = this.#wakes === null ? [] : [this.#wakes]
    const more = this.#extra.map(({ service }) => service)
    return [this.#sources, ...this.#clocks, ...wakes, this.turns, this.outbox, ...more]
  }

  /** One sweep of the pruner, for tests and for the command line. */
  async prune(): Promise<number> {
    return (await this.#pruner.tick()).did
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
