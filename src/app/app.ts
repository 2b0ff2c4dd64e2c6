/**
 * The composition root: store, engine, channels and doors are put together here and nowhere else.
 * The server listens before the database is there, and says 503 until it is.
 */
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import type { Actor, AppServices, Context } from '../api/contract.ts'
import type { Door } from '../api/doors/door.ts'
import { onceByKey } from '../api/once.ts'
import { operations } from '../api/operations.ts'
import { type WebhookRequest, Webhooks } from '../channels/webhook.ts'
import { WebSocketChannel } from '../channels/websocket.ts'
import type { Config } from '../config.ts'
import { newWebhookSecret } from '../core/calls/webhook.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { NewSignal } from '../core/intents/signal.ts'
import { Engine } from '../engine/engine.ts'
import { type Moments, SILENT } from '../engine/moments.ts'
import { closing } from '../http/closing.ts'
import { createServer } from '../http/server.ts'
import { openSockets, type SocketDoor } from '../http/socket.ts'
import { type Identity, openIdentity } from '../identity/identity.ts'
import { Health } from '../observe/health.ts'
import { arrivedRecord, createMeter } from '../observe/meter.ts'
import { openTracing, type Tracing } from '../observe/tracing.ts'
import { sourcesOf } from '../packs/sources/configured.ts'
import type { Chats, openChats } from '../packs/telegram/telegram.ts'
import { Fetcher } from '../sources/fetcher.ts'
import type { Source } from '../sources/source.ts'
import { type Db, isUnavailable } from '../store/db/db.ts'
import { migrateUp } from '../store/db/migrate.ts'
import { openStore, type Store } from '../store/db/open.ts'
import { ownedBy } from '../store/db/owned.ts'
import { keepSetting } from '../store/db/settings.ts'
import { claimKey, completeKey, keptAnswer } from '../store/identity/idempotency.ts'
import type { TakenSignal } from '../store/intents/signals.ts'
import { backToPending, positionOf } from '../store/sessions/effects.ts'
import type { Appended, NewEvent } from '../store/sessions/events.ts'
import { alarmTrigger, alarmWakes } from '../triggers/alarm.ts'
import { intentTrigger } from '../triggers/intent.ts'
import { timerTrigger } from '../triggers/timer.ts'
import { workTrigger } from '../triggers/work.ts'
import { VERSION } from '../version.ts'
import { AgentRuntime } from './agent-runtime.ts'
import { SharedCommits } from './commits.ts'
import { type DoorOptions, mcpOverHttp, openDoor } from './doors.ts'

export { VERSION }

const CONSOLE = fileURLToPath(new URL('../../dist/console/', import.meta.url))
const DAY_MS = 86_400_000
const DATABASE_WAIT_MS = 250
const DATABASE_WAIT_MAX_MS = 5_000

export interface AppOptions {
  readonly config: Config
  readonly agents: ReadonlyMap<string, Agent>
  /** Where facts are pulled from, beside those of the environment. */
  readonly sources?: readonly Source[]
  /** Executors of work, by agent_type. */
  readonly work?: ReadonlyMap<string, Executor>
  readonly log: Logger
  /** A test clock's instant; absent in production. */
  readonly now?: () => Date
  readonly moments?: Moments
  /** How long a key is believed without asking again; two seconds unless said. */
  readonly trustMs?: number
}

export class App {
  readonly store: Store
  readonly engine: Engine
  readonly #options: AppOptions
  readonly #metering: ReturnType<typeof createMeter>
  readonly #tracing: Tracing
  readonly #commits: SharedCommits
  readonly #health: Health
  readonly #webhooks: Webhooks
  readonly #fetcher: Fetcher
  /** Signs outgoing calls; kept in the database unless it was given. */
  #webhookSecret: string | null
  readonly #channel: WebSocketChannel
  readonly #runtime: AgentRuntime
  readonly #telegram: Chats | null
  readonly #services: AppServices
  readonly #doors: DoorOptions
  readonly #identity: Identity
  #ready = false
  #stopped = false
  #stopping: Promise<void> | null = null
  /** The store is about to close: nothing may be started on it any more. */
  #closing = false
  #closeServer: (() => Promise<void>) | null = null
  #sockets: SocketDoor | null = null

  /** Opens the embedded store at once; a PostgreSQL that is away does not stop us here. */
  static async open(options: AppOptions): Promise<App> {
    const { log, config } = options
    const sources = sourcesOf(config.sources, options.sources ?? [], config.allowPrivateWebhooks)
    const store = await openStore(config.databaseUrl, {
      now: options.now ?? (() => null),
      onError: (error) => log.warn({ error: error.message }, 'a database connection broke'),
    })
    try {
      const tracing = await openTracing(config, VERSION)
      // Loaded by those who have a bot: the others start a tenth of a second sooner.
      const chats = config.telegram === null ? null : await import('../packs/telegram/telegram.ts')
      return new App({ ...options, sources }, store, tracing, chats?.openChats ?? null)
    } catch (error) {
      await store.close()
      throw error
    }
  }

