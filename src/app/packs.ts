/** The packages of this server. A new one is a folder in packages/ and a line in this list. */

import { discordPack } from '../../packages/channels/discord/src/pack.ts'
import { emailPack } from '../../packages/channels/email/src/pack.ts'
import { answerWord } from '../../packages/channels/hub/src/chat-commands.ts'
import { ChannelInbox } from '../../packages/channels/hub/src/inbox.ts'
import { channelsPack } from '../../packages/channels/hub/src/pack.ts'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import { slackPack } from '../../packages/channels/slack/src/pack.ts'
import { telegramPack } from '../../packages/channels/telegram/src/pack.ts'
import { webPushPack } from '../../packages/channels/web-push/src/pack.ts'
import { whatsappPack } from '../../packages/channels/whatsapp/src/pack.ts'
import { ConditionsService } from '../../packages/conditions/src/service.ts'
import { doctorPack } from '../../packages/doctor/src/pack.ts'
import { executorsPack } from '../../packages/executors/src/pack.ts'
import { forecastPack } from '../../packages/forecast/src/pack.ts'
import { hooksPack } from '../../packages/hooks/src/pack.ts'
import { langgraphCronsPack } from '../../packages/langgraph/src/crons/pack.ts'
import { mcpEventsPack } from '../../packages/mcp-events/src/pack.ts'
import { backingPack } from '../../packages/promise-check/src/pack.ts'
import { checkedSources } from '../../packages/sources/src/checked.ts'
import { sourcesPack } from '../../packages/sources/src/pack.ts'
import { SourcesService } from '../../packages/sources/src/service.ts'
import { subscriptionsPack } from '../../packages/subscriptions/src/pack.ts'
import { SubscriptionsService } from '../../packages/subscriptions/src/service.ts'
import { openTracing, type Tracing } from '../../packages/tracing/src/tracing.ts'
import type { Executor } from '../agents/executor.ts'
import type { Operation } from '../api/contract.ts'
import { type Config, readVariables } from '../config.ts'
import type { Reader } from '../core/variables.ts'
import type { Condition } from '../features/intents/own.ts'
import type { ExtraService } from '../kernel/engine.ts'
import { SILENT } from '../kernel/service.ts'
import type { Store } from '../store/open.ts'
import type { App } from './app.ts'
import type { OpenPack, Pack, PackApp, Receive } from './pack.ts'

export { answerWord, ChannelInbox, openTracing, type Tracing }

export const PACKS = [
  channelsPack,
  executorsPack,
  langgraphCronsPack,
  mcpEventsPack,
  forecastPack,
  hooksPack,
  backingPack,
  sourcesPack,
  subscriptionsPack,
  doctorPack,
  telegramPack,
  slackPack,
  emailPack,
  whatsappPack,
  discordPack,
  webPushPack,
] as const

type SettingsOf<P> = P extends { readSettings(read: Reader): infer S } ? S : unknown
type Merged<P> = (P extends unknown ? (each: SettingsOf<P>) => void : never) extends (
  all: infer S,
) => void
  ? S
  : never

/** The settings of the server, those of its packs included. */
export type AppConfig = Config & Merged<(typeof PACKS)[number]>

/** How late a subscriber may hear of what happened. */
const SUBSCRIPTIONS_MS = 1_000
const SHARD_SUBSCRIPTIONS_MS = 2_000
/** When the next source is due is known; this finds what a dead process was asking. */
const SOURCES_MS = 5_000
/** When the next condition is due is known, too. */
const CONDITIONS_MS = 1_000
/** How often pushes that another process set or released are looked for. */
const PUSHES_MS = 1_000

/** As its interface says it, for those who do not care which pack it is. */
const packs: readonly Pack[] = PACKS

export function readConfig(env: NodeJS.ProcessEnv): AppConfig {
  return readVariables(env, (read) =>
    Object.assign({}, ...packs.map((pack) => pack.readSettings?.(read))),
  )
}

export const packOperations: readonly Operation[] = packs.flatMap((pack) => pack.operations ?? [])

