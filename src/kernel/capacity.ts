/**
 * Capacity for turns in this process. Those who claim sessions that wait come first: places are lent to others, who lease what has
 * not begun to wait yet, only while nobody is known to wait. No agent and no person gets all of them: see `Shares`.
 */
import type { Agent } from '../agents/agent.ts'

/**
 * How much of a capacity each party (an agent, a person, a channel) holds. A party is held back while it holds more than a share
 * of what is still free. So one alone may use most of the capacity, several get equal parts, and something always stays free
 * for a party that holds nothing. Only parties that hold much are looked at; without one, nothing is asked.
 */
export class Shares {
  readonly #held = new Map<string, number>()
  readonly #large = new Set<string>()
  readonly #largeFrom: number

  constructor(largeFrom: number) {
    this.#largeFrom = Math.max(1, largeFrom)
  }

  add(party: string): void {
    const held = (this.#held.get(party) ?? 0) + 1
    this.#held.set(party, held)
    if (held >= this.#largeFrom) this.#large.add(party)
  }

  remove(party: string): void {
    const held = (this.#held.get(party) ?? 0) - 1
    if (held > 0) this.#held.set(party, held)
    else this.#held.delete(party)
    if (held < this.#largeFrom) this.#large.delete(party)
  }

  /** The large parties that hold more than this. */
  above(share: number): string[] {
    return [...this.#large].filter((party) => (this.#held.get(party) ?? 0) > share)
  }
}

/** So much of the capacity is worth a statement while much is due, and lets one agent alone have its share. */
const ROOMY = 2 / 5
/** How long somebody with much to do waits for room before going on without. */
const PATIENCE_MS = 250
/** A batch takes at most half of the free places, so that one party cannot take all of them at once; of this few it takes all. */
const BATCH_MIN = 8
/** How many places an agent and a person may hold for each place that stays free: alone they get four fifths and a third of all. */
const AGENT_SHARE = 4
const PERSON_SHARE = 1 / 2
/** A party that holds less than this part of all places is never held back. */
const SMALL = 1 / 16

/** Whose turn holds a place. */
interface Parties {
  readonly agent_id: string
  readonly user_id: string
}

/** Who runs turns, with the limit that an agent may have of its own. */
interface LimitedAgents {
  keys(): Iterable<string>
  get(id: string): Pick<Agent, 'concurrency' | 'perMinute'> | undefined
}

interface Limited {
  readonly agentId: string
  readonly room: number
  readonly perMinute: number | undefined
}

/** Whose sessions may be claimed now. */
export interface ClaimPlan {
  readonly agentIds: readonly string[]
  /** Agents with limits of their own, and how many more of their turns may run. */
  readonly limited: readonly Limited[]
  /** People who hold more than their share. */
  readonly notUserIds: readonly string[]
}

interface Deferral {
  readonly full: ReadonlySet<string>
  readonly notUserIds: readonly string[]
}

export class Capacity {
  readonly #all: number
  readonly #taken: () => number
  readonly #agents: Shares
  readonly #people: Shares
  /** Turns under way of agents with a limit of their own, in all shards of the process. */
  readonly #limited: Map<string, number>
  #lent = 0
  /** Until a look has found less than it had places for. */
  #wanted = true
  /** Whom the last plan left out: some of their sessions may wait. */
  #heldBack: Deferral = { full: new Set(), notUserIds: [] }
  #waiting: (() => void)[] = []

  constructor(all: number, taken: () => number, limited: Map<string, number> = new Map()) {
    this.#all = all
    this.#taken = taken
    this.#agents = new Shares(all * SMALL)
    this.#people = new Shares(all * SMALL)
    this.#limited = limited
  }

  get free(): number {
    return this.#all - this.#taken() - this.#lent
  }

  /** How many places one batch may take. */
  get batch(): number {
    return Math.max(Math.min(this.free, BATCH_MIN), this.free >> 1)
  }

  /** Sessions may wait for a place. */
  get wanted(): boolean {
    return this.#wanted || this.holdsBack
  }

  /** The last plan left out an agent or a person. */
  get holdsBack(): boolean {
    return this.#heldBack.full.size > 0 || this.#heldBack.notUserIds.length > 0
  }

  plan(agents: LimitedAgents): ClaimPlan {
    const { full, notUserIds, ...may } = this.#divide(agents)
    this.#heldBack = { full, notUserIds }
    return { ...may, notUserIds }
  }

  /** Whose sessions may be leased before they wait: of nobody whose sessions may wait already, or who has a limit of their own. */
  lendable(agents: LimitedAgents): Pick<ClaimPlan, 'agentIds' | 'notUserIds'> {
    const { agentIds, notUserIds } = this.#divide(agents)
    const before = this.#heldBack
    return {
      agentIds: agentIds.filter((id) => !before.full.has(id)),
      notUserIds: [...notUserIds, ...before.notUserIds],
    }
  }

  #divide(agents: LimitedAgents) {
    const { free } = this
    const full = new Set(this.#agents.above(AGENT_SHARE * free))
    const agentIds: string[] = []
    const limited: Limited[] = []
    for (const agentId of agents.keys()) {
      const { concurrency, perMinute } = agents.get(agentId) ?? {}
      const room = (concurrency ?? Number.POSITIVE_INFINITY) - (this.#limited.get(agentId) ?? 0)
      if (room <= 0) full.add(agentId)
      if (full.has(agentId)) continue
      if (concurrency === undefined && perMinute === undefined) agentIds.push(agentId)
      else limited.push({ agentId, room, perMinute })
    }
    return { agentIds, limited, full, notUserIds: this.#people.above(PERSON_SHARE * free) }
  }

  begin({ agent_id: agentId, user_id: userId }: Parties, limited: boolean): void {
    this.#agents.add(agentId)
    this.#people.add(userId)
    if (limited) this.reserve(agentId, 1)
  }

  end({ agent_id: agentId, user_id: userId }: Parties, limited: boolean): void {
    this.#agents.remove(agentId)
    this.#people.remove(userId)
    if (limited) this.reserve(agentId, -1)
    this.freed()
  }

  /** Counts turns of an agent with a limit of its own; before a claim, since other shards claim meanwhile. */
  reserve(agentId: string, turns: number): void {
    const running = (this.#limited.get(agentId) ?? 0) + turns
    if (running === 0) this.#limited.delete(agentId)
    else this.#limited.set(agentId, running)
  }

  /** What a look at the sessions that wait has shown. */
  looked(wanted: boolean): void {
    this.#wanted = wanted
    this.freed()
  }

  /** How many there are to lend, at most `max`; `patient` waits a little until there are many. */
  async lend(max: number, patient: boolean): Promise<number> {
    if (patient && !this.#roomy) await this.#room()
    const places = this.#wanted ? 0 : Math.max(0, Math.min(max, this.batch))
    this.#lent += places
    return places
  }

  back(places: number): void {
    this.#lent -= places
  }

  /** A turn has ended. */
  freed(): void {
    if (this.#waiting.length === 0 || !this.#roomy) return
    for (const go of this.#waiting.splice(0)) go()
  }

  get #roomy(): boolean {
    return !this.#wanted && this.free >= this.#all * ROOMY
  }

  async #room(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((go) => {
      timer = setTimeout(go, PATIENCE_MS)
      this.#waiting.push(go)
    })
    clearTimeout(timer)
  }
}
