/**
 * One process: everything its shards share, and their kernels. It is built here and nowhere else. The server listens before the
 * database is there, and answers 503 until it is.
 */
import type { Logger } from 'pino'
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import type { AgentRegistry } from '../agents/registry.ts'
import type { Door } from '../api/callers/caller.ts'
import { localActor } from '../api/callers/local.ts'
import type { Actor, Context, ContextShards } from '../api/contract.ts'
import { onceByKey } from '../api/once.ts'
import { type Fetched, Fetcher, type FetchRequest } from '../calls/fetcher.ts'
import { Webhooks } from '../calls/webhook.ts'
import { newWebhookSecret } from '../core/calls/signature.ts'
import { Refusal } from '../core/errors.ts'
import { bucketOf } from '../core/session.ts'
import type { Tracer } from '../core/trace/trace.ts'
import { withoutPassword } from '../core/variables.ts'
import { claimKey, completeKey, keptAnswer } from '../features/identity/idempotency-rows.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import type { SignalTaken } from '../features/intents/signal-trigger.ts'
import type { Source } from '../features/intents/source.ts'
import type { Appended, NewEvent } from '../features/sessions/event-rows.ts'
import type { Policy } from '../features/sessions/turn.ts'
import { openIdentity } from '../http/authentication/identity.ts'
import type { PushChannel } from '../kernel/channel.ts'
import { Engines } from '../kernel/engine.ts'
import type { TestSignals } from '../kernel/service.ts'
import { Stops } from '../kernel/stops.ts'
import { Kernel } from '../kernel.ts'
import { OpenStreams } from '../mcp/event-stream.ts'
import { createMeter } from '../observe/meter.ts'
import type { Db } from '../store/db.ts'
import { refuseFresh } from '../store/migrate.ts'
import type { Store } from '../store/open.ts'
import { seenBy } from '../store/owned.ts'
import { keepSetting } from '../store/settings.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { VERSION } from '../version.ts'
import { type Asking, type DoorOptions, openDoor } from './doors.ts'
import { listen, type Served, serve } from './listen.ts'
import { Messages } from './messages.ts'
import { type Mount, mount, type Place } from './mount.ts'
import { callByName } from './operations.ts'
import type { PackApp } from './pack.ts'
import {
  type AppConfig,
  answerWord,
  ChannelInbox,
  type OpenPacks,
  openPacks,
  openTracing,
  type Tracing,
} from './packs.ts'
import { Runtime } from './runtime.ts'
import { onlyStore, openStores, prepareShard } from './shards.ts'
import { takeOnShards } from './signals.ts'
import { openSocketChannel, type SocketChannel } from './sockets.ts'

export { VERSION }

const DATABASE_WAIT_MS = 250
const DATABASE_WAIT_MAX_MS = 5_000
const CHANNEL_NAME = /^[a-z][a-z0-9_-]{0,31}$/

export interface AppOptions {
  readonly config: AppConfig
  readonly agents: ReadonlyMap<string, Agent>
  /** Polled for signals, beside the sources of the environment. */
  readonly sources?: readonly Source[]
  readonly conditions?: Kernel['conditions']
  /** Executors of work, by agent_type. */
  readonly work?: ReadonlyMap<string, Executor>
  /** Push channels, beside those of the environment. */
  readonly channels?: readonly PushChannel[]
  readonly log: Logger
  /** A test clock's instant; absent in production. */
  readonly now?: () => Date
  /** Opened and closed by the caller: several apps may share one. By default what `databaseUrl` names. */
  readonly store?: Store
  readonly moments?: TestSignals
  /** How long a key is cached before it is read again; two seconds by default. */
  readonly trustMs?: number
}

export class App implements PackApp {
  readonly options: AppOptions
  readonly config: AppConfig
  readonly stores: PerShard<Store>
  readonly policy: Policy
  readonly metering
  readonly tracing: Tracing
  readonly stops: Stops
  readonly webhooks: Webhooks
  readonly inbox: ChannelInbox
  readonly identity
  readonly doors: DoorOptions
  readonly streams = new OpenStreams()
  readonly messages = new Messages(
    () => this.sockets,
    (error) => this.meter.trouble('message listener', error),
  )
  /** Running turns of agents that have a concurrency limit, counted over all shards. */
  readonly limited = new Map<string, number>()
  /** The shards whose database is there and migrated. */
  readonly servedShards = new Set<number>()
  /** The first shard's database is there and migrated. */
  ready = false
  /** The store is about to close: start nothing on it. */
  closing = false
  packs!: OpenPacks
  /** The channels that reach people without a connection, by name. */
  channels!: ReadonlyMap<string, PushChannel>
  runtime!: Runtime
  sockets!: SocketChannel
  kernels!: PerShard<Kernel>
  engine!: Engines
  readonly #fetcher: Fetcher
  #webhookSecret: string | null
  #stopped = false
  #stopping: Promise<void> | null = null
  readonly #served = new Set<Served>()

