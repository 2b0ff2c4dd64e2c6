/** The parts of a process, built in the order in which they need one another. */
import type { Logger } from 'pino'
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import type { AppServices } from '../api/contract.ts'
import type { PushChannel } from '../channels/channel.ts'
import { type WebhookRequest, Webhooks } from '../channels/webhook.ts'
import { WebSocketChannel } from '../channels/websocket.ts'
import type { Config } from '../config.ts'
import { newWebhookSecret } from '../core/calls/webhook.ts'
import { deliveryOf } from '../engine/delivery.ts'
import { Engine, type ExtraService } from '../engine/engine.ts'
import { LocalHints } from '../engine/hints.ts'
import { ChannelInbox } from '../engine/inbox.ts'
import { type Moments, SILENT } from '../engine/moments.ts'
import { SubscriptionsService } from '../engine/subscriptions.ts'
import { tryLink } from '../engine/try-link.ts'
import { openIdentity } from '../identity/identity.ts'
import { Health } from '../observe/health.ts'
import { createMeter } from '../observe/meter.ts'
import type { Tracing } from '../observe/tracing.ts'
import { checkedSources } from '../sources/checked.ts'
import { Fetcher, type FetchRequest } from '../sources/fetcher.ts'
import type { Source } from '../sources/source.ts'
import type { Db } from '../store/db/db.ts'
import type { Store } from '../store/db/open.ts'
import { keepSetting } from '../store/db/settings.ts'
import { backToPending, positionOf } from '../store/sessions/effects.ts'
import { alarmTrigger, alarmWakes } from '../triggers/alarm.ts'
import { intentTrigger } from '../triggers/intent.ts'
import { parkedTrigger } from '../triggers/parked.ts'
import { timerTrigger } from '../triggers/timer.ts'
import { workTrigger } from '../triggers/work.ts'
import { VERSION } from '../version.ts'
import { AgentRuntime } from './agent-runtime.ts'
import { SharedCommits } from './commits.ts'
import { type AppConfig, type OpenPacks, openPacks } from './packs.ts'

const DAY_MS = 86_400_000
/** How late somebody outside may hear of what happened. */
const SUBSCRIPTIONS_MS = 1_000
const CHANNEL_NAME = /^[a-z][a-z0-9_-]{0,31}$/
/** It has nothing of its own to look for. */
const INBOX_MS = 3_600_000

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
  /** Opened already, and closed by whoever opened it: several apps may share one. Else what `databaseUrl` names. */
  readonly store?: Store
  readonly moments?: Moments
  /** How long a key is believed without asking again; two seconds unless said. */
  readonly trustMs?: number
}

/** How far the app is in its life. */
export interface Life {
  /** The database is there and migrated. */
  ready: boolean
  /** The store is about to close: nothing may be started on it any more. */
  closing: boolean
}

export type Parts = Awaited<ReturnType<typeof openParts>>

export async function openParts(options: AppOptions, store: Store, tracing: Tracing) {
  const life: Life = { ready: false, closing: false }
  const base = openBase(options, store, tracing)
  const inbox = openInbox(
    base,
    () => runtime,
    (name) => pushChannels.get(name),
  )
  const packs = await plugPacks(options, base, inbox)
  const pushChannels = namedOnce([...packs.pushChannels, ...(options.channels ?? [])])
  const runtime = openRuntime(options, base, packs)
  const channel = openSocketChannel(base, life, () => engine)
  const engine = openEngine(options, { ...base, packs, runtime, channel, pushChannels, inbox })
  const services = servicesOf(options.config, { ...base, packs, runtime, pushChannels })
  const identity = openKeys(options, base, life)
  const health = openHealth(options.config, { ...base, channel, engine }, life)
  const pushed = { pushChannels, inbox }
  return { ...base, ...pushed, life, packs, runtime, channel, engine, services, identity, health }
}

/** What the others stand on. */
function openBase({ config, log }: AppOptions, store: Store, tracing: Tracing) {
  const { tracer } = tracing
  const policy = policyOf(config)
  const metering = createMeter(log, { content: config.logContent })
  const { meter } = metering
  const hints = new LocalHints()
  const commits = new SharedCommits({ store, policy, meter, hints, tracer })
  const calls = signedCalls(config)
  const fetcher = new Fetcher({ allowPrivate: config.allowPrivateWebhooks })
  return { store, tracing, tracer, policy, metering, meter, hints, commits, calls, fetcher }
}

type Base = ReturnType<typeof openBase>

function plugPacks(
  { config, now }: AppOptions,
  { store, meter, fetcher }: Base,
  inbox: ChannelInbox,
): Promise<OpenPacks> {
  const fetch = (request: FetchRequest) => fetcher.get(request)
  return openPacks(config, { store, meter, fetch, inbox, waits: now === undefined })
}

