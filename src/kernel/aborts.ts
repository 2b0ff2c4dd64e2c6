/** What ends turns that are running: their time is up, their slot was cancelled, or a stop applies. */
import type { Agent } from '../agents/agent.ts'
import type { DeferredRow } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import type { Triggers } from './commit.ts'
import { AgentTimeoutError, type Run, SlotDeletedError, StoppedError } from './guard.ts'
import { withdrawnTurns } from './slots.ts'
import type { Stops } from './stops.ts'

interface RunningTurn {
  readonly claim: ClaimedTurn
  readonly slots: readonly DeferredRow[] | undefined
  readonly run: Run
}

/** Also what runs: its agent's signal is aborted, and nothing of it is committed. */
export function abortStopped(all: Iterable<RunningTurn>, stops: Stops): void {
  for (const { claim, slots, run } of all)
    if (!run.over && stops.turn(claim, slots) !== 'run') run.abort(new StoppedError('stopped'))
}

/** Nobody wants their result any more: why let them go on? */
export async function abortWithdrawn(
  all: readonly RunningTurn[],
  { claims: db, triggers }: { readonly claims: Db; readonly triggers: Triggers },
): Promise<void> {
  const claims = all.filter(({ run }) => !run.over && !run.aborted).map(({ claim }) => claim)
  const aborting = [...triggers.values()].filter((each) => each.abortsWithdrawn)
  const gone = await withdrawnTurns(db, aborting, claims)
  for (const { claim, run } of all) {
    if (gone.has(claim.event_id) && !run.over)
      run.abort(new SlotDeletedError(`the ${claim.type} was deleted while it ran`))
  }
}

export function abortLate(
  all: Iterable<RunningTurn>,
  agents: { get(id: string): Pick<Agent, 'timeoutMs'> | undefined },
): void {
  const now = performance.now()
  for (const { run, claim } of all) {
    if (now < run.deadlineMs || run.over || run.aborted) continue
    const timeoutMs = agents.get(claim.agent_id)?.timeoutMs
    run.abort(new AgentTimeoutError(`the agent took longer than ${timeoutMs} ms`))
  }
}
