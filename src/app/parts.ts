/** The parts of a process, built in the order in which they need one another. */
import type { Logger } from 'pino'
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import type { AppServices } from '../api/contract.ts'
import { Fetcher, type FetchRequest } from '../calls/fetcher.ts'
import type { Config } from '../config.ts'
import { alarmTrigger } from '../features/alarms/trigger.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import type { Source } from '../features/intents/source.ts'
import { intentTrigger } from '../features/intents/trigger.ts'
import { deferredTrigger } from '../features/people/deferred-trigger.ts'
import { questionTrigger } from '../features/questions/trigger.ts'
import { backToPending, positionOf } from '../features/sessions/effect-rows.ts'
import { timerTrigger } from '../features/timers/trigger.ts'
import { workTrigger } from '../features/work/trigger.ts'
import { openIdentity } from '../http/authentication/identity.ts'
import { Budgets } from '../kernel/budgets.ts'
import type { PushChannel } from '../kernel/channel.ts'
import { deliveryOf } from '../kernel/delivery.ts'
import { Engine, type EngineOptions, Engines } from '../kernel/engine.ts'
import { LocalHints } from '../kernel/hints.ts'
import { ChannelInbox } from '../kernel/inbox.ts'
import { STOPS_MS, Stops } from '../kernel/stops.ts'
import type { TestSignals } from '../kernel/test-signals.ts'
import { tryLink } from '../kernel/try-link.ts'
import { WebSocketChannel } from '../kernel/websocket.ts'
import { createMeter } from '../observe/meter.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { AgentRuntime } from './agent-runtime.ts'
import { WriteBatcher, WriteBatchers } from './commits.ts'
import { openHealth } from './health.ts'
import { signedCalls, wakesOf } from './outgoing.ts'
import type { PackApp } from './pack.ts'
import { type AppConfig, type OpenPacks, openPacks, packServices } from './packs.ts'
import { openSandbox } from './sandbox.ts'
import { mapService } from './shards.ts'

const DAY_MS = 86_400_000
const CHANNEL_NAME = /^[a-z][a-z0-9_-]{0,31}$/
/** It has nothing of its own to look for. */
const INBOX_MS = 3_600_000
/**
 * So long the services of a shard may sleep where nothing is due: with a few loops, less than five transactions a second. Those of the
 * embedded store, too: looking four times a second took a tenth of a core, on somebody's own machine.
 */
const IDLE_MS = 4_000

export interface AppOptions {
  readonly config: AppConfig
  readonly agents: ReadonlyMap<string, Agent>
  /** Where facts are pulled from, beside those of the environment. */
  readonly sources?: readonly Source[]
  /** Executors of work, by agent_type. */
  readonly work?: ReadonlyMap<string, Executor>
  /** Ways to reach people, beside those of the environment. */
  readonly channels?: readonly PushChannel[]
  readonly log: Logger
  /** A test clock's instant; absent in production. */
  readonly now?: () => Date
  /** Opened and closed by the caller: several apps may share one. Else what `databaseUrl` names. */
  readonly store?: Store
  readonly moments?: TestSignals
  /** How long a key is believed without asking again; two seconds by default. */
  readonly trustMs?: number
}

/** How far the app is in its life. */
export interface Life {
  /** The database is there and migrated: of several shards the first. */
  ready: boolean
  /** The shards that are there and migrated. */
  readonly shards: Set<number>
  /** The store is about to close: nothing may be started on it any more. */
  closing: boolean
}

export type Parts = Awaited<ReturnType<typeof openParts>>

export async function openParts(options: AppOptions, stores: PerShard<Store>, tracing: Tracing) {
  const life: Life = { ready: false, shards: new Set(), closing: false }
  const base = openBase(options, stores, tracing)
  const inbox = openInbox(
    base,
    () => runtime,
    (name) => pushChannels.get(name),
  )
  const stage = (store: Store) => openSandbox({ ...base, store, app: services.home })
  const packs = await plugPacks(options, base, {
    ...{ inbox, stage },
    agents: () => runtime.agents,
  })
  const pushChannels = namedOnce([...packs.pushChannels, ...(options.channels ?? [])])
  const runtime = openRuntime(options, base, packs)
  const channel = openSocketChannel(base, life, () => engine)
  const engine = openEngines(options, { ...base, packs, runtime, channel, pushChannels, inbox })
  const services = stores.each((_, number) =>
    servicesOf(options.config, { ...base, packs, runtime, pushChannels }, number),
  )
  const identity = openKeys(options, base, life)
  const healths = openHealth(options.config, { ...base, channel, engine }, life)
  const pushed = { pushChannels, inbox }
  return { ...base, ...pushed, life, packs, runtime, channel, engine, services, identity, healths }
}

