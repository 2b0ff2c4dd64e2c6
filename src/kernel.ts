/** Everything one shard of a process has, built in the order in which the parts need one another. */
import type { AgentRegistry } from './agents/registry.ts'
import type { App } from './app/app.ts'
import type { WorkServices } from './app/runtime.ts'
import { mapService } from './app/shards.ts'
import { alarmTrigger, alarmWakes } from './features/alarms/trigger.ts'
import type { Condition } from './features/intents/own.ts'
import type { NewSignal } from './features/intents/signal.ts'
import type { TakenSignal } from './features/intents/signal-rows.ts'
import { intentTrigger } from './features/intents/trigger.ts'
import { deferredTrigger } from './features/people/deferred-trigger.ts'
import { questionTrigger } from './features/questions/trigger.ts'
import type { Policy } from './features/sessions/turn.ts'
import { timerTrigger } from './features/timers/trigger.ts'
import { workTrigger } from './features/work/trigger.ts'
import { Budgets } from './kernel/budgets.ts'
import type { PushChannel } from './kernel/channel.ts'
import { Engine, type ExtraService } from './kernel/engine.ts'
import { LocalHints, type Topic } from './kernel/hints.ts'
import { silentMeter } from './kernel/meter.ts'
import { STOPS_MS } from './kernel/stops.ts'
import { WriteBatcher } from './kernel/write-batcher.ts'
import { Health, SHARD_LOOK_MS } from './observe/health.ts'
import type { Db } from './store/db.ts'
import type { Store } from './store/open.ts'
import { VERSION } from './version.ts'

const DAY_MS = 86_400_000
const NO_CONDITIONS: ReadonlyMap<string, Condition> = new Map()
/** The inbox polls nothing of its own. */
const INBOX_MS = 3_600_000
const AGENTS_MS = 1_000
/**
 * The longest sleep while nothing is due. With a few loops this is less than five transactions a second. Polling the embedded store
 * four times a second took a tenth of a core.
 */
const IDLE_MS = 4_000

export class Kernel {
  readonly app: App
  readonly number: number
  readonly store: Store
  readonly hints = new LocalHints()
  readonly writes: WriteBatcher
  readonly budgets: Budgets
  readonly health: Health
  readonly engine: Engine

  constructor(app: App, store: Store, number: number) {
    this.app = app
    this.number = number
    this.store = store
    const { policy, meter, tracer } = app
    this.writes = new WriteBatcher({ store, policy, meter, hints: this.hints, tracer })
    this.budgets = new Budgets(store.commits, app.config.limits, () => this.hints.hint('turns'))
    this.health = new Health({
      store,
      onError: (error) => meter.trouble('watch', error),
      ready: () => app.servedShards.has(number),
      version: VERSION,
      services: app.config.services,
      ...(app.stores.several ? { lookMs: SHARD_LOOK_MS } : {}),
    })
    this.hints.view('here', app.sockets)
    this.engine = this.#openEngine()
  }

  #openEngine(): Engine {
    const { app, store, number } = this
    const { config, stores, runtime, options } = app
    return new Engine({
      store,
      hints: this.hints,
      agents: runtime.agents,
      more: this.#extraServices(),
      triggers: [
        timerTrigger,
        alarmTrigger,
        intentTrigger,
        workTrigger,
        deferredTrigger(config.timezone),
        questionTrigger,
      ],
      channels: [app.sockets, app.sockets.watchers],
      onMessages: (claim, messages) => app.messages.emit(claim, messages),
      wakes:
        config.wakeUrl === null
          ? null
          : {
              source: alarmWakes({ url: config.wakeUrl, bearer: config.wakeToken }),
              call: (request, signal) => app.webhooks.call(request, signal),
            },
      policy: app.policy,
      budgets: this.budgets,
      stops: app.stops,
      limited: app.limited,
      leaseMs: config.leaseMs,
      timerPollMs: config.timerPollIntervalMs,
      effectPollMs: config.effectPollIntervalMs,
      retention: {
        checkpointsKept: config.checkpointsKept,
        keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
        archive: runtime.archive,
      },
      ...(number === 0 ? { sweep: runtime.sweep } : {}),
      meter: app.meter,
      tracer: app.tracer,
      services: new Set<string>(config.services),
      ...(options.moments === undefined ? {} : { moments: options.moments }),
      ...(stores.several ? { holds: (bucket) => stores.map.holds(number, bucket) } : {}),
      ...(stores.several || store.kind === 'pglite' ? { idleMs: IDLE_MS } : {}),
    })
  }

  /** The first shard also runs what belongs to no person: stops, agents, the shard map, packages, the inbox. */
  #extraServices(): ExtraService[] {
    const { app, store } = this
    const shared = app.packs.shardServices(app, store)
    if (this.number > 0) return shared
    return [
      { service: app.stops, pollMs: STOPS_MS },
      { service: app.runtime.agents, pollMs: AGENTS_MS },
      ...app.packs.services,
      ...(app.stores.several ? [mapService(app.stores)] : []),
      ...shared,
      { service: app.inbox, pollMs: INBOX_MS },
    ]
  }

  get agents(): AgentRegistry {
    return this.app.runtime.agents
  }

  get work(): WorkServices {
    return this.app.runtime.work
  }

  get policy(): Policy {
    return this.app.policy
  }

  /** The channels that reach people without a connection, by name. */
  get channels(): ReadonlyMap<string, PushChannel> {
    return this.app.channels
  }

  /** The app's own, by name. */
  get conditions(): ReadonlyMap<string, Condition> {
    return this.app.options.conditions ?? NO_CONDITIONS
  }

  /** Alarms without an agent are delivered to a URL. */
  get wakesByUrl(): boolean {
    return this.app.config.wakeUrl !== null
  }

  /** Tells the services of all processes that there may be work. Operations call `notify`, which waits for their commit. */
  changed(topic: Topic, keys?: readonly string[]): void {
    this.hints.hint(topic, keys)
  }

  /** Stores signals and fires the intents they make true, on every shard they concern. */
  takeSignals(signals: readonly NewSignal[], tx: Db | null): Promise<TakenSignal[]> {
    return this.app.takeSignals(signals, tx, this)
  }

  /** The same kernel over another store: it knows the same agents and settings, and reaches nothing outside that store. */
  sandbox(store: Store): Kernel {
    const { policy } = this
    const meter = silentMeter(this.app.meter)
    const writes = new WriteBatcher({ store, policy, meter, hints: new LocalHints() })
    const own: Partial<Kernel> = {
      store,
      writes,
      changed: () => undefined,
      takeSignals: (signals, tx) => writes.takeSignals(signals, tx),
      work: {
        ...this.work,
        dbOf: () => store.db,
        ended: async () => undefined,
        dropFiles: () => undefined,
      },
    }
    return Object.create(this, Object.getOwnPropertyDescriptors(own)) as Kernel
  }
}
