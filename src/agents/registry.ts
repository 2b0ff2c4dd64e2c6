/**
 * Which agents there are: those of this process, and the remote ones that were registered, in whichever
 * process that was. Looked up on every turn, so it answers from memory; `refresh` reads the table again.
 */
import { TerminalError } from '../core/errors.ts'
import type { AgentRow } from '../features/identity/agent-rows.ts'
import type { Agent } from './agent.ts'

export interface RegistryOptions {
  /** The agents of this process. They win over a remote one of the same name. */
  readonly own: ReadonlyMap<string, Agent>
  /** Those of them that nobody speaks to: executors of work. */
  readonly hidden?: ReadonlySet<string>
  readonly read: () => Promise<readonly AgentRow[]>
  readonly remote: (row: AgentRow) => Agent
}

interface Entry {
  readonly row: AgentRow
  readonly agent: Agent
}

export class AgentRegistry {
  readonly name = 'agents'
  readonly #options: RegistryOptions
  #remote: ReadonlyMap<string, Entry> = new Map()
  #ids: readonly string[]
  #names: readonly string[]
  #reading: Promise<void> | null = null

  constructor(options: RegistryOptions) {
    this.#options = options
    this.#ids = [...options.own.keys()]
    this.#names = this.#ids.filter((id) => !options.hidden?.has(id))
  }

  /** Who runs the turns of this name. A removed agent's turns run too, and fail with a word on why. */
  get(id: string): Agent | undefined {
    return this.#options.own.get(id) ?? this.#remote.get(id)?.agent
  }

  /** Whose turns this process takes: not those of a remote agent that is switched off, they wait. */
  keys(): Iterable<string> {
    return this.#ids
  }

  /** The names an alarm or a message may be for; of everybody's agents. */
  get names(): readonly string[] {
    return this.#names
  }

  /** Is there such an agent, and may this user speak to it? Without a user: is there one at all? */
  knows(id: string, userId?: string): boolean {
    if (this.#options.own.has(id)) return !this.#options.hidden?.has(id)
    const row = this.#remote.get(id)?.row
    if (row === undefined || row.removed_at !== null) return false
    return userId === undefined || row.user_id === null || row.user_id === userId
  }

  /** As a service of the engine: the poll by which other processes' registrations get here. */
  async tick(): Promise<{ did: number; more: boolean; nextMs: null }> {
    await this.refresh()
    return { did: 0, more: false, nextMs: null }
  }

  /** Reads what is registered. Calls that come together share one reading that began after them. */
  async refresh(): Promise<void> {
    await Promise.allSettled([this.#reading])
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const { own, hidden, read, remote } = this.#options
    const found = new Map<string, Entry>()
    for (const row of await read()) {
      const known = this.#remote.get(row.id)
      const same = known !== undefined && JSON.stringify(known.row) === JSON.stringify(row)
      const agent = same ? known.agent : agentOf(row, remote)
      found.set(row.id, { row, agent })
    }
    this.#remote = found
    const rows = [...found.values()].map((entry) => entry.row).filter((row) => !own.has(row.id))
    const claimed = rows.filter((row) => row.removed_at !== null || row.enabled)
    const open = rows.filter((row) => row.removed_at === null && row.user_id === null)
    this.#ids = [...own.keys(), ...claimed.map((row) => row.id)]
    const spoken = [...own.keys()].filter((id) => !hidden?.has(id))
    this.#names = [...spoken, ...open.map((row) => row.id)]
  }
}

function agentOf(row: AgentRow, remote: (row: AgentRow) => Agent): Agent {
  return row.removed_at === null ? remote(row) : removedAgent(row.id)
}

/** Nothing waits for ever for an agent that is gone: not a message, not an alarm, not a follow-up. */
export function removedAgent(id: string): Agent {
  return {
    kind: 'removed',
    timeoutMs: 1000,
    run: () => Promise.reject(new TerminalError(`not run: the agent ${id} was removed`)),
  }
}
