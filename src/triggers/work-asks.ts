/** Work that turns ask for, written and deleted within their commit. */
import { newWork, runsAtOnce } from '../core/work/draft.ts'
import { planWork } from '../core/work/work.ts'
import type { Db } from '../store/db/db.ts'
import { databaseNow } from '../store/db/due.ts'
import { queueRuns } from '../store/work/slots.ts'
import { deleteWork, insertWork, runNow } from '../store/work/work.ts'
import type { Asked } from './trigger.ts'

/** Files of deleted work are found and removed by the sweep of files that nothing speaks of. */
export async function writeWorkAsks(tx: Db, asked: readonly Asked[]): Promise<void> {
  const gone = asked.flatMap(({ session, wish: { ask } }) =>
    'delete_work' in ask ? [{ id: ask.delete_work, userId: session.userId }] : [],
  )
  const inOrder = gone.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id, userId } of inOrder) await deleteWork(tx, userId, id)
  const drafts = asked.flatMap(({ wish: { ask }, traceparent = null }) =>
    'create_work' in ask && !gone.some(({ id }) => id === ask.create_work.id)
      ? [{ ...ask.create_work, traceparent }]
      : [],
  )
  if (drafts.length === 0) return
  const now = await databaseNow(tx)
  // It was planned when it was asked for; what time has made impossible since is left out.
  const planned = drafts.flatMap((draft) => {
    const plan = planWork(draft.fields, now, [])
    return plan === null ? [] : [{ draft, plan }]
  })
  const made = await insertWork(
    tx,
    planned.map(({ draft, plan }) => newWork(draft, plan)),
  )
  const running = new Set(
    planned.flatMap(({ draft, plan }) => (runsAtOnce(plan, draft.fields) ? [draft.id] : [])),
  )
  const runs = made.filter(({ id }) => running.has(id)).map((row) => runNow(row, row.traceparent))
  if (runs.length > 0) await queueRuns(tx, runs)
}
