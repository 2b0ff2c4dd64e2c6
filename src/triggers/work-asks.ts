/** Work that turns ask for, written and deleted within their commit. */
import { newId } from '../core/ids.ts'
import type { WorkDraft } from '../core/work/draft.ts'
import { planWork, workSession } from '../core/work/work.ts'
import type { Db } from '../store/db/db.ts'
import { databaseNow } from '../store/db/due.ts'
import { type QueuedRun, queueRuns } from '../store/work/slots.ts'
import { deleteWork, insertWork } from '../store/work/work.ts'
import type { Asked } from './trigger.ts'

/** Files of deleted work are found and removed by the sweep of files that nothing speaks of. */
export async function writeWorkAsks(tx: Db, asked: readonly Asked[]): Promise<void> {
  const gone = asked.flatMap(({ session, wish: { ask } }) =>
    'delete_work' in ask ? [{ id: ask.delete_work, userId: session.userId }] : [],
  )
  const drafts = asked.flatMap(({ wish: { ask }, traceparent }) =>
    'create_work' in ask && !gone.some(({ id }) => id === ask.create_work.id)
      ? [{ ...ask.create_work, traceparent: traceparent ?? null }]
      : [],
  )
  for (const { id, userId } of gone.toSorted(byId)) await deleteWork(tx, userId, id)
  if (drafts.length === 0) return
  const now = await databaseNow(tx)
  const runs: QueuedRun[] = []
  for (const draft of drafts.toSorted(byId)) {
    // It was planned when it was asked for; what time has made impossible since is left out.
    const plan = planWork(draft, now, [])
    if (plan === null) continue
    const { id, userId, task, agentType, parameters, projectId, traceparent } = draft
    const made = { ...plan, id, userId, task, agentType, parameters, projectId, traceparent }
    await insertWork(tx, made)
    if (plan.frequency_cron === null || draft.runFirst) runs.push(runOf(draft))
  }
  if (runs.length > 0) await queueRuns(tx, runs)
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

function runOf(draft: WorkDraft & { readonly traceparent: string | null }): QueuedRun {
  const { id: workId, userId, agentType, traceparent } = draft
  const session = workSession(userId, agentType, workId)
  return { session, workId, eventId: newId(), outputId: newId(), slot: null, traceparent }
}
