/**
 * The composition root: store, engine, channels and doors are put together here and nowhere else.
 * The server listens before the database is there, and says 503 until it is.
 */
import type { AddressInfo } from 'node:net'
import { tzDataVersion } from '../../packages/schedule/src/index.ts'
import type { Door } from '../api/callers/caller.ts'
import { localActor } from '../api/callers/local.ts'
import type { Actor, AppServices, Context, ContextShards } from '../api/contract.ts'
import { onceByKey } from '../api/once.ts'
import { wallClock } from '../clock.ts'
import { errorText, Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { bucketOf } from '../core/session.ts'
import { withoutPassword } from '../core/variables.ts'
import type { ChannelAnswer, ChannelRequest } from '../features/channels/request.ts'
import { claimKey, completeKey, keptAnswer } from '../features/identity/idempotency-rows.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import type { TakenSignal } from '../features/intents/signal-rows.ts'
import type { Appended, NewEvent } from '../features/sessions/event-rows.ts'
import { closing } from '../http/closing.ts'
import { createServer } from '../http/server.ts'
import { openSockets, type SocketDoor } from '../http/socket.ts'
import type { Engines } from '../kernel/engine.ts'
import { OpenStreams } from '../mcp/event-stream.ts'
import { openTracing } from '../observe/tracing.ts'
import { ROOT } from '../root.ts'
import { type Db, isUnavailable } from '../store/db.ts'
import { expireLeases } from '../store/expire.ts'
import { ensureMigrated, refuseFresh } from '../store/migrate.ts'
import type { Store } from '../store/open.ts'
import { ownedBy } from '../store/owned.ts'
import { refusePooler } from '../store/server.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { VERSION } from '../version.ts'
import { answerWord } from './chat-commands.ts'
import { type Asking, type DoorOptions, mcpOverHttp, openDoor } from './doors.ts'
import { operations } from './operations.ts'
import { type AppOptions, openParts, type Parts } from './parts.ts'
import { agreeOnMap, agreeOnShard, onlyStore, openStores } from './shards.ts'
import { followRules } from './zones.ts'

export { VERSION }

const DOCS = `${ROOT}dist/docs/`
const CONSOLE = `${ROOT}dist/console/`
const DATABASE_WAIT_MS = 250
const DATABASE_WAIT_MAX_MS = 5_000

export class App {
  /** The first shard's, which is all there is where there is one. */
  readonly store: Store
  readonly stores: PerShard<Store>
  readonly engine: Engines
  readonly #options: AppOptions
  readonly #parts: Parts
  readonly #doors: DoorOptions
  #stopped = false
  #stopping: Promise<void> | null = null
  #closeServer: (() => Promise<void>) | null = null
  #sockets: SocketDoor | null = null
  readonly #streams = new OpenStreams()

  /** Opens the embedded store at once; a PostgreSQL that is away does not stop us here. */
  static async open(options: AppOptions): Promise<App> {
    const { log, config } = options
    refuseFresh(config.databaseUrl, config.migrate)
    const opening = {
      now: options.now ?? (() => null),
      onError: (error: Error) => log.warn({ error: error.message }, 'a database connection broke'),
    }
    const { store } = options
    const stores = store ? onlyStore(store) : await openStores(config.shards, opening)
    log.info({ databases: config.shards.map(withoutPassword) }, 'opened the database')
    try {
      const tracing = await openTracing(config, VERSION)
      return new App(options, await openParts(options, stores, tracing))
    } catch (error) {
      await Promise.all(stores.all.map((store) => store.close()))
      throw error
    }
  }

  private constructor(options: AppOptions, parts: Parts) {
    this.#options = options
    this.#parts = parts
    this.store = parts.store
    this.stores = parts.stores
    this.engine = parts.engine
    this.#doors = {
      context: (actor, caller) => this.context(actor, caller),
      once: onceByKey({ claimKey, keptAnswer, completeKey }),
      log: options.log,
      now: options.now,
      tracer: parts.tracer,
    }
    parts.inbox.onWord = (word, message, userId, once) =>
      answerWord(this.door(localActor(userId)), word, message, once)
    parts.hints.home.on('keys', (keyIds) => {
      parts.identity.forget(keyIds)
      this.#sockets?.dismiss(keyIds)
      this.#streams.dismiss(keyIds)
    })
  }

  /** Waits for the database, migrates, and starts the services unless a test clock drives them. */
  async start(): Promise<void> {
    await this.#whenThere(0)
    if (this.#stopped) return
    const { identity, calls, runtime, healths, life } = this.#parts
    await identity.requireAdmin()
    await calls.start(this.store.db)
    await runtime.start()
    // Shards that are away keep nobody of the others waiting.
    const others = this.stores.all.map((_, number) => number).slice(1)
    await Promise.all(others.map((number) => this.#join(number)))
    life.ready = true
    this.#serve(0)
    if (this.#options.now === undefined) for (const health of healths.all) health.start()
  }

  /** From now on this shard is served. */
  #serve(number: number): void {
    this.#parts.life.shards.add(number)
    if (this.#options.now === undefined) this.engine.shards.all[number]?.start()
  }

  /** At once where the shard is there, else as soon as it is. */
  async #join(number: number): Promise<void> {
    if (await this.#prepare(number)) return this.#serve(number)
    this.#whenThere(number).then(
      () => {
        if (!this.#stopped) this.#serve(number)
      },
      (error) => this.#parts.meter.trouble('shards', error),
    )
  }

  async #whenThere(number: number): Promise<void> {
    let wait = DATABASE_WAIT_MS
    while (!this.#stopped && !(await this.#prepare(number))) {
      await new Promise((done) => setTimeout(done, wait))
      wait = Math.min(wait * 2, DATABASE_WAIT_MAX_MS)
    }
  }

  /** False where its database is away. */
  async #prepare(number: number): Promise<boolean> {
    const { config, log } = this.#options
    const store = this.stores.all[number] as Store
    const shard = this.stores.several ? { shard: number } : {}
    try {
      await refusePooler(store)
      const applied = await ensureMigrated(store.migrations, config.migrate)
      if (applied.length > 0) log.info({ ...shard, applied }, 'migrated')
      if (number === 0) await agreeOnMap(this.stores)
      else await agreeOnShard(this.stores, number)
      // Only we can have it open, so every process that held a lease in it has died.
      if (store.kind === 'pglite' && this.#options.store === undefined)
        await expireLeases(store.engine)
      const tzData = tzDataVersion()
      const moved = await followRules(store.engine, tzData)
      if (moved !== null)
        log.info(
          { ...shard, tzData, moved },
          'rules of time zones have changed: what waits was reckoned again',
        )
      return true
    } catch (error) {
      if (!isUnavailable(error)) throw this.stores.several ? ofShard(number, error) : error
      log.warn({ ...shard, error: (error as Error).message }, 'waiting for the database')
      return false
    }
  }

  /** Serves HTTP and sockets. Answers with the address. */
  async listen(): Promise<string> {
    const { config, log } = this.#options
    const { identity, metering, runtime, healths, life, tracer, channel } = this.#parts
    metering.begin()
    const server = createServer({
      operations,
      version: VERSION,
      logger: log,
      console: CONSOLE,
      docs: DOCS,
      authenticate: identity.authenticate,
      limit: identity.limit,
      limitStrangers: identity.limitStrangers,
      trusts: identity.trusts,
      context: (caller) => this.context(caller.actor, caller),
      idempotency: { claimKey, keptAnswer, completeKey },
      mcp: mcpOverHttp(this.#doors, operations, VERSION, this.#streams),
      channels: (name, request) => this.#receive(name, request),
      tracer,
      onAnswer: (operation, status, ms) => metering.answered(operation, status, ms),
      files: runtime.files,
      health: () => healths.health(),
      ready: async () => life.ready,
      metricsAuth: config.metricsAuth,
      metrics: async () => ({
        contentType: metering.registry.contentType,
        text: await metering.registry.metrics(),
      }),
    })
    const postMessage = operations.find((op) => op.name === 'post_message')
    if (postMessage === undefined) throw new Error('the operation post_message is missing')
    this.#sockets = openSockets(server.server, {
      hub: channel,
      postMessage,
      ...identity.sockets,
      context: (actor) =>
        this.context(actor, { requestId: newId(), signal: new AbortController().signal }),
      onError: (error) => metering.meter.trouble('socket', error),
      tracer,
    })
    this.#closeServer = closing(server)
    await server.listen({ host: config.host, port: config.port })
    const { address, port, family } = server.server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Null: no such channel or pack, or none that is written to. */
  #receive(name: string, request: Omit<ChannelRequest, 'now'>): Promise<ChannelAnswer> | null {
    const { pushChannels, packs, inbox, life } = this.#parts
    const channel = pushChannels.get(name)
    const pack = packs.receivers.get(name)
    if (channel?.receive === undefined && pack === undefined) return null
    if (!life.ready) throw notThereYet()
    const now = this.#options.now?.() ?? new Date(wallClock())
    return channel?.receive?.({ ...request, now }, inbox) ?? pack?.({ ...request, now }) ?? null
  }

  /** What an operation runs in. */
  context(actor: Actor, caller: Asking): Context {
    if (!this.#parts.life.ready) throw notThereYet()
    return {
      ...this.#reach(actor, 0),
      ...(this.stores.several ? { shards: this.#shards } : {}),
      actor,
      now: this.#options.now?.() ?? null,
      requestId: caller.requestId,
      traceparent: caller.traceparent ?? null,
      signal: () => caller.signal,
    }
  }

  #reach(actor: Actor, number: number): Pick<Context, 'db' | 'whole' | 'app'> {
    const whole = (this.stores.all[number] as Store).db
    const db = actor.userId === null ? whole : ownedBy(whole, actor.userId, actor.agentId)
    return { db, whole, app: this.#parts.services.all[number] as AppServices }
  }

  get #shards(): ContextShards {
    const { map, all } = this.stores
    return {
      count: all.length,
      ofUser: (userId) => map.ofBucket(bucketOf(userId)),
      within: ({ shards: _, ...ctx }, number) => {
        if (!this.#parts.life.shards.has(number))
          throw new Refusal('unavailable', `shard ${number} is not there yet; try again soon`)
        return { ...ctx, ...this.#reach(ctx.actor, number) }
      },
    }
  }

  /** Operations as functions of flat arguments, for callers in this process. */
  door(actor: Actor): Door {
    return openDoor(this.#doors, actor)
  }

  /** Appends an event as an operation would; for the library and for tests. */
  append(event: NewEvent): Promise<Appended> {
    return this.#parts.commits.append(event)
  }

  /** Keeps facts and fires what they make true. */
  takeSignals(signals: readonly NewSignal[], tx: Db | null = null): Promise<TakenSignal[]> {
    return this.#parts.commits.takeSignals(signals, tx)
  }

  /** Stop taking requests, finish or release what runs, close the store. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#stopped = true
    this.#sockets?.close()
    this.#streams.close()
    const { life, runtime, healths, commits, calls, fetcher, packs, identity } = this.#parts
    runtime.release()
    const watching = healths.all.map((health) => health.stop())
    const services = life.ready ? [this.engine.stop(), ...watching] : []
    await Promise.all([this.#closeServer?.(), ...services])
    await Promise.all([commits.idle(), calls.webhooks.close(), fetcher.close()])
    await Promise.all([runtime.close(), packs.close(), identity.close()])
    life.closing = true
    await Promise.all(this.stores.all.map((store) => store.close()))
    this.#parts.metering.close()
    await this.#parts.tracing.stop()
  }
}

function notThereYet(): Refusal {
  return new Refusal('unavailable', 'the database is not there yet; try again soon')
}

function ofShard(number: number, error: unknown): Error {
  return new Error(`shard ${number}: ${errorText(error)}`, { cause: error })
}
