/** Who runs turns, put together at start: the app's agents, executors of work, and agents elsewhere. */
import type { Agent } from '../agents/agent.ts'
import type { Executor } from '../agents/executor.ts'
import { withNotices } from '../agents/notice.ts'
import { AgentRegistry } from '../agents/registry.ts'
import { remoteAgent } from '../agents/remote.ts'
import type { AppServices } from '../api/contract.ts'
import type { Webhooks } from '../calls/webhook.ts'
import { wallClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { newId } from '../core/ids.ts'
import { forgetRemoved, readAgents } from '../features/identity/agent-rows.ts'
import { knownFiles } from '../features/work/file-rows.ts'
import { type ArchivePlace, openArchive } from '../files/archive.ts'
import type { FileKeeper } from '../files/keeper.ts'
import { openFiles } from '../files/open.ts'
import { fileSweep } from '../files/sweep.ts'
import type { Store } from '../store/open.ts'
import { keepSetting } from '../store/settings.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import { WorkRuntime } from './work-runtime.ts'

const AGENTS_POLL_MS = 1_000

export interface AgentRuntimeOptions {
  readonly config: Config
  readonly stores: PerShard<Store>
  readonly agents: ReadonlyMap<string, Agent>
  /** Executors that are there anyway, unless the app has somebody else of that name. */
  readonly builtIn: ReadonlyMap<string, Executor>
  /** The app's own executors. */
  readonly work: ReadonlyMap<string, Executor>
  /** What packs put around agents; the app's own have it already. */
  readonly around: (agent: Agent) => Agent
  readonly webhooks: Webhooks
  readonly trouble: (where: string, error: unknown) => void
}

export class AgentRuntime {
  readonly agents: AgentRegistry
  readonly files: FileKeeper
  /** Receives what retention is about to remove; null where nothing does. */
  readonly archive: ArchivePlace | null
  /** Removes files that no row names. */
  readonly sweep: () => Promise<number>
  readonly #options: AgentRuntimeOptions
  readonly #work: WorkRuntime
  /** Names the database beside other installations that share a place for files. */
  #installation = ''

  constructor(options: AgentRuntimeOptions) {
    this.#options = options
    const { config, stores, agents, around, webhooks, trouble } = options
    const timeOfDay = () => new Date(wallClock())
    this.files = openFiles(config.files, () => this.#installation, timeOfDay)
    this.archive =
      config.archive === null
        ? null
        : openArchive(config.archive, () => this.#installation, timeOfDay)
    this.sweep = fileSweep({
      files: this.files,
      known: async (keys) => {
        const known = await Promise.all(stores.all.map(({ db }) => knownFiles(db, keys)))
        return new Set(known.flatMap((each) => [...each]))
      },
      now: timeOfDay,
    })
    this.#work = new WorkRuntime({
      stores,
      agents,
      executors: executorsOf(options),
      files: this.files,
      trouble,
    })
    this.agents = new AgentRegistry({
      own: this.#work.agents,
      hidden: new Set(this.#work.forOperations.types),
      read: () => readAgents(stores.home.engine),
      remote: (row) =>
        withNotices(around(remoteAgent(row, (call, signal) => webhooks.ask(call, signal)))),
    })
  }

  /** What the engine runs beside its own services. */
  get services() {
    return [{ service: this.agents, pollMs: AGENTS_POLL_MS }]
  }

  /** What operations may ask about those who run turns. */
  get forOperations(): Pick<AppServices, 'work' | 'remoteAgents'> {
    const { agents, config } = this.#options
    return {
      work: this.#work.forOperations,
      remoteAgents: {
        own: [...agents].map(([id, { kind, timeoutMs }]) => ({ id, kind, timeoutMs })),
        allowPrivate: config.allowPrivateWebhooks,
        changed: () => this.agents.refresh(),
      },
    }
  }

  /** Once the database is there. */
  async start(): Promise<void> {
    const { stores, agents } = this.#options
    const { db } = stores.home
    this.#installation = await keepSetting(db, 'installation', newId())
    await forgetRemoved(db, [...agents.keys()])
    await this.agents.refresh()
  }

  /** Callers that wait for an output get what there is. */
  release(): void {
    this.#work.release()
  }

  async close(): Promise<void> {
    await this.#work.idle()
    await this.files.close()
    await this.archive?.close()
  }
}

function executorsOf({
  agents,
  builtIn,
  work,
}: AgentRuntimeOptions): ReadonlyMap<string, Executor> {
  return new Map([...[...builtIn].filter(([type]) => !agents.has(type)), ...work])
}