/** What the others stand on. */
function openBase({ config, log }: AppOptions, stores: PerShard<Store>, tracing: Tracing) {
  const { tracer } = tracing
  const policy = policyOf(config)
  const metering = createMeter(log, { content: config.logContent })
  const { meter } = metering
  const store = stores.home
  const hints = stores.each(() => new LocalHints())
  const commits = new WriteBatchers(
    stores.each((store, number) => {
      const own = hints.all[number] as LocalHints
      return new WriteBatcher({ store, policy, meter, hints: own, tracer })
    }),
  )
  const budgets = stores.each(
    ({ commits }, number) =>
      new Budgets(commits, config.limits, () => hints.all[number]?.hint('turns')),
  )
  const stops = new Stops(
    store.engine,
    stores.all.map(({ engine }) => engine),
  )
  hints.home.on('stops', () => stops.onFree?.())
  const calls = signedCalls(config)
  const fetcher = new Fetcher({ allowPrivate: config.allowPrivateWebhooks })
  const limited = new Map<string, number>()
  const counted = { metering, meter, budgets, stops, limited }
  return { stores, store, tracing, tracer, policy, ...counted, hints, commits, calls, fetcher }
}

type Base = ReturnType<typeof openBase>

function plugPacks(
  { config, now }: AppOptions,
  { store, stores, meter, fetcher, commits }: Base,
  parts: Pick<PackApp, 'inbox' | 'stage' | 'agents'>,
): Promise<OpenPacks> {
  const fetch = (request: FetchRequest) => fetcher.get(request)
  const takeSignals = (signals: readonly NewSignal[]) => commits.takeSignals(signals)
  const waits = now === undefined
  return openPacks(config, { store, stores, meter, fetch, takeSignals, waits, ...parts })
}

function openInbox(
  { stores, meter, commits, hints }: Base,
  runtime: () => AgentRuntime,
  channel: (name: string) => PushChannel | undefined,
): ChannelInbox {
  return new ChannelInbox({
    dbs: stores.each((store) => store.commits),
    channel,
    append: (event, tx) => commits.shards.home.append(event, tx),
    knowsAgent: (agentId, userId) => runtime().agents.knows(agentId, userId),
    changed: (topic, bucket, keys) => hints.ofBucket(bucket).hint(topic, keys),
    trouble: (error) => meter.trouble('inbox', error),
  })
}

/** Addresses begin with the name of their channel: two of one name could not be told apart. */
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

function openRuntime(
  { config, agents, work = new Map() }: AppOptions,
  { stores, calls, meter }: Base,
  packs: OpenPacks,
): AgentRuntime {
  return new AgentRuntime({
    config,
    stores,
    agents: new Map([...agents].map(([id, agent]) => [id, packs.around(agent)])),
    around: packs.around,
    builtIn: packs.executors,
    work,
    webhooks: calls.webhooks,
    trouble: (where, error) => meter.trouble(where, error),
  })
}

function openSocketChannel(
  { stores, meter, tracer }: Base,
  life: Life,
  engine: () => Engines,
): WebSocketChannel {
  const engineOf = (bucket: number) => engine().shards.ofBucket(bucket)
  const channel = new WebSocketChannel({
    // Also while a shard is split: a rejected promise, not an exception at the sender.
    record: async (receipt) => engineOf(receipt.bucket).outbox.record(receipt),
    positionOf: async (session, id) => positionOf(stores.ofBucket(session.bucket).db, session, id),
    backToPending: async (session, error) => {
      if (life.closing) return
      const giveBack = async () =>
        backToPending(stores.ofBucket(session.bucket).commits, [session], error)
      await giveBack().then(
        (unheard) => {
          for (const { channel, waited_ms: durationMs, attempt_count: attempt, ...row } of unheard)
            meter.delivery(
              deliveryOf(row, { channel, result: 'failed', durationMs, error }, { attempt }),
            )
        },
        (trouble) => meter.trouble('outbox', trouble),
      )
    },
    wake: (key) => {
      for (const { hints } of engine().shards.all) hints.deliver('outbox', [key])
    },
    arrived: ({ row, durationMs, traceparent }) =>
      meter.delivery(
        deliveryOf(
          row,
          { channel: channel.name, result: 'acknowledged', durationMs, error: null },
          { traceparent },
        ),
      ),
    tracer,
  })
  return channel
}

type EngineParts = Base & {
  packs: OpenPacks
  runtime: AgentRuntime
  channel: WebSocketChannel
  pushChannels: ReadonlyMap<string, PushChannel>
  inbox: ChannelInbox
}