function openInbox(
  { store, meter, commits, hints }: Base,
  runtime: () => AgentRuntime,
  channel: (name: string) => PushChannel | undefined,
): ChannelInbox {
  return new ChannelInbox({
    db: store.commits,
    channel,
    append: (event, tx) => commits.append(event, tx),
    knowsAgent: (agentId, userId) => runtime().agents.knows(agentId, userId),
    changed: (topic, keys) => hints.hint(topic, keys),
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
  { store, calls, meter }: Base,
  packs: OpenPacks,
): AgentRuntime {
  return new AgentRuntime({
    config,
    store,
    agents,
    builtIn: packs.executors,
    work,
    webhooks: calls.webhooks,
    trouble: (where, error) => meter.trouble(where, error),
  })
}

function openSocketChannel(
  { store, meter, tracer }: Base,
  life: Life,
  engine: () => Engine,
): WebSocketChannel {
  const channel = new WebSocketChannel({
    record: (receipt) => engine().outbox.record(receipt),
    positionOf: (session, id) => positionOf(store.db, session, id),
    backToPending: (session, error) => {
      if (life.closing) return
      backToPending(store.commits, [session], error).then(
        (unheard) => {
          for (const { channel, waited_ms: durationMs, attempt_count: attempt, ...row } of unheard)
            meter.delivery(
              deliveryOf(row, { channel, result: 'failed', durationMs, error }, { attempt }),
            )
        },
        (trouble) => meter.trouble('outbox', trouble),
      )
    },
    wake: (key) => engine().hints.deliver('outbox', [key]),
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

function openEngine(
  { config, sources: own = [], moments }: AppOptions,
  parts: Base & {
    packs: OpenPacks
    runtime: AgentRuntime
    channel: WebSocketChannel
    pushChannels: ReadonlyMap<string, PushChannel>
    inbox: ChannelInbox
  },
): Engine {
  const { store, hints, policy, meter, tracer, packs, runtime, fetcher, commits, calls } = parts
  return new Engine({
    store,
    hints,
    agents: runtime.agents,
    more: [
      ...runtime.services,
      ...packs.services,
      ...subscriptionsOf(config, parts),
      { service: parts.inbox, pollMs: INBOX_MS },
    ],
    triggers: [
      timerTrigger,
      alarmTrigger,
      intentTrigger,
      workTrigger,
      parkedTrigger(config.timezone),
    ],
    channels: [parts.channel],
    pushChannels: [...parts.pushChannels.values()],
    wakes: wakesOf(config, calls.webhooks),
    sources: {
      sources: checkedSources([...packs.sources, ...own], config.allowPrivateWebhooks),
      fetch: (request) => fetcher.get(request),
      take: (signals) => commits.takeSignals(signals),
    },
    policy,
    leaseMs: config.leaseMs,
    timerPollMs: config.timerPollIntervalMs,
    effectPollMs: config.effectPollIntervalMs,
    retention: {
      checkpointsKept: config.checkpointsKept,
      keepMs: config.keepDays === null ? null : config.keepDays * DAY_MS,
      archive: runtime.archive,
    },
    sweep: runtime.sweep,
    meter,
    tracer,
    services: new Set<string>(config.services),
    ...(moments === undefined ? {} : { moments }),
  })
}

/** What operations may ask of all this. */
function servicesOf(
  config: Config,
  parts: Base & {
    packs: OpenPacks
    runtime: AgentRuntime
    pushChannels: ReadonlyMap<string, PushChannel>
  },
): AppServices {
  const { commits, hints, policy, meter, packs, runtime, pushChannels, calls } = parts
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
      return tryLink(parts.store.commits, channel, link, signal)
    },
    wakesByUrl: config.wakeUrl !== null,
    setAlarm: (draft, tx) => commits.setAlarm(draft, tx),
    takeSignals: (signals, tx) => commits.takeSignals(signals, tx),
    changed: (topic, keys) => hints.hint(topic, keys),
    heldBack: (what) => meter.heldBack(what),
    policy,
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

function openHealth(
  { services }: Config,
  parts: Base & { channel: WebSocketChannel; engine: Engine },
  life: Life,
): Health {
  const { store, metering, meter, channel, engine } = parts
  const health = new Health({
    store,
    onError: (error) => meter.trouble('watch', error),
    ready: () => life.ready,
    version: VERSION,
    services,
  })
  metering.watch({
    pools: () => store.pools(),
    running: () => engine.turns.depth,
    sockets: () => channel.sockets,
    dueLagMs: () => health.dueLagMs(),
    outbox: () => health.outbox(),
    eventsWaiting: () => health.eventsWaiting(),
  })
  return health
}

/** Outgoing calls, signed with a secret that is kept in the database unless it was given. */
function signedCalls({ webhookSecret, allowPrivateWebhooks }: Config) {
  let secret = webhookSecret
  return {
    webhooks: new Webhooks({
      secrets: () => (secret === null ? [] : [secret]),
      allowPrivate: allowPrivateWebhooks,
    }),
    async start(db: Db): Promise<void> {
      secret ??= await keepSetting(db, 'webhook_secret', newWebhookSecret())
    },
  }
}

function wakesOf({ wakeUrl, wakeToken }: Config, webhooks: Webhooks) {
  if (wakeUrl === null) return null
  return {
    source: alarmWakes({ url: wakeUrl, bearer: wakeToken }),
    call: (request: WebhookRequest, signal: AbortSignal) => webhooks.call(request, signal),
  }
}

/** They are told of what happens even where nothing happens by itself: people still write. */
function subscriptionsOf(config: Config, { store, calls, meter, tracer }: Base): ExtraService[] {
  if (!config.services.includes('clock')) return []
  const service = new SubscriptionsService({
    call: (request, signal) => calls.webhooks.call(request, signal),
    ...{ claims: store.engine, commits: store.commits, leaseMs: config.leaseMs },
    ...{ meter, tracer, moments: SILENT, enabled: true },
  })
  return [{ service, pollMs: SUBSCRIPTIONS_MS }]
}

function policyOf(config: Config) {
  const { enabled, consecutiveMax, cooldownMs } = config.autonomy
  const { alarmMaxFailures: maxFailures, sessionBacklog: backlogMax } = config
  return {
    autonomy: enabled,
    maxConsecutive: consecutiveMax,
    cooldownMs,
    maxFailures,
    backlogMax,
    timezone: config.timezone,
  }
}
