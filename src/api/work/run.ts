/** What a run of work needs before it may be queued, and the queueing itself. */
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { notifySession, workSession } from '../../core/work/work.ts'
import type { Db } from '../../store/db/db.ts'
import { queueRuns } from '../../store/work/slots.ts'
import { type OutputRow, outputById, type WorkRow } from '../../store/work/work.ts'
import type { Context } from '../contract.ts'

/** What the rules have against it, all at once. `agentType` null: it was accepted before. */
export function runRules(
  { house }: Context,
  asked: { readonly agentType: string | null; readonly userId: string; readonly given: unknown },
): string[] {
  const errors: string[] = []
  const { agentType, userId, given } = asked
  if (agentType !== null && !house.work.types.includes(agentType)) {
    const named = JSON.stringify(agentType)
    const known = house.work.types.slice(0, 20).join(', ')
    const help = known === '' ? 'none is registered here' : `there are ${known}`
    errors.push(`agent_type: no executor ${named} does work here; ${help}`)
  }
  if (Object.hasOwn(given as object, 'notify_session')) {
    const session = notifySession(given, userId)
    if (session === null)
      errors.push(
        `parameters.notify_session: takes a session key of this user, ${userId}:agent:thread`,
      )
    else if (!house.knowsAgent(session.agentId))
      errors.push(`parameters.notify_session: there is no agent ${session.agentId} here`)
  }
  return errors
}

/** One run now, besides the schedule: output and event in the transaction of whoever asks for it. */
export async function queueRun(
  { traceparent = null }: Context,
  tx: Db,
  work: WorkRow,
): Promise<OutputRow> {
  const { bucket, id: workId, user_id: userId, agent_type: agentType } = work
  const ids = { eventId: newId(), outputId: newId() }
  const session = workSession(userId, agentType, workId)
  const run = { session, workId, ...ids, slot: null, traceparent }
  const queued = await queueRuns(tx, [run])
  // Deleted between our look and our lock. Refusing undoes the number its session has given.
  if (!queued.has(ids.eventId)) throw new Refusal('not_found', `there is no work ${workId}`)
  const output = await outputById(tx, bucket, ids.outputId)
  if (output === null) throw new Error('the output was not written')
  return output
}
