/**
 * The composition root: store, engine, channels and doors are put together here and nowhere else.
 * The server listens before the database is there, and says 503 until it is.
 */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Agent } from './agents/agent.ts'
import { AgentRegistry } from './agents/registry.ts'
import { remoteAgent } from './agents/remote.ts'
import type { Actor, Context, House } from './api/contract.ts'
import { operations } from './api/operations.ts'
import { authenticator } from './auth.ts'
import { type WebhookRequest, Webhooks } from './channels/webhook.ts'
import { WebSocketChannel } from './channels/websocket.ts'
import type { Chats, openChats } from './chats.ts'
import type { Config } from './config.ts'
import type { AlarmDraft } from './core/alarm-draft.ts'
import { Refusal } from './core/errors.ts'
import { newId } from './core/ids.ts'
import { tzDataVersion } from './core/schedule/index.ts'
import { newWebhookSecret } from './core/webhook.ts'
import { Engine } from './engine/engine.ts'
import { SILENT, type Signals } from './engine/signals.ts'
import { checkLocal } from './http/guard.ts'
import { createServer } from './http/server.ts'
import { openSockets, type SocketDoor } from './http/socket.ts'
import { createReport } from './report.ts'
import { forgetRemoved, readAgents } from './store/agents.ts'
import { type Db, isUnavailable } from './store/db.ts'
import { ALARMS, dueLagMs, SESSIONS, TIMERS, WAKES } from './store/due.ts'
import { backToPending, positionOf } from './store/effects.ts'
import { type Appended, appendEvents, type NewEvent } from './store/events.ts'
import { GroupCommit } from './store/group.ts'
import { claimKey, completeKey, keptAnswer } from './store/idempotency.ts'
import { migrateUp } from './store/migrate.ts'
import { openStore, type Store } from './store/open.ts'
import { keepSetting } from './store/settings.ts'
import { alarmTrigger, alarmWakes, type NewAlarm, setAlarms } from './triggers/alarm.ts'
import { timerTrigger } from './triggers/timer.ts'

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
const AGENTS_POLL_MS = 1_000
const DATABASE_WAIT_MS = 250
const DATABASE_WAIT_MAX_MS = 5_000

export interface AppOptions {
  readonly config: Config
  readonly agents: ReadonlyMap<string, Agent>
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
  readonly #appends: GroupCommit<NewEvent, Appended>
  readonly #alarms: GroupCommit<AlarmDraft, NewAlarm | Refusal>
  readonly #webhooks: Webhooks
  readonly #agents: AgentRegistry
  readonly #telegram: Chats | null
  /** Signs outgoing calls; kept in the database unless it was given. */
  #webhookSecret: string | null
  readonly #channel: WebSocketChannel
  readonly #house: House
  #ready = false
  #stopped = false
  #stopping: Promise<void> | null = null
  /** The store is about to close: nothing may be started on it any more. */
  #closing = false
  #server: FastifyInstance | null = null
  #sockets: SocketDoor | null = null

  /** Opens the embedded store at once; a PostgreSQL that is away does not stop us here. */
  static async open(options: AppOptions): Promise<App> {
    const { log } = options
    const store = await openStore(options.config.databaseUrl, {
      now: options.now ?? (() => null),
      onError: (error) => log.warn({ error: error.message }, 'a database connection broke'),
    })
    // Loaded by those who have a bot: the others start a tenth of a second sooner.
    const chats = options.config.telegram === null ? null : await import('./chats.ts')
    return new App(options, store, chats?.openChats ?? null)
  }

