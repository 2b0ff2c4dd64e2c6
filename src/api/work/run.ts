/** What a run of work needs before it may be queued, and the queueing itself. */
import { Refusal } from '../../core/errors.ts'
import type { WorkRules } from '../../core/work/draft.ts'
import type { Db } from '../../store/db/db.ts'
import { queueRuns } from '../../store/work/slots.ts'
import { type OutputRow, outputById, runNow, type WorkRow } from '../../store/work/work.ts'
import type { Context } from '../contract.ts'

export function workRules({ app }: Context, userId: string): WorkRules {
  const whom = `takes a session key of this user, ${userId}:agent:thread`
  const refuses = (agentId: string) =>
    app.knowsAgent(agentId) ? null : `there is no agent ${agentId} here`
  const { types, missing, refuses: refusesParameters } = app.work
  return { types, missing, refusesParameters, userId, told: { whom, refuses } }
}

/** One run now, besides the schedule: output and event in the transaction of whoever asks for it. */
export async function queueRun(
  { traceparent = null }: Context,
  tx: Db,
  work: WorkRow,
): Promise<OutputRow> {
  const run = runNow(work, traceparent)
  const queued = await queueRuns(tx, [run])
  // Deleted between our look and our lock. Refusing undoes the number its session has given.
  if (!queued.has(run.eventId)) throw new Refusal('not_found', `there is no work ${work.id}`)
  const output = await outputById(tx, work.bucket, run.outputId)
  if (output === null) throw new Error('the output was not written')
  return output
}