function openEngines(options: AppOptions, parts: EngineParts): Engines {
  return new Engines(
    parts.stores.each((store, number) => new Engine(engineOptions(options, parts, store, number))),
  )
}

/** What belongs to nobody in particular (agents, sources, what packs run, files) is seen to by the first shard's. */
function engineOptions(
  { config, sources = [], moments }: AppOptions,
  parts: EngineParts,
  store: Store,
  number: number,
): EngineOptions {
  const { stores, policy, meter, tracer, packs, runtime, calls } = parts
  const { map, several } = stores
  const home = number === 0
  const follows = several ? [mapService(stores)] : []
  const holds = (bucket: number) => map.holds(number, bucket)
  return {
    store,
    hints: parts.hints.all[number] as LocalHints,
    agents: runtime.agents,
    more: [
      ...(home ? [{ service: parts.stops, pollMs: STOPS_MS }] : []),
      ...(home ? [...runtime.services, ...packs.services, ...follows] : []),
      ...packServices({ config, packs, sources, moments }, parts, store),
      ...(home ? [{ service: parts.inbox, pollMs: INBOX_MS }] : []),
    ],
    triggers: [
      timerTrigger,
      alarmTrigger,
      intentTrigger,
      workTrigger,
      deferredTrigger(config.timezone),
      questionTrigger,
    ],
    channels: [parts.channel],
    pushChannels: [...parts.pushChannels.values()],
    wakes: wakesOf(config, calls.webhooks),
    policy,
    budgets: parts.budgets.all[number] as Budgets,
    stops: parts.stops,
    limited: parts.limited,
    leaseMs: config.leaseMs,
    timerPollMs: config.timerPollIntervalMs,
    effectPollMs: config.effectPollIntervalMs,
    retention: {
      checkpointsKept: config.checkpointsKept,
      keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
      archive: runtime.archive,
    },
    ...(home ? { sweep: runtime.sweep } : {}),
    meter,
    tracer,
    services: new Set<string>(config.services),
    ...(moments === undefined ? {} : { moments }),
    ...(several ? { holds } : {}),
    ...(several || store.kind === 'pglite' ? { idleMs: IDLE_MS } : {}),
  }
}

/** What operations may ask of all this. */
function servicesOf(
  config: Config,
  parts: Base & {
    packs: OpenPacks
    runtime: AgentRuntime
    pushChannels: ReadonlyMap<string, PushChannel>
  },
  number: number,
): AppServices {
  const { policy, meter, packs, runtime, pushChannels, calls } = parts
  const commits = parts.commits.shards.all[number] as WriteBatcher
  const hints = parts.hints.all[number] as LocalHints
  return {
    append: (event, tx) => commits.append(event, tx),
    knowsAgent: (agentId, userId) => runtime.agents.knows(agentId, userId),
    get agentIds() {
      return runtime.agents.names
    },
    ...runtime.forOperations,
    packs: packs.own,
    callbacks: {
      allowPrivate: config.allowPrivateWebhooks,
      ask: (question, signal) => calls.webhooks.ask(question, signal),
    },
    channels: pushChannels,
    tryLink: (link, signal) => {
      const channel = pushChannels.get(link.channel)
      if (channel === undefined) throw new Error(`there is no channel ${link.channel} here`)
      return tryLink(parts.stores.ofBucket(link.bucket).commits, channel, link, signal)
    },
    wakesByUrl: config.wakeUrl !== null,
    setAlarm: (draft, tx) => commits.setAlarm(draft, tx),
    takeSignals: (signals, tx) => parts.commits.takeSignals(signals, tx, commits),
    changed: (topic, keys) => hints.hint(topic, keys),
    heldBack: (what) => meter.heldBack(what),
    policy,
    limits: parts.budgets.all[number] as Budgets,
    isStopped: (session) => parts.stops.holds(session),
  }
}

function openKeys({ config, trustMs, now }: AppOptions, { store, meter }: Base, life: Life) {
  return openIdentity({
    config,
    db: store.db,
    ready: () => life.ready,
    trustMs,
    now,
    onError: (error) => meter.trouble('keys', error),
  })
}

function policyOf(config: Config) {
  const { enabled, consecutiveMax, cooldownMs } = config.autonomy
  const { alarmMaxFailures: maxFailures, sessionBacklog: backlogMax } = config
  return {
    autonomy: enabled,
    maxConsecutive: consecutiveMax,
    cooldownMs,
    maxFailures,
    pendingMax: config.limits.pendingMax,
    backlogMax,
    timezone: config.timezone,
  }
}
