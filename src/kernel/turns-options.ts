/** What the turns service is made with. */
import type { Agent } from '../agents/agent.ts'
import type { Tracer } from '../core/trace/trace.ts'
import type { Policy } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import type { Budgets } from './budgets.ts'
import type { Triggers } from './commit.ts'
import type { Hints } from './hints.ts'
import type { Meter } from './meter.ts'
import type { OnMessages } from './run.ts'
import type { TestSignals } from './service.ts'
import type { Stops } from './stops.ts'

/** Who runs which turns: a map, or whatever is asked like one. */
export type Agents = Pick<ReadonlyMap<string, Agent>, 'get'> & { keys(): Iterable<string> }

export interface TurnsOptions {
  readonly leaseMs: number
  readonly claims: Db
  readonly commits: Db
  readonly reads: Db
  /** Looked at on every tick: agents may come and go. */
  readonly agents: Agents
  readonly triggers: Triggers
  readonly policy: Policy
  readonly budgets: Budgets
  readonly stops: Stops
  readonly hints: Hints
  readonly meter: Meter
  readonly tracer?: Tracer
  readonly moments: TestSignals
  readonly onMessages?: OnMessages | undefined
  /** Turns running at once in this shard. */
  readonly concurrency?: number
  /** How many turns of agents with a limit of their own run in this process; shared by its shards. */
  readonly limited?: Map<string, number>
}