  private constructor(options: AppOptions, store: Store, open: typeof openChats | null) {
    const { config } = options
    this.#options = options
    this.store = store
    this.#report = createReport(options.log)
    this.#webhookSecret = config.webhookSecret
    this.#webhooks = new Webhooks({
      secrets: () => (this.#webhookSecret === null ? [] : [this.#webhookSecret]),
      allowPrivate: config.allowPrivateWebhooks,
    })
    this.#agents = new AgentRegistry({
      own: options.agents,
      read: () => readAgents(store.engine),
      remote: (row) => remoteAgent(row, (call, signal) => this.#webhooks.ask(call, signal)),
    })
    this.#telegram = open === null ? null : this.#chats(config, open)
    const { meter } = this.#report
    this.#channel = new WebSocketChannel({
      record: (receipt) => this.engine.outbox.record(receipt),
      positionOf: (session, id) => positionOf(store.db, session, id),
      backToPending: (session) => {
        if (this.#closing) return
        backToPending(store.commits, [session]).catch((error) => meter.trouble('outbox', error))
      },
      wake: (key) => this.engine.hints.deliver('outbox', [key]),
    })
    this.engine = new Engine({
      store,
      agents: this.#agents,
      more: [
        { service: this.#agents, pollMs: AGENTS_POLL_MS },
        ...(this.#telegram?.services ?? []),
      ],
      triggers: [timerTrigger, alarmTrigger],
      channels: [this.#channel],
      wakes: this.#wakes(config),
      policy: policyOf(config),
      leaseMs: config.leaseMs,
      timerPollMs: config.timerPollIntervalMs,
      effectPollMs: config.effectPollIntervalMs,
      retention: {
        checkpointsKept: config.checkpointsKept,
        keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
      },
      meter,
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
    const registry = this.#agents
    this.#house = {
      append: (event) => this.append(event),
      knowsAgent: (agentId, userId) => registry.knows(agentId, userId),
      get agentIds() {
        return registry.names
      },
      remoteAgents: {
        own: [...options.agents].map(([id, { kind, timeoutMs }]) => ({ id, kind, timeoutMs })),
        allowPrivate: config.allowPrivateWebhooks,
        changed: () => registry.refresh(),
      },
      telegram: this.#telegram?.bot ?? null,
      wakesByUrl: config.wakeUrl !== null,
      setAlarm: (draft, tx) => this.#setAlarm(draft, tx),
      changed: (topic, keys) => this.engine.hints.hint(topic, keys),
      policy: policyOf(config),
    }
    this.#report.watch({
      pools: () => store.pools(),
      running: () => this.engine.turns.depth,
      sockets: () => this.#channel.sockets,
      dueLagMs: () => this.#dueLag(),
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
    this.#webhookSecret ??= await keepSetting(this.store.db, 'webhook_secret', newWebhookSecret())
    await forgetRemoved(this.store.db, [...this.#options.agents.keys()])
    await this.#agents.refresh()
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
    })
    this.#server = server
    await server.listen({ host: config.host, port: config.port })
    const { address, port, family } = server.server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** What an operation runs in. */
  context(
    actor: Actor,
    caller: { readonly requestId: string; readonly signal: AbortSignal },
  ): Context {
    if (!this.#ready)
      throw new Refusal('unavailable', 'the database is not there yet; try again soon')
    return {
      db: this.store.db,
      house: this.#house,
      actor,
      now: this.#options.now?.() ?? null,
      requestId: caller.requestId,
      get signal() {
        return caller.signal
      },
    }
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

  #chats(config: Config, open: typeof openChats): Chats | null {
    const { store } = this
    return open(config, {
      ...{ store, meter: this.#report.meter, signals: this.#options.signals ?? SILENT },
      waits: this.#options.now === undefined,
      append: (event) => this.append(event),
      knows: ({ agentId, userId }) => this.#agents.knows(agentId, userId),
      changed: () => this.engine.hints.hint('outbox'),
    })
  }

  async #setAlarm(draft: AlarmDraft, tx: Db | null): Promise<NewAlarm> {
    const [set] = tx === null ? [await this.#alarms.submit(draft)] : await setAlarms(tx, [draft])
    if (set === undefined) throw new Error('the alarm was not set')
    if (set instanceof Refusal) throw set
    return set
  }

  async #dueLag(): Promise<Record<string, number>> {
    if (!this.#ready) return {}
    return {
      sessions: await dueLagMs(this.store.engine, SESSIONS),
      timers: await dueLagMs(this.store.engine, TIMERS),
      alarms: await dueLagMs(this.store.engine, ALARMS),
      wakes: await dueLagMs(this.store.engine, WAKES),
    }
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

  async #stop(): Promise<void> {
    this.#stopped = true
    this.#sockets?.close()
    this.#telegram?.halt()
    await Promise.all([this.#server?.close(), this.#ready ? this.engine.stop() : undefined])
    await Promise.all([this.#appends.idle(), this.#alarms.idle(), this.#webhooks.close()])
    this.#closing = true
    await this.store.close()
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
