/**
 * The composition root: store, engine, channels and doors are put together here and nowhere else.
 * The server listens before the database is there, and says 503 until it is.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Agent } from './agents/agent.ts'
import type { Executor } from './agents/executor.ts'
import { builtInExecutors } from './agents/executors/index.ts'
import { HttpModel } from './agents/model.ts'
import type { Actor, Context, House } from './api/contract.ts'
import type { Door } from './api/door.ts'
import { operations } from './api/operations.ts'
import { authenticator } from './auth.ts'
import { type WebhookRequest, Webhooks } from './channels/webhook.ts'
import { type Arrived, WebSocketChannel } from './channels/websocket.ts'
import { wallClock } from './clock.ts'
import type { Config } from './config.ts'
import type { AlarmDraft } from './core/alarm-draft.ts'
import { Refusal } from './core/errors.ts'
import { newId } from './core/ids.ts'
import { tzDataVersion } from './core/schedule/index.ts'
import type { NewSignal } from './core/signal.ts'
import { SECRET_PREFIX } from './core/webhook.ts'
import { type DoorOptions, mcpOverHttp, openDoor } from './doors.ts'
import { Engine } from './engine/engine.ts'
import type { DeliveryReport } from './engine/meter.ts'
import type { Signals } from './engine/signals.ts'
import type { FileKeeper } from './files/keeper.ts'
import { openFiles } from './files/open.ts'
import { fileSweep } from './files/sweep.ts'
import { checkLocal } from './http/guard.ts'
import { onceByKey } from './http/idempotency.ts'
import { createServer } from './http/server.ts'
import { openSockets, type SocketDoor } from './http/socket.ts'
import { createReport } from './report.ts'
import { sourcesOf } from './sources/configured.ts'
import { Fetcher } from './sources/fetcher.ts'
import type { Source } from './sources/source.ts'
import { type Db, isUnavailable } from './store/db.ts'
import { ALARMS, dueLagMs, INTENTS, SESSIONS, TIMERS, WAKES, WORK } from './store/due.ts'
import { backToPending, outboxDepth, positionOf } from './store/effects.ts'
import { type Appended, appendEvents, type NewEvent } from './store/events.ts'
import { GroupCommit } from './store/group.ts'
import { claimKey, completeKey, keptAnswer } from './store/idempotency.ts'
import { migrateUp } from './store/migrate.ts'
import { openStore, type Store } from './store/open.ts'
import { keepSetting } from './store/settings.ts'
import type { TakenSignal } from './store/signals.ts'
import { knownFiles } from './store/work-files.ts'
import { openTracing, type Tracing } from './tracing.ts'
import { alarmTrigger, alarmWakes, type NewAlarm, setAlarms } from './triggers/alarm.ts'
import { intentTrigger } from './triggers/intent.ts'
import { takeSignals } from './triggers/signal.ts'
import { timerTrigger } from './triggers/timer.ts'
import { workTrigger } from './triggers/work.ts'
import { Workshop } from './workshop.ts'

export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version
const CONSOLE = fileURLToPath(new URL('../dist/console/', import.meta.url))
const DAY_MS = 86_400_000
const APPEND_MAX = 500
const APPEND_QUEUE_MAX = 20_000
const ALARMS_MAX = 500
const SIGNALS_MAX = 500
const DATABASE_WAIT_MS = 250
const IDLE_SWEEP_MS = 50
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
  readonly signals?: Signals
}

export class App {
  readonly store: Store
  readonly engine: Engine
  readonly #options: AppOptions
  readonly #report: ReturnType<typeof createReport>
  readonly #tracing: Tracing
  readonly #appends: GroupCommit<NewEvent, Appended>
  readonly #alarms: GroupCommit<AlarmDraft, NewAlarm | Refusal>
  readonly #signals: GroupCommit<NewSignal, TakenSignal>
  readonly #webhooks: Webhooks
  readonly #fetcher: Fetcher
  /** Signs outgoing calls; kept in the database unless it was given. */
  #webhookSecret: string | null
  readonly #channel: WebSocketChannel
  readonly #files: FileKeeper
  /** Names the database beside other installations that share a place for files. */
  #installation = ''
  readonly #workshop: Workshop
  /** Asked by the executors that write. */
  readonly #model: HttpModel
  readonly #house: House
  readonly #doors: DoorOptions
  #ready = false
  #stopped = false
  #stopping: Promise<void> | null = null
  /** The store is about to close: nothing may be started on it any more. */
  #closing = false
  #server: FastifyInstance | null = null
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
      return new App({ ...options, sources }, store, tracing)
    } catch (error) {
      await store.close()
      throw error
    }
  }

  private constructor(options: AppOptions, store: Store, tracing: Tracing) {
    const { config } = options
    this.#options = options
    this.store = store
    this.#tracing = tracing
    this.#report = createReport(options.log, { content: config.logContent })
    this.#webhookSecret = config.webhookSecret
    this.#webhooks = new Webhooks({
      secrets: () => (this.#webhookSecret === null ? [] : [this.#webhookSecret]),
      allowPrivate: config.allowPrivateWebhooks,
    })
    this.#fetcher = new Fetcher({ allowPrivate: config.allowPrivateWebhooks })
    const { meter } = this.#report
    this.#channel = new WebSocketChannel({
      record: (receipt) => this.engine.outbox.record(receipt),
      positionOf: (session, id) => positionOf(store.db, session, id),
      backToPending: (session) => {
        if (this.#closing) return
        backToPending(store.commits, [session]).catch((error) => meter.trouble('outbox', error))
      },
      wake: (key) => this.engine.hints.deliver('outbox', [key]),
      arrived: (message) => meter.delivery(arrivedReport(message)),
      tracer: tracing.tracer,
    })
    const timeOfDay = () => new Date(wallClock())
    this.#files = openFiles(config.files, () => this.#installation, timeOfDay)
    this.#model = new HttpModel(config.model, { now: timeOfDay })
    this.#workshop = new Workshop({
      store,
      agents: options.agents,
      executors: this.#executors(),
      files: this.#files,
      trouble: (where, error) => meter.trouble(where, error),
    })
    this.engine = new Engine({
      store,
      agents: this.#workshop.agents,
      triggers: [timerTrigger, alarmTrigger, intentTrigger(policyOf(config)), workTrigger],
      channels: [this.#channel],
      wakes: this.#wakes(config),
      sources: {
        sources: options.sources ?? [],
        fetch: (request) => this.#fetcher.get(request),
        take: (signals) => this.signal(signals),
      },
      policy: policyOf(config),
      leaseMs: config.leaseMs,
      timerPollMs: config.timerPollIntervalMs,
      effectPollMs: config.effectPollIntervalMs,
      retention: {
        checkpointsKept: config.checkpointsKept,
        keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
      },
      sweep: fileSweep({
        files: this.#files,
        known: (keys) => knownFiles(store.db, keys),
        now: timeOfDay,
      }),
      meter,
      tracer: tracing.tracer,
      services: new Set<string>(config.services),
      ...(options.signals === undefined ? {} : { signals: options.signals }),
    })
    this.#appends = new GroupCommit({
      commit: (events) => this.#append(events),
      batchMax: APPEND_MAX,
      lanes: store.kind === 'postgres' ? 2 : 1,
      queueMax: APPEND_QUEUE_MAX,
      onFull: tooManyWait,
      onBatch: (size) => meter.batch('append', size),
    })
    this.#alarms = new GroupCommit({
      commit: (drafts) => setAlarms(store.commits, drafts),
      batchMax: ALARMS_MAX,
      lanes: store.kind === 'postgres' ? 2 : 1,
      queueMax: APPEND_QUEUE_MAX,
      onFull: tooManyWait,
      onBatch: (size) => meter.batch('alarms', size),
    })
    // One lane: prices that follow one another are looked at in the order they came.
    this.#signals = new GroupCommit({
      commit: (signals) => takeSignals(store.commits, signals, policyOf(config)),
      batchMax: SIGNALS_MAX,
      lanes: 1,
      queueMax: APPEND_QUEUE_MAX,
      onFull: tooManyWait,
    })
    this.#house = {
      append: (event) => this.append(event),
      knowsAgent: (agentId) => options.agents.has(agentId),
      agentIds: [...options.agents.keys()],
      wakesByUrl: config.wakeUrl !== null,
      setAlarm: (draft, tx) => this.#setAlarm(draft, tx),
      signal: (signals, tx) => this.signal(signals, tx),
      changed: (topic, keys) => this.engine.hints.hint(topic, keys),
      policy: policyOf(config),
      work: this.#workshop.house,
    }
    this.#doors = {
      context: (actor, caller) => this.context(actor, caller),
      once: onceByKey({ claimKey, keptAnswer, completeKey }),
      log: options.log,
      now: options.now,
    }
    this.#report.watch({
      pools: () => store.pools(),
      running: () => this.engine.turns.depth,
      sockets: () => this.#channel.sockets,
      dueLagMs: () => this.#dueLag(),
      outbox: () => this.#outbox(),
    })
  }

  /** Those built in, unless the app has somebody else of that name; then the app's own. */
  #executors(): ReadonlyMap<string, Executor> {
    const { agents, work } = this.#options
    const builtIn = builtInExecutors({ db: this.store.db, model: this.#model })
    return new Map([...[...builtIn].filter(([type]) => !agents.has(type)), ...(work ?? [])])
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
    this.#webhookSecret ??= await keepSetting(
      this.store.db,
      'webhook_secret',
      `${SECRET_PREFIX}${randomBytes(32).toString('base64')}`,
    )
    this.#installation = await keepSetting(this.store.db, 'installation', newId())
    this.#ready = true
    if (this.#options.now === undefined) this.engine.start()
  }

  /** Serves HTTP and sockets. Answers with the address. */
  async listen(): Promise<string> {
    const { config, log } = this.#options
    const authenticate = authenticator(config)
    const server = createServer({
      operations,
      version: VERSION,
      logger: log,
      console: CONSOLE,
      authenticate,
      context: (caller) => this.context(caller.actor, caller),
      idempotency: { claimKey, keptAnswer, completeKey },
      mcp: mcpOverHttp(this.#doors, operations, VERSION),
      tracer: this.#tracing.tracer,
      onAnswer: (operation, status, ms) => this.#report.answered(operation, status, ms),
      files: this.#files,
      health: () => this.#health(),
      ready: async () => this.#ready,
      metrics: async () => ({
        contentType: this.#report.registry.contentType,
        text: await this.#report.registry.metrics(),
      }),
    })
    const postMessage = operations.find((op) => op.name === 'post_message')
    if (postMessage === undefined) throw new Error('the operation post_message is missing')
    this.#sockets = openSockets(server.server, {
      hub: this.#channel,
      postMessage,
      authenticate: (request) => authenticate(request.headers),
      check: (request) => checkLocal(request.headers),
      context: (actor) =>
        this.context(actor, { requestId: newId(), signal: new AbortController().signal }),
      onError: (error) => this.#report.meter.trouble('socket', error),
      tracer: this.#tracing.tracer,
    })
    this.#server = server
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
    return {
      db: this.store.db,
      house: this.#house,
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
    return this.#appends.submit(event)
  }

  async #append(events: readonly NewEvent[]): Promise<Appended[]> {
    const rows = await appendEvents(this.store.commits, events)
    this.engine.hints.hint('turns')
    this.engine.hints.hint('outbox', [...new Set(events.map((event) => event.session.key))])
    return rows
  }

  #wakes({ wakeUrl, wakeToken }: Config) {
    if (wakeUrl === null) return null
    const source = alarmWakes({ url: wakeUrl, bearer: wakeToken })
    return {
      source,
      call: (request: WebhookRequest, signal: AbortSignal) => this.#webhooks.call(request, signal),
    }
  }

  async #setAlarm(draft: AlarmDraft, tx: Db | null): Promise<NewAlarm> {
    const [set] = tx === null ? [await this.#alarms.submit(draft)] : await setAlarms(tx, [draft])
    if (set === undefined) throw new Error('the alarm was not set')
    if (set instanceof Refusal) throw set
    return set
  }

  /** Keeps facts and fires what they make true. */
  async signal(signals: readonly NewSignal[], tx: Db | null = null): Promise<TakenSignal[]> {
    const taken =
      tx === null
        ? await Promise.all(signals.map((signal) => this.#signals.submit(signal)))
        : await takeSignals(tx, signals, policyOf(this.#options.config))
    const promoted = taken.reduce((sum, each) => sum + each.promoted, 0)
    if (promoted > 0) {
      this.engine.hints.hint('turns')
      this.#report.meter.promoted('intent', promoted, 0)
    }
    return taken
  }

  async #dueLag(): Promise<Record<string, number>> {
    if (!this.#ready) return {}
    return {
      sessions: await dueLagMs(this.store.engine, SESSIONS),
      timers: await dueLagMs(this.store.engine, TIMERS),
      alarms: await dueLagMs(this.store.engine, ALARMS),
      wakes: await dueLagMs(this.store.engine, WAKES),
      intents: await dueLagMs(this.store.engine, INTENTS),
      work: await dueLagMs(this.store.engine, WORK),
    }
  }

  async #outbox() {
    if (!this.#ready) return []
    const rows = await outboxDepth(this.store.engine)
    return rows.map(({ status, depth, oldest_ms }) => ({ status, depth, oldestMs: oldest_ms }))
  }

  async #health() {
    const body = { version: VERSION, database: this.store.kind, tz_data: tzDataVersion() }
    if (!this.#ready) return { ok: false, body: { status: 'waiting for the database', ...body } }
    try {
      const due_lag_ms = await this.#dueLag()
      return {
        ok: true,
        body: { status: 'ok', ...body, due_lag_ms, services: this.#options.config.services },
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return { ok: false, body: { status: 'the database is away', ...body } }
    }
  }

  /** Stop taking requests, finish or release what runs, close the store. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** A request that ends while we close leaves its connection open for the next, which must not keep us. */
  async #closeServer(): Promise<void> {
    const server = this.#server
    if (server === null) return
    const sweep = setInterval(() => server.server.closeIdleConnections(), IDLE_SWEEP_MS)
    await server.close().finally(() => clearInterval(sweep))
  }

  async #stop(): Promise<void> {
    this.#stopped = true
    this.#sockets?.close()
    this.#workshop.release()
    await Promise.all([this.#closeServer(), this.#ready ? this.engine.stop() : undefined])
    await Promise.all([
      this.#appends.idle(),
      this.#alarms.idle(),
      this.#signals.idle(),
      this.#webhooks.close(),
      this.#fetcher.close(),
    ])
    await this.#workshop.idle()
    await Promise.all([this.#files.close(), this.#model.close()])
    this.#closing = true
    await this.store.close()
    this.#report.close()
    await this.#tracing.stop()
  }
}

function arrivedReport({ row, durationMs, traceparent }: Arrived): DeliveryReport {
  const origin =
    row.origin === null ? null : (JSON.parse(row.origin) as { kind: string; id?: string })
  return {
    channel: 'websocket',
    result: 'acknowledged',
    durationMs,
    id: row.id,
    sessionKey: row.session_key,
    eventSeq: row.event_seq,
    checkpointId: row.checkpoint_id ?? null,
    trigger: origin?.kind ?? 'user_message',
    triggerId: origin?.id ?? null,
    slot: null,
    attempt: null,
    error: null,
    traceparent,
  }
}

function tooManyWait(): Refusal {
  const text = 'too many requests wait for the database; try again soon'
  return new Refusal('unavailable', text, { retryAfterMs: 1000 })
}

function policyOf(config: Config) {
  const { enabled, consecutiveMax, cooldownMs } = config.autonomy
  return { autonomy: enabled, maxConsecutive: consecutiveMax, cooldownMs }
}
