/** The agents of a forecast: a recorder for each agent, or the agent itself if the request asks for it and the agent allows it. */
import type { Agent } from '../../../src/agents/agent.ts'
import { executorAgent } from '../../../src/agents/executor.ts'
import { withNotices } from '../../../src/agents/messages.ts'
import { removedAgent } from '../../../src/agents/registry.ts'

export interface AgentSet {
  get(id: string): Agent | undefined
  keys(): Iterable<string>
}

const TIMEOUT_MS = 10_000

/** Sends one message for each event, so that gates and preferences apply. */
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
    files: { put: () => Promise.reject(new Error('a forecast keeps no files')) },
    trouble: () => undefined,
  },
)

/** The agents by name; plain data, so that it can be sent to another process. */
export interface AgentRoles {
  readonly names: readonly string[]
  readonly removed: readonly string[]
  readonly executors: readonly string[]
  /** Of those that take only so many turns a minute. Of others' turns a forecast of one person knows nothing. */
  readonly perMinute: Readonly<Record<string, number>>
}

/** `named`: agents named in the person's rows, which may run in other processes. Events of disabled agents wait here, too. */
export function rolesOf(
  real: AgentSet,
  named: readonly string[],
  executors: ReadonlySet<string>,
): AgentRoles {
  const here = [...real.keys()]
  const elsewhere = [...named, ...executors].filter((id) => real.get(id) === undefined)
  const names = [...new Set([...here, ...elsewhere])]
  const removed = names.filter((id) => real.get(id)?.kind === 'removed')
  const limits = names.flatMap((id) => {
    const { perMinute } = real.get(id) ?? {}
    return perMinute === undefined ? [] : [[id, perMinute] as const]
  })
  return { names, removed, executors: [...executors], perMinute: Object.fromEntries(limits) }
}

/** `real`: agents that allow it run themselves. Turns of removed agents fail. */
export function agentSetOf(
  { names, removed, executors, perMinute }: AgentRoles,
  real: AgentSet | null,
): AgentSet {
  const told = withNotices(recorder, executors)
  const [gone, doing] = [new Set(removed), new Set(executors)]
  return {
    keys: () => names,
    get(id) {
      if (gone.has(id)) return removedAgent(id)
      if (doing.has(id)) return runRecorder
      const agent = real?.get(id)
      if (agent?.runsInForecasts === true) return agent
      return perMinute[id] === undefined ? told : { ...told, perMinute: perMinute[id] }
    },
  }
}
