/** Who takes the turns of a rehearsal: a recorder in the place of each agent, or the agent itself where that was asked for and may be. */
import type { Agent } from '../../agents/agent.ts'
import { executorAgent } from '../../agents/executor.ts'
import { withNotices } from '../../agents/notice.ts'

/** As the engine asks for them. */
export interface Cast {
  get(id: string): Agent | undefined
  keys(): Iterable<string>
}

const TIMEOUT_MS = 10_000

/** Says one message to whatever it is woken for, so that gates and manners have something to judge. */
const recorder: Agent = {
  kind: 'recorder',
  timeoutMs: TIMEOUT_MS,
  run: async ({ event }) => ({
    wishes: [{ type: 'send_message', content: `(${event.type})` }],
    checkpointId: null,
    points: [],
  }),
}

/** Every run succeeds, with its task as the title. */
const runRecorder = executorAgent(
  async ({ task }) => ({ title: task.slice(0, 200), content: '' }),
  {
    report: async () => undefined,
    files: { put: () => Promise.reject(new Error('a rehearsal keeps no files')) },
    trouble: () => undefined,
  },
)

export interface CastOptions {
  readonly real: Cast
  /** Agents that may run here themselves do. */
  readonly run: boolean
  /** Whom the rows of the person name. They may run in other processes. */
  readonly named: ReadonlySet<string>
  readonly executors: ReadonlySet<string>
}

/** Those that are switched off wait here, too, and those that were removed fail. */
export function castOf({ real, run, named, executors }: CastOptions): Cast {
  const types = [...executors]
  const told = withNotices(recorder, types)
  const elsewhere = [...named, ...types].filter((id) => real.get(id) === undefined)
  return {
    keys: () => [...real.keys(), ...elsewhere],
    get(id) {
      const agent = real.get(id)
      if (agent?.kind === 'removed') return agent
      if (executors.has(id)) return runRecorder
      return run && agent?.rehearses === true ? agent : told
    },
  }
}