  /** Opens the embedded store at once. A PostgreSQL that is unreachable is waited for in `start`. */
  static async open(options: AppOptions): Promise<App> {
    const { log, config } = options
    refuseFresh(config.databaseUrl, config.migrate)
    const opening = {
      schema: config.schema,
      now: options.now ?? (() => null),
      onError: (error: Error) => log.warn({ error: error.message }, 'a database connection broke'),
    }
    const { store } = options
    const stores = store ? onlyStore(store) : await openStores(config.shards, opening)
    log.info({ databases: config.shards.map(withoutPassword) }, 'opened the database')
    try {
      const app = new App(options, stores, await openTracing(config, VERSION))
      await app.#build()
      return app
    } catch (error) {
      await Promise.all(stores.all.map((store) => store.close()))
      throw error
    }
  }

  private constructor(options: AppOptions, stores: PerShard<Store>, tracing: Tracing) {
    const { config, log, now } = options
    this.options = options
    this.config = config
    this.stores = stores
    this.tracing = tracing
    this.policy = policyOf(config)
    this.metering = createMeter(log, { content: config.logContent })
    this.stops = new Stops(
      stores.home.engine,
      stores.all.map(({ engine }) => engine),
    )
    this.#webhookSecret = config.webhookSecret
    this.webhooks = new Webhooks({
      secrets: () => (this.#webhookSecret === null ? [] : [this.#webhookSecret]),
      allowPrivate: config.allowPrivateWebhooks,
    })
    this.#fetcher = new Fetcher({ allowPrivate: config.allowPrivateWebhooks })
    this.inbox = new ChannelInbox(this)
    this.identity = openIdentity({
      ...{ config, db: stores.home.db, now, trustMs: options.trustMs },
      ready: () => this.ready,
      onError: (error) => this.meter.trouble('keys', error),
    })
    this.doors = {
      context: (actor, caller) => this.context(actor, caller),
      once: onceByKey({ claimKey, keptAnswer, completeKey }),
      ...{ log, now, tracer: this.tracer },
    }
  }

  /** Packages open first: they bring agents' surroundings, executors and channels. */
  async #build(): Promise<void> {
    const { config, stores, options } = this
    this.packs = await openPacks(config, this)
    this.channels = namedOnce([...this.packs.pushChannels, ...(options.channels ?? [])])
    this.runtime = new Runtime(this)
    this.sockets = openSocketChannel(this)
    this.kernels = stores.each((store, number) => new Kernel(this, store, number))
    this.engine = new Engines(this.kernels.each(({ engine }) => engine))
    this.inbox.onWord = (word, message, userId, once) => {
      const door = this.door(localActor(userId))
      return answerWord((name, args) => callByName(door, name, args), word, message, once)
    }
    const { hints } = this.kernels.home
    hints.on('stops', () => this.stops.onFree?.())
    hints.on('keys', (keyIds) => {
      this.identity.forget(keyIds)
      for (const { sockets } of this.#served) sockets.dismiss(keyIds)
      this.streams.dismiss(keyIds)
    })
    this.metering.watch({
      running: () => this.engine.running,
      sockets: () => this.sockets.sockets + this.sockets.watchers.sockets,
      shards: this.kernels.all.map(({ store, health, number }) => ({
        labels: stores.several ? { shard: String(number) } : {},
        pools: () => store.pools(),
        dueLagMs: () => health.dueLagMs(),
        outbox: () => health.outbox(),
        eventsWaiting: () => health.eventsWaiting(),
      })),
    })
  }

  /** The first shard's store, which is the only one unless there are several shards. */
  get store(): Store {
    return this.stores.home
  }

  get meter() {
    return this.metering.meter
  }

  get tracer(): Tracer {
    return this.tracing.tracer
  }

  get agents(): AgentRegistry {
    return this.runtime.agents
  }

  /** A test clock polls instead of waiting. */
  get waits(): boolean {
    return this.options.now === undefined
  }

  /** Reads another server: checked addresses, bounded in time and bytes. */
  fetch(request: FetchRequest): Promise<Fetched> {
    return this.#fetcher.get(request)
  }

  /** Waits for the database, migrates, and starts the services unless a test clock drives them. */
  async start(): Promise<void> {
    await this.#whenThere(0)
    if (this.#stopped) return
    await this.identity.requireAdmin()
    this.#webhookSecret ??= await keepSetting(this.store.db, 'webhook_secret', newWebhookSecret())
    await this.runtime.start()
    // Shards that are away keep nobody of the others waiting.
    const others = this.stores.all.map((_, number) => number).slice(1)
    await Promise.all(others.map((number) => this.#join(number)))
    this.ready = true
    this.#serve(0)
    if (this.waits) for (const { health } of this.kernels.all) health.start()
  }

  /** From now on this shard is served. */
  #serve(number: number): void {
    this.servedShards.add(number)
    if (this.waits) this.kernels.all[number]?.engine.start()
  }

  /** At once where the shard is there, else as soon as it is. */
  async #join(number: number): Promise<void> {
    if (await prepareShard(this, number)) return this.#serve(number)
    this.#whenThere(number).then(
      () => {
        if (!this.#stopped) this.#serve(number)
      },
      (error) => this.meter.trouble('shards', error),
    )
  }

  async #whenThere(number: number): Promise<void> {
    let wait = DATABASE_WAIT_MS
    while (!this.#stopped && !(await prepareShard(this, number))) {
      await new Promise((done) => setTimeout(done, wait))
      wait = Math.min(wait * 2, DATABASE_WAIT_MAX_MS)
    }
  }

  /** Serves HTTP and sockets. Answers with the address. */
  async listen(): Promise<string> {
    const served = await listen(this)
    this.#served.add(served)
    return served.address
  }

  /** The same routes and sockets below a path of somebody else's server. */
  mount(place: Place): Mount {
    const served = serve(this, this.config.auth === 'open')
    this.#served.add(served)
    return mount(served, this, place)
  }

  /** What an operation runs in. */
  context(actor: Actor, caller: Asking): Context {
    if (!this.ready) throw notThereYet()
    const kernel = this.kernels.home
    const whole = kernel.store.db
    return {
      db: seenBy(whole, actor),
      whole,
      kernel,
      actor,
      now: this.options.now?.() ?? null,
      signal: () => caller.signal,
      requestId: caller.requestId,
      traceparent: caller.traceparent ?? null,
      shards: this.stores.several ? this.#shards : undefined,
    }
  }

  get #shards(): ContextShards {
    const { map, all } = this.stores
    return {
      count: all.length,
      ofUser: (userId) => map.ofBucket(bucketOf(userId)),
      within: ({ shards: _, ...ctx }, number) => {
        if (!this.servedShards.has(number))
          throw new Refusal('unavailable', `shard ${number} is not ready yet; try again soon`)
        const kernel = this.kernels.all[number] as Kernel
        const whole = kernel.store.db
        return { ...ctx, db: seenBy(whole, ctx.actor), whole, kernel }
      },
    }
  }

