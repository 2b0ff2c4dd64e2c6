/** What runs turns and work in this process: agents, executors, agents elsewhere, and the files of runs. */
import type { Agent } from '../agents/agent.ts'
import { type Executor, executorAgent } from '../agents/executor.ts'
import { withNotices } from '../agents/messages.ts'
import { AgentRegistry } from '../agents/registry.ts'
import { remoteAgent } from '../agents/remote.ts'
import { wallClock } from '../clock.ts'
import { newId } from '../core/ids.ts'
import { KEY_PART, KEY_PART_FORM } from '../core/session.ts'
import { forgetRemoved, readAgents } from '../features/identity/agent-rows.ts'
import { workPrefix } from '../features/work/file.ts'
import { knownFiles } from '../features/work/rows.ts'
import { OutputWaits } from '../features/work/run-operations.ts'
import { type Progress, writeProgress } from '../features/work/slot-rows.ts'
import { type ArchivePlace, openArchive } from '../files/archive.ts'
import type { FileKeeper } from '../files/keeper.ts'
import { openFiles } from '../files/open.ts'
import { fileSweep } from '../files/sweep.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Store } from '../store/open.ts'
import { keepSetting } from '../store/settings.ts'
import type { PerShard } from '../store/shards/ranges.ts'
import type { App } from './app.ts'

const PROGRESS_MAX = 500
const PROGRESS_QUEUE_MAX = 20_000

/** What operations on work need. */
export interface WorkServices {
  /** The executors of this process. */
  readonly types: readonly string[]
  /** Why an executor cannot run here, and what to set; null if it can. */
  missing(type: string): string | null
  /** What the executor refuses about these parameters. */
  refuses(type: string, parameters: Readonly<Record<string, unknown>>): readonly string[]
  /** The database that holds the rows of this bucket. */
  dbOf(bucket: number): Db
  /** Resolves when the output has ended, the time is up, or the caller is gone. Never call it within a transaction. */
  ended(
    output: { readonly bucket: number; readonly id: string },
    ms: number,
    signal: AbortSignal,
  ): Promise<void>
  /** Deletes the files of a work whose row is deleted. */
  dropFiles(bucket: number, workId: string): void
}

export class Runtime {
  readonly agents: AgentRegistry
  readonly files: FileKeeper
  /** Receives what retention is about to remove; null if nothing does. */
  readonly archive: ArchivePlace | null
  /** Removes files that no row names. */
  readonly sweep: () => Promise<number>
  readonly work: WorkServices
  /** The agents of this process. */
  readonly own: readonly {
    readonly id: string
    readonly kind: string
    readonly timeoutMs: number
  }[]
  readonly #app: App
  readonly #waits: PerShard<OutputWaits>
  readonly #runners: WorkRunners
  /** Tells installations apart that share a place for files. */
  #installation = ''

