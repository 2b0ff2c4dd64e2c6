/** The switch: what is stopped, and what becomes of a turn that meets it. Pure. */
import type { EventType } from '../../core/session.ts'
import { isFire } from './lineage.ts'

export const STOP_LEVELS = ['everything', 'agent', 'user', 'trigger'] as const
export type StopLevel = (typeof STOP_LEVELS)[number]
/** What became of what it held: run after all, or ended without a run. */
export const STOP_ENDS = ['resumed', 'dropped'] as const
export type StopEnd = (typeof STOP_ENDS)[number]

export interface Stop {
  readonly id: string
  readonly level: StopLevel
  /** An agent, a person, the id of a trigger; null where everything is. */
  readonly target: string | null
  readonly created_at: Date
  readonly ended_at: Date | null
  readonly ended: StopEnd | null
}

/** A turn as far as a switch asks. */
export interface Stoppable {
  readonly type: EventType
  readonly userId: string
  readonly agentId: string
  readonly triggerId: string | null
  readonly createdAt: Date
  readonly scheduledFor: Date | null
  /** What it releases, where it stands for slots of others: whose, and since when a stop had deferred them. */
  readonly slots?: readonly { readonly triggerId: string | null; readonly stoppedAt: Date | null }[]
}

/** `hold`: its event waits, and its session with it. `defer`: its slot waits, and its session goes on. `drop`: it ends without a run. */
export type StopMove = 'run' | 'hold' | 'defer' | 'drop'

/** So far in the future that nobody waits for it. What a stop holds is due then, until it is resumed. */
export const HELD_UNTIL = new Date('9999-01-01T00:00:00Z')

/** A stop of one trigger leaves the conversation alone, that of an agent or a person holds it, messages as well. */
export function judgeStops(stops: readonly Stop[], what: Stoppable): StopMove {
  let move: StopMove = 'run'
  for (const stop of stops) {
    if (!concerns(stop, what)) continue
    if (stop.ended_at === null && stop.level !== 'trigger') return 'hold'
    if (stop.ended_at === null) move = 'defer'
    else if (move === 'run' && drops(stop, stop.ended_at, what)) move = 'drop'
  }
  return move
}

function concerns({ level, target }: Stop, what: Stoppable): boolean {
  switch (level) {
    case 'everything':
      return true
    case 'agent':
      return what.agentId === target
    case 'user':
      return what.userId === target
    case 'trigger':
      return (
        what.triggerId === target ||
        (what.slots ?? []).some(({ triggerId }) => triggerId === target)
      )
  }
}

/** Dropped is what waited when it ended, but for what people said and what tools answered. */
function drops(stop: Stop, endedAt: Date, what: Stoppable): boolean {
  if (stop.ended !== 'dropped') return false
  const { createdAt, scheduledFor, slots = [] } = what
  if (!isFire(what)) return false
  if (stop.level === 'trigger' && slots.length > 0)
    return slots.every(
      ({ triggerId, stoppedAt }) =>
        triggerId === stop.target && stoppedAt !== null && stoppedAt <= endedAt,
    )
  if (createdAt <= endedAt) return true
  // Due meanwhile, and made an event only when the switch was off again.
  return scheduledFor !== null && scheduledFor >= stop.created_at && scheduledFor <= endedAt
}

/** In words: `the agent bot`. */
export function stopWords({ level, target }: Pick<Stop, 'level' | 'target'>): string {
  return level === 'everything'
    ? 'everything'
    : `the ${level === 'user' ? 'person' : level} ${target}`
}
