/** What a run of work needs before it may be queued, and the queueing itself. */

import type { Context } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import type { Db } from '../../store/db.ts'
import { asPerson } from '../../store/owned.ts'
import type { WorkRules } from './draft.ts'
import { type OutputRow, outputById, runNow, type WorkRow } from './rows.ts'
import { queueRuns } from './slot-rows.ts'

export function workRules({ kernel, actor }: Context, userId: string): WorkRules {
  const whom = `takes a session key of this user, ${userId}:agent:thread`
  const refuses = (agentId: string) =>
    kernel.agents.knows(agentId) && (actor.agentId ?? agentId) === agentId
      ? null
      : `there is no agent ${agentId} here`
  const { types, missing, refuses: refusesParameters } = kernel.work
  return { types, missing, refusesParameters, userId, told: { whom, refuses } }
}

/** One run now, besides the schedule: output and event in the caller's transaction. */
export async function queueRun(
  { traceparent = null, actor }: Context,
  tx: Db,
  work: WorkRow,
): Promise<OutputRow> {
  const run = runNow(work, traceparent)
  // It runs in the session of its executor, which is no session of the agent that asks.
  const queued = await asPerson(tx, actor.agentId, () => queueRuns(tx, [run]))
  // Deleted between our look and our lock. Refusing undoes the number its session has given.
  if (!queued.has(run.eventId)) throw new Refusal('not_found', `there is no work ${work.id}`)
  const output = await outputById(tx, work.bucket, run.outputId)
  if (output === null) throw new Error('the output was not written')
  return output
}