  constructor(app: App) {
    this.#app = app
    const { config, stores, packs, options, meter } = app
    const now = () => new Date(wallClock())
    const installation = () => this.#installation
    this.files = openFiles(config.files, installation, now)
    this.archive = config.archive === null ? null : openArchive(config.archive, installation, now)
    this.sweep = fileSweep({
      files: this.files,
      known: async (keys) => {
        const known = await Promise.all(stores.all.map(({ db }) => knownFiles(db, keys)))
        return new Set(known.flatMap((each) => [...each]))
      },
      now,
    })
    this.#waits = stores.each(
      ({ db }) => new OutputWaits(db, (error) => meter.trouble('work', error)),
    )
    const agents = new Map([...options.agents].map(([id, agent]) => [id, packs.around(agent)]))
    this.own = [...agents].map(([id, { kind, timeoutMs }]) => ({ id, kind, timeoutMs }))
    // An application's agent or executor replaces a built-in executor of the same name.
    const builtIn = [...packs.executors].filter(([type]) => !agents.has(type))
    const executors = new Map([...builtIn, ...(options.work ?? [])])
    this.work = this.#workServices(executors)
    const trouble = (where: string, error: unknown) => meter.trouble(where, error)
    this.#runners = new WorkRunners({ stores, agents, executors, files: this.files, trouble })
    this.agents = new AgentRegistry({
      own: this.#runners.agents,
      hidden: new Set(executors.keys()),
      read: () => readAgents(stores.home.engine),
      remote: (row) =>
        withNotices(
          packs.around(remoteAgent(row, (call, signal) => app.webhooks.ask(call, signal))),
        ),
    })
  }

  #workServices(executors: ReadonlyMap<string, Executor>): WorkServices {
    const { stores, meter } = this.#app
    return {
      types: [...executors.keys()].sort(),
      missing: (type) => executors.get(type)?.missing ?? null,
      refuses: (type, parameters) => executors.get(type)?.refuses?.(parameters) ?? [],
      dbOf: (bucket) => stores.ofBucket(bucket).db,
      ended: async (output, ms, signal) =>
        this.#waits.ofBucket(output.bucket).ended(output, ms, signal),
      dropFiles: (bucket, workId) => {
        this.files
          .removeUnder(workPrefix(bucket, workId))
          .catch((error) => meter.trouble('files', error))
      },
    }
  }

  /** Once the database is there. */
  async start(): Promise<void> {
    const { db } = this.#app.stores.home
    this.#installation = await keepSetting(db, 'installation', newId())
    await forgetRemoved(
      db,
      this.own.map(({ id }) => id),
    )
    await this.agents.refresh()
  }

  /** Callers that wait for an output get what there is. */
  release(): void {
    for (const waits of this.#waits.all) waits.close()
  }

  async close(): Promise<void> {
    await this.#runners.idle()
    await this.files.close()
    await this.archive?.close()
  }
}

interface WorkRunnersOptions {
  readonly stores: PerShard<Store>
  readonly agents: ReadonlyMap<string, Agent>
  readonly executors: ReadonlyMap<string, Executor>
  readonly files: FileKeeper
  readonly trouble: (where: string, error: unknown) => void
}

/** Agents, and executors as agents whose progress is written in batches. */
export class WorkRunners {
  /** By the name in a session key. */
  readonly agents: ReadonlyMap<string, Agent>
  readonly #progress: PerShard<GroupCommit<Progress, null>>

  constructor({ stores, agents, executors, files, trouble }: WorkRunnersOptions) {
    checkNames(agents, executors)
    this.#progress = stores.each(progressInto)
    const services = {
      report: async (progress: Progress) =>
        this.#progress.ofBucket(progress.bucket).submit(progress),
      files,
      trouble: (error: unknown) => trouble('progress', error),
    }
    const types = [...executors.keys()].sort()
    this.agents = new Map([
      ...[...agents].map(([name, agent]) => [name, withNotices(agent, types)] as const),
      ...[...executors].map(([type, each]) => [type, executorAgent(each, services)] as const),
    ])
  }

  async idle(): Promise<void> {
    await Promise.all(this.#progress.all.map((each) => each.idle()))
  }
}

function progressInto({ engine }: Store): GroupCommit<Progress, null> {
  return new GroupCommit({
    commit: async (reports) => {
      await writeProgress(engine, reports)
      return reports.map(() => null)
    },
    batchMax: PROGRESS_MAX,
    lanes: 1,
    queueMax: PROGRESS_QUEUE_MAX,
    onFull: () => new Error('too many reports of progress wait for the database'),
  })
}

/** Agents and executors share the second part of a session key, so a name must mean one of them. */
function checkNames(
  agents: ReadonlyMap<string, Agent>,
  executors: ReadonlyMap<string, Executor>,
): void {
  for (const [type, executor] of executors) {
    if (!KEY_PART.test(type)) throw new TypeError(`work: "${type}" ${KEY_PART_FORM}`)
    if (typeof executor !== 'function')
      throw new TypeError(`work: "${type}" takes a function: async (run) => ({ title, content })`)
    if (agents.has(type))
      throw new TypeError(
        `work: the executor "${type}" and the agent "${type}" share one name; rename either`,
      )
  }
}