/** The services that packages run on a shard. */
function shardServices(app: App, store: Store): ExtraService[] {
  const { services } = app.config
  return [
    ...(services.includes('clock') ? clockServices(app, store) : []),
    ...(services.includes('outbox') && app.channels.size > 0 ? [pushService(app, store)] : []),
  ]
}

function pushService({ config, meter, options, channels }: App, store: Store): ExtraService {
  const service = new PushesService({
    ...{ claims: store.engine, commits: store.commits, leaseMs: config.leaseMs, meter },
    ...{ moments: options.moments ?? SILENT, channels: [...channels.values()] },
  })
  return { service, pollMs: PUSHES_MS, topic: 'outbox' }
}

function clockServices(app: App, store: Store): ExtraService[] {
  const { config, stores, meter, tracer, packs, options } = app
  const { leaseMs } = config
  // Subscribers hear of messages even while autonomy is off: people still write.
  const subscriptions = new SubscriptionsService({
    call: (request, signal) => app.webhooks.call(request, signal),
    ...{ claims: store.engine, commits: store.commits, leaseMs, meter, tracer },
    ...{ moments: SILENT, enabled: true },
  })
  const own = options.conditions ?? new Map<string, Condition>()
  const conditions: ExtraService[] =
    own.size === 0
      ? []
      : [
          {
            service: new ConditionsService({
              ...{ conditions: own, db: store.engine, leaseMs, meter },
              enabled: config.autonomy.enabled,
              seen: () =>
                app.kernels.all.find((kernel) => kernel.store === store)?.changed('clock'),
            }),
            pollMs: CONDITIONS_MS,
            topic: 'clock',
          },
        ]
  const pollMs = stores.several ? SHARD_SUBSCRIPTIONS_MS : SUBSCRIPTIONS_MS
  const sources = [...packs.sources, ...(options.sources ?? [])]
  const asked = checkedSources(sources, config.allowPrivateWebhooks)
  if (store !== stores.home || asked.length === 0)
    return [...conditions, { service: subscriptions, pollMs }]
  const polls = new SourcesService({
    sources: asked,
    fetch: (request) => app.fetch(request),
    take: (signals) => app.takeSignals(signals),
    ...{ db: store.engine, leaseMs, meter, moments: options.moments ?? SILENT },
    enabled: config.autonomy.enabled,
  })
  return [...conditions, { service: polls, pollMs: SOURCES_MS }, { service: subscriptions, pollMs }]
}

export type OpenPacks = Required<Omit<OpenPack, 'own' | 'receive' | 'hooks'>> & {
  readonly hooks: OpenPack['hooks']
  /** By the name of the pack. */
  readonly receivers: ReadonlyMap<string, Receive>
  /** By the name of the pack. */
  readonly own: Readonly<Record<string, unknown>>
  readonly shardServices: typeof shardServices
}

export async function openPacks(config: AppConfig, app: PackApp): Promise<OpenPacks> {
  const opened: [string, OpenPack][] = await Promise.all(
    packs.map(async (pack) => [pack.name, (await pack.open?.(config, app)) ?? {}]),
  )
  const all = opened.map(([, pack]) => pack)
  return {
    executors: new Map<string, Executor>(all.flatMap((pack) => [...(pack.executors ?? [])])),
    around: (agent) => all.reduce((inner, pack) => pack.around?.(inner) ?? inner, agent),
    sources: all.flatMap((pack) => pack.sources ?? []),
    pushChannels: all.flatMap((pack) => pack.pushChannels ?? []),
    services: all.flatMap((pack) => pack.services ?? []),
    receivers: new Map(
      opened.flatMap(([name, { receive }]) => (receive === undefined ? [] : [[name, receive]])),
    ),
    hooks: all.find((pack) => pack.hooks !== undefined)?.hooks,
    shardServices,
    own: Object.fromEntries(opened.map(([name, { own }]) => [name, own])),
    async close() {
      await Promise.all(all.map((pack) => pack.close?.()))
    },
  }
}