  /** Operations as functions of flat arguments, for callers in this process. */
  door(actor: Actor): Door {
    return openDoor(this.doors, actor)
  }

  /** Appends an event as an operation would; for the library and for tests. */
  append(event: NewEvent): Promise<Appended> {
    return this.kernels.ofBucket(event.session.bucket).writes.append(event)
  }

  /** Stores signals and fires the intents they make true, on every shard they concern. `tx` belongs to the shard `own`. */
  takeSignals(
    signals: readonly NewSignal[],
    tx: Db | null = null,
    own: Kernel = this.kernels.home,
  ): Promise<SignalTaken[]> {
    if (!this.stores.several) return own.writes.takeSignals(signals, tx)
    return takeOnShards(this.kernels, signals, tx, own)
  }

  /** Stop taking requests, finish or release what runs, close the store. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#stopped = true
    for (const { sockets } of this.#served) sockets.close()
    this.streams.close()
    this.runtime.release()
    const watching = this.kernels.all.map(({ health }) => health.stop())
    const services = this.ready ? [this.engine.stop(), ...watching] : []
    await Promise.all([...services, ...[...this.#served].map((served) => served.close())])
    const writing = this.kernels.all.map(({ writes }) => writes.idle())
    await Promise.all([...writing, this.webhooks.close(), this.#fetcher.close()])
    await Promise.all([this.runtime.close(), this.packs.close(), this.identity.close()])
    this.closing = true
    await Promise.all(this.stores.all.map((store) => store.close()))
    this.metering.close()
    await this.tracing.stop()
  }
}

/** Addresses begin with the name of their channel, so names must be unique. */
function namedOnce(channels: readonly PushChannel[]): ReadonlyMap<string, PushChannel> {
  const named = new Map(channels.map((channel) => [channel.name, channel]))
  for (const { name } of channels)
    if (!CHANNEL_NAME.test(name) || name === 'websocket')
      throw new TypeError(
        `a channel takes a name of 1 to 32 small letters, got ${JSON.stringify(name)}`,
      )
  if (named.size < channels.length)
    throw new TypeError(
      `two channels have one name: ${channels.map(({ name }) => name).join(', ')}`,
    )
  return named
}

function policyOf(config: AppConfig): Policy {
  const { autonomy, limits, timezone } = config
  return {
    autonomy: autonomy.enabled,
    maxConsecutive: autonomy.consecutiveMax,
    cooldownMs: autonomy.cooldownMs,
    maxFailures: config.alarmMaxFailures,
    pendingMax: limits.pendingMax,
    backlogMax: config.sessionBacklog,
    failureText: config.failureText,
    timezone,
  }
}

export function notThereYet(): Refusal {
  return new Refusal('unavailable', 'the database is not ready yet; try again soon')
}
