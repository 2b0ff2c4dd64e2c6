/**
 * A pack: one possible use of Wakeful, made of the seams that anybody has. It brings what it likes of the things below;
 * the kernel knows none of them, and only the list in `packs.ts` plugs them in.
 */
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import type { Operation } from '../api/contract.ts'
import type { Fetched, FetchRequest } from '../calls/fetcher.ts'
import type { Config } from '../config.ts'
import type { Reader } from '../core/variables.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import type { TakenSignal } from '../features/intents/signal-rows.ts'
import type { Source } from '../features/intents/source.ts'
import type { ChannelAnswer, ChannelRequest, Inbox, PushChannel } from '../kernel/channel.ts'
import type { ExtraService } from '../kernel/engine.ts'
import type { Meter } from '../kernel/meter.ts'
import type { Agents } from '../kernel/turns-options.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'

/** `Sees`: its own settings, and those of other packs that it uses. */
export interface Pack<S extends object = object, Sees extends object = S> {
  readonly name: string
  /** Reads its own variables, to become part of the settings; what is wrong is told with all else that is. */
  readSettings?(read: Reader): S
  readonly operations?: readonly Operation[]
  /** Loads what only those need who use it. */
  open?(config: Config & Sees, app: PackApp): Promise<OpenPack>
}

/** What a pack may ask of the app it is part of. Nothing is there to be asked before the services run. */
export interface PackApp {
  /** The first shard's, for what belongs to nobody in particular. */
  readonly store: Store
  readonly stores: PerShard<Store>
  /** Takes what people write on a channel. */
  readonly inbox: Inbox
  readonly meter: Meter
  /** Keeps facts and fires what they make true; kept when it answers. */
  readonly takeSignals: (signals: readonly NewSignal[]) => Promise<readonly TakenSignal[]>
  /** Reads somebody else's server: checked addresses, bounded in time and bytes. */
  readonly fetch: (request: FetchRequest) => Promise<Fetched>
  /** What runs turns here. */
  readonly agents: Agents
  /** A test clock asks, and does not wait for something to happen. */
  readonly waits: boolean
}

export type Receive = (request: ChannelRequest) => Promise<ChannelAnswer>

export interface OpenPack {
  /** By agent_type; an app's own agent or executor of the same name takes the place of one. */
  readonly executors?: ReadonlyMap<string, Executor>
  /** Stands around every agent, those elsewhere included: sees what it answers before anything of it is written. */
  readonly around?: (agent: Agent) => Agent
  readonly sources?: readonly Source[]
  readonly pushChannels?: readonly PushChannel[]
  readonly services?: readonly ExtraService[]
  /** Answers what other servers post to `/v1/channels/<name of the pack>`. */
  readonly receive?: Receive
  /** Answers what other servers post to `/v1/hooks/<name>`. */
  readonly hooks?: (name: string, request: ChannelRequest) => Promise<ChannelAnswer>
  /** For its own operations, which find it as `ctx.kernel.app.packs.own[name]`. */
  readonly own?: unknown
  close?(): Promise<void>
}
