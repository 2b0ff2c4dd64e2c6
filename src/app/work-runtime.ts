/** Everything about work that is put together at start: executors as agents, notices, progress, and who waits for outputs. */
import type { Agent } from '../agents/agent.ts'
import { type Executor, executorAgent } from '../agents/executor.ts'
import { withNotices } from '../agents/notice.ts'
import type { WorkServices } from '../api/contract.ts'
import { KEY_PART, KEY_PART_FORM } from '../core/session.ts'
import { workPrefix } from '../features/work/file.ts'
import { type Progress, writeProgress } from '../features/work/slot-rows.ts'
import { OutputWaits } from '../features/work/wait-operations.ts'
import type { FileKeeper } from '../files/keeper.ts'
import { GroupCommit } from '../store/group.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'

const PROGRESS_MAX = 500
const PROGRESS_QUEUE_MAX = 20_000

export interface WorkRuntimeOptions {
  readonly stores: PerShard<Store>
  readonly agents: ReadonlyMap<string, Agent>
  readonly executors: ReadonlyMap<string, Executor>
  readonly files: FileKeeper
  readonly trouble: (where: string, error: unknown) => void
}

export class WorkRuntime {
  /** All who run turns, by the name in a session's key. */
  readonly agents: ReadonlyMap<string, Agent>
  readonly forOperations: WorkServices
  readonly #waits: PerShard<OutputWaits>
  readonly #progress: PerShard<GroupCommit<Progress, null>>

  constructor({ stores, agents, executors, files, trouble }: WorkRuntimeOptions) {
    checkNames(agents, executors)
    this.#waits = stores.each(({ db }) => new OutputWaits(db, (error) => trouble('work', error)))
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
    this.forOperations = {
      types,
      missing: (type) => executors.get(type)?.missing ?? null,
      refuses: (type, parameters) => executors.get(type)?.refuses?.(parameters) ?? [],
      dbOf: (bucket) => stores.ofBucket(bucket).db,
      ended: async (output, ms, signal) =>
        this.#waits.ofBucket(output.bucket).ended(output, ms, signal),
      dropFiles: (bucket, workId) => {
        files.removeUnder(workPrefix(bucket, workId)).catch((error) => trouble('files', error))
      },
    }
  }

  /** Callers that wait for an output get what there is. */
  release(): void {
    for (const waits of this.#waits.all) waits.close()
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

/** Both stand second in a session's key: one name for two would have either run the other's turns. */
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
