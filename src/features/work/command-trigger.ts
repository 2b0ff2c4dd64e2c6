/** Work that turns ask for: written, changed and deleted within their commit. */
import { Refusal } from '../../core/errors.ts'
import type { PendingCommand } from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { newWork, runsAtOnce, type WorkWish } from './draft.ts'
import { deleteWork, getWork, insertWork, runNow, updateWork, type WorkRow } from './rows.ts'
import { changeWork, planWork, type ScheduleState } from './rules.ts'
import { queueRuns } from './slot-rows.ts'

/** Files of deleted work are found and removed by the sweep of files that nothing speaks of. */
export async function writeWorkAsks(tx: Db, asked: readonly PendingCommand[]): Promise<void> {
  const gone = new Set(
    asked.flatMap(({ wish: { ask } }) => ('delete_work' in ask ? ask.delete_work : [])),
  )
  // Rows in one order, so that two commits wait for one another instead of for each other.
  const standing = asked
    .flatMap(({ session: { userId }, wish: { ask } }): Standing[] => {
      if ('delete_work' in ask) return [{ id: ask.delete_work, userId, change: null }]
      return 'update_work' in ask && !gone.has(ask.update_work)
        ? [{ id: ask.update_work, userId, change: ask.change }]
        : []
    })
    .toSorted((a, b) => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1))
  for (const { id, userId, change } of standing) {
    if (change === null) await deleteWork(tx, userId, id)
    else await changeOne(tx, userId, id, change)
  }
  const drafts = asked.flatMap(({ wish: { ask }, traceparent = null, lineage = null }) =>
    'create_work' in ask && !gone.has(ask.create_work.id)
      ? [{ ...ask.create_work, traceparent, lineage }]
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

interface Standing {
  readonly id: string
  readonly userId: string
  /** Null: it is deleted. */
  readonly change: Change | null
}

type Change = Extract<WorkWish, { update_work: string }>['change']

/** It was right when it was asked for; what has become wrong since is left out, as the turns that share this commit go on. */
async function changeOne(tx: Db, userId: string, id: string, change: Change): Promise<void> {
  const work = await getWork(tx, userId, id, true)
  if (work === null) return
  const schedule = scheduleAfter(work, change)
  if (schedule === null) return
  const { task, parameters } = work
  await updateWork(tx, work, { ...schedule, task: change.task ?? task, parameters })
}

function scheduleAfter(work: WorkRow, change: Change): ScheduleState | null {
  const errors: string[] = []
  try {
    const schedule = changeWork(work, change, work.now, errors)
    return errors.length === 0 ? schedule : null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