  private constructor(
    options: AppOptions,
    store: Store,
    tracing: Tracing,
    open: typeof openChats | null,
  ) {
    const { config } = options
    this.#options = options
    this.store = store
    this.#tracing = tracing
    this.#metering = createMeter(options.log, { content: config.logContent })
    this.#webhookSecret = config.webhookSecret
    this.#webhooks = new Webhooks({
      secrets: () => (this.#webhookSecret === null ? [] : [this.#webhookSecret]),
      allowPrivate: config.allowPrivateWebhooks,
    })
    this.#fetcher = new Fetcher({ allowPrivate: config.allowPrivateWebhooks })
    const { meter } = this.#metering
    this.#channel = new WebSocketChannel({
      record: (receipt) => this.engine.outbox.record(receipt),
      positionOf: (session, id) => positionOf(store.db, session, id),
      backToPending: (session) => {
        if (this.#closing) return
        backToPending(store.commits, [session]).catch((error) => meter.trouble('outbox', error))
      },
      wake: (key) => this.engine.hints.deliver('outbox', [key]),
      arrived: (message) => meter.delivery(arrivedRecord(message)),
      tracer: tracing.tracer,
    })
    this.#runtime = new AgentRuntime({
      config,
      store,
      agents: options.agents,
      work: options.work ?? new Map(),
      webhooks: this.#webhooks,
      trouble: (where, error) => meter.trouble(where, error),
    })
    this.#telegram = open === null ? null : this.#chats(config, open)
    this.engine = new Engine({
      store,
      agents: this.#runtime.agents,
      more: [...this.#runtime.services, ...(this.#telegram?.services ?? [])],
      triggers: [timerTrigger, alarmTrigger, intentTrigger, workTrigger],
      channels: [this.#channel],
      wakes: this.#wakes(config),
      sources: {
        sources: options.sources ?? [],
        fetch: (request) => this.#fetcher.get(request),
        take: (signals) => this.takeSignals(signals),
      },
      policy: policyOf(config),
      leaseMs: config.leaseMs,
      timerPollMs: config.timerPollIntervalMs,
      effectPollMs: config.effectPollIntervalMs,
      retention: {
        checkpointsKept: config.checkpointsKept,
        keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
      },
      sweep: this.#runtime.sweep,
      meter,
      tracer: tracing.tracer,
      services: new Set<string>(config.services),
      ...(options.moments === undefined ? {} : { moments: options.moments }),
    })
    this.#commits = new SharedCommits({
      store,
      policy: policyOf(config),
      meter,
      hints: this.engine.hints,
      tracer: tracing.tracer,
    })
    const runtime = this.#runtime
    this.#services = {
      append: (event) => this.append(event),
      knowsAgent: (agentId, userId) => runtime.agents.knows(agentId, userId),
      get agentIds() {
        return runtime.agents.names
      },
      ...runtime.forOperations,
      telegram: this.#telegram?.bot ?? null,
      wakesByUrl: config.wakeUrl !== null,
      setAlarm: (draft, tx) => this.#commits.setAlarm(draft, tx),
      takeSignals: (signals, tx) => this.takeSignals(signals, tx),
      changed: (topic, keys) => this.engine.hints.hint(topic, keys),
      policy: policyOf(config),
    }
    this.#doors = {
      context: (actor, caller) => this.context(actor, caller),
      once: onceByKey({ claimKey, keptAnswer, completeKey }),
      log: options.log,
      now: options.now,
      tracer: tracing.tracer,
    }
    this.#identity = openIdentity({
      config,
      db: store.db,
      ready: () => this.#ready,
      trustMs: options.trustMs,
      now: options.now,
      onError: (error) => meter.trouble('keys', error),
    })
    this.engine.hints.on('keys', (keyIds) => {
      this.#identity.forget(keyIds)
      this.#sockets?.dismiss(keyIds)
    })
    this.#health = new Health({
      store,
      onError: (error) => meter.trouble('watch', error),
      ready: () => this.#ready,
      version: VERSION,
      services: config.services,
    })
    this.#metering.watch({
      pools: () => store.pools(),
      running: () => this.engine.turns.depth,
      sockets: () => this.#channel.sockets,
      dueLagMs: () => this.#health.dueLagMs(),
      outbox: () => this.#health.outbox(),
    })
  }

  /** Waits for the database, migrates, and starts the services unless a test clock drives them. */
  async start(): Promise<void> {
    let wait = DATABASE_WAIT_MS
    while (!this.#stopped) {
      try {
        const applied = await migrateUp(this.store.migrations)
        if (applied.length > 0) this.#options.log.info({ applied }, 'migrated')
        break
      } catch (error) {
        if (!isUnavailable(error)) throw error
        this.#options.log.warn({ error: (error as Error).message }, 'waiting for the database')
        await new Promise((done) => setTimeout(done, wait))
        wait = Math.min(wait * 2, DATABASE_WAIT_MAX_MS)
      }
    }
    if (this.#stopped) return
    await this.#identity.requireAdmin()
    this.#webhookSecret ??= await keepSetting(this.store.db, 'webhook_secret', newWebhookSecret())
    await this.#runtime.start()
    this.#ready = true
    if (this.#options.now !== undefined) return
    this.engine.start()
    this.#health.start()
  }

  /** Serves HTTP and sockets. Answers with the address. */
  async listen(): Promise<string> {
    const { config, log } = this.#options
    const server = createServer({
      operations,
      version: VERSION,
      logger: log,
      console: CONSOLE,
      authenticate: this.#identity.authenticate,
      limit: this.#identity.limit,
      limitStrangers: this.#identity.limitStrangers,
      trusts: this.#identity.trusts,
      context: (caller) => this.context(caller.actor, caller),
      idempotency: { claimKey, keptAnswer, completeKey },
      mcp: mcpOverHttp(this.#doors, operations, VERSION),
      tracer: this.#tracing.tracer,
      onAnswer: (operation, status, ms) => this.#metering.answered(operation, status, ms),
      files: this.#runtime.files,
      health: () => this.#health.health(),
      ready: async () => this.#ready,
      metrics: async () => ({
        contentType: this.#metering.registry.contentType,
        text: await this.#metering.registry.metrics(),
      }),
    })
    const postMessage = operations.find((op) => op.name === 'post_message')
    if (postMessage === undefined) throw new Error('the operation post_message is missing')
    this.#sockets = openSockets(server.server, {
      hub: this.#channel,
      postMessage,
      ...this.#identity.sockets,
      context: (actor) =>
        this.context(actor, { requestId: newId(), signal: new AbortController().signal }),
      onError: (error) => this.#metering.meter.trouble('socket', error),
      tracer: this.#tracing.tracer,
    })
    this.#closeServer = closing(server)
    await server.listen({ host: config.host, port: config.port })
    const { address, port, family } = server.server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** What an operation runs in. */
  context(
    actor: Actor,
    caller: {
      readonly requestId: string
      readonly signal: AbortSignal
      readonly traceparent?: string | null
    },
  ): Context {
    if (!this.#ready)
      throw new Refusal('unavailable', 'the database is not there yet; try again soon')
    const whole = this.store.db
    return {
      db: actor.userId === null ? whole : ownedBy(whole, actor.userId),
      whole,
      app: this.#services,
      actor,
      now: this.#options.now?.() ?? null,
      requestId: caller.requestId,
      traceparent: caller.traceparent ?? null,
      get signal() {
        return caller.signal
      },
    }
  }

  /** Operations as functions of flat arguments, for whoever acts in this process. */
  door(actor: Actor): Door {
    return openDoor(this.#doors, actor)
  }

  /** Appends an event as an operation would; for the library and for tests. */
  append(event: NewEvent): Promise<Appended> {
    return this.#commits.append(event)
  }

  #wakes({ wakeUrl, wakeToken }: Config) {
    if (wakeUrl === null) return null
    const source = alarmWakes({ url: wakeUrl, bearer: wakeToken })
    return {
      source,
      call: (request: WebhookRequest, signal: AbortSignal) => this.#webhooks.call(request, signal),
    }
  }

  #chats(config: Config, open: typeof openChats): Chats | null {
    const { store } = this
    return open(config, {
      ...{ store, meter: this.#metering.meter, moments: this.#options.moments ?? SILENT },
      waits: this.#options.now === undefined,
      append: (event) => this.append(event),
      knows: ({ agentId, userId }) => this.#runtime.agents.knows(agentId, userId),
      changed: () => this.engine.hints.hint('outbox'),
    })
  }

  /** Keeps facts and fires what they make true. */
  takeSignals(signals: readonly NewSignal[], tx: Db | null = null): Promise<TakenSignal[]> {
    return this.#commits.takeSignals(signals, tx)
  }

  /** Stop taking requests, finish or release what runs, close the store. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#stopped = true
    this.#sockets?.close()
    this.#runtime.release()
    this.#telegram?.halt()
    const services = this.#ready ? [this.engine.stop(), this.#health.stop()] : []
    await Promise.all([this.#closeServer?.(), ...services])
    await Promise.all([this.#commits.idle(), this.#webhooks.close(), this.#fetcher.close()])
    await Promise.all([this.#runtime.close(), this.#identity.close()])
    this.#closing = true
    await this.store.close()
    this.#metering.close()
    await this.#tracing.stop()
  }
}

function policyOf(config: Config) {
  const { enabled, consecutiveMax, cooldownMs } = config.autonomy
  return { autonomy: enabled, maxConsecutive: consecutiveMax, cooldownMs }
}
