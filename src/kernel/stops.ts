/**
 * The switch in this process: what is stopped, as it was read last. Looked up twice a second and at every hint, so that a stop bites
 * everywhere within one second. Services ask before they begin something and are told when it changes.
 */
import { currentStops, letGo, type StopRow } from '../features/limits/stop-rows.ts'
import {
  HELD_UNTIL,
  judgeStops,
  type Stop,
  type StopMove,
  type Stoppable,
} from '../features/limits/stops.ts'
import type { DeferredRow } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import { IDLE, type Service, type Tick } from './service.ts'

export const STOPS_MS = 400

export class Stops implements Service {
  readonly name = 'stops'
  onFree?: () => void
  readonly #home: Db
  /** Of each shard. */
  readonly #dbs: readonly Db[]
  readonly #listeners: (() => void)[] = []
  #stops: readonly StopRow[] = []
  /** Nothing was read yet: what an earlier process held may have been resumed since. */
  #first = true

  constructor(home: Db, dbs: readonly Db[]) {
    this.#home = home
    this.#dbs = dbs
  }

  /** Called when something was stopped or resumed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** As they were read last. */
  get standing(): readonly StopRow[] {
    return this.#stops.filter(({ ended_at }) => ended_at === null)
  }

  /** Nothing runs at all. */
  get everything(): boolean {
    return this.#stops.some(({ level, ended_at }) => level === 'everything' && ended_at === null)
  }

  /** What is said to this agent for this person waits. */
  holds({ userId, agentId }: Pick<Stoppable, 'userId' | 'agentId'>): boolean {
    const said = { type: 'user_message', triggerId: null, scheduledFor: null } as const
    return this.judge({ ...said, userId, agentId, createdAt: HELD_UNTIL }) === 'hold'
  }

  judge(what: Stoppable): StopMove {
    return this.#stops.length === 0 ? 'run' : judgeStops(this.#stops, what)
  }

  turn(claim: ClaimedTurn, slots?: readonly DeferredRow[]): StopMove {
    return this.#stops.length === 0 ? 'run' : judgeStops(this.#stops, stoppable(claim, slots))
  }

  /** What is held anywhere is due: what another stop holds is held again when it comes up. */
  async letGo(): Promise<void> {
    for (const db of this.#dbs) await letGo(db)
  }

  async tick(): Promise<Tick> {
    const before = new Set(standing(this.#stops))
    this.#stops = await currentStops(this.#home)
    const now = new Set(standing(this.#stops))
    const ended = [...before].some((id) => !now.has(id))
    const begun = [...now].some((id) => !before.has(id))
    if (ended || this.#first) await this.letGo()
    this.#first = false
    if (!ended && !begun) return IDLE
    for (const listener of this.#listeners) listener()
    return { ...IDLE, did: 1 }
  }
}

const standing = (stops: readonly Stop[]) =>
  stops.flatMap(({ id, ended_at }) => (ended_at === null ? [id] : []))

function stoppable(claim: ClaimedTurn, slots: readonly DeferredRow[] | undefined): Stoppable {
  return {
    type: claim.type,
    userId: claim.user_id,
    agentId: claim.agent_id,
    triggerId: claim.trigger_id,
    createdAt: claim.event_created_at,
    scheduledFor: claim.scheduled_for,
    ...(slots === undefined
      ? {}
      : {
          slots: slots.map(({ trigger_id: triggerId, rule, deferred_at }) => ({
            triggerId,
            stoppedAt: rule === 'stopped' ? deferred_at : null,
          })),
        }),
  }
}

/** A slot that is held back with its session left free. */
export const DEFERRED_BY_STOP = { move: 'defer', rule: 'stopped', until: HELD_UNTIL } as const

/** Of a fire that was held and then dropped. */
export const DROPPED = {
  cause: 'stopped',
  terminal: true,
  retryAfterMs: 0,
  text: 'not run: a stop held it, and what it held was dropped',
} as const
