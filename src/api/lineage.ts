/** What a call sets goes back to that call: its lineage, and the limits for what agents set by keys of their own. */
import { Refusal } from '../core/errors.ts'
import { bucketOf } from '../core/session.ts'
import { calledBy, type Lineage, lineageText } from '../features/limits/lineage.ts'
import { refusedText } from '../features/limits/rules.ts'
import type { Db } from '../store/db.ts'
import { databaseNow } from '../store/due.ts'
import { asPerson } from '../store/owned.ts'
import type { Context } from './contract.ts'

/** Refuses what is over a limit, but for what waits already. `agentId`: the agent that it belongs to. */
export async function lineageFor(
  ctx: Context,
  userId: string,
  agentId: string | null,
): Promise<string> {
  const now = await databaseNow(ctx.db)
  const lineage = calledBy(ctx.actor, now)
  const whom = whomOf(ctx, userId, agentId)
  const over = ctx.kernel.budgets.judge(lineage, whom, now)
  if (over !== null) throw new Refusal('over_budget', refusedText(over, whom))
  return lineageText(lineage)
}

/**
 * Runs `write`, and refuses it where more of what agents set by their own keys waits afterwards than may. `tx` is null where nothing
 * has to be counted: then it may share a commit with others.
 */
export async function withinPending<T>(
  ctx: Context,
  { userId, agentId }: { readonly userId: string; readonly agentId: string | null },
  write: (tx: Db | null) => Promise<T>,
): Promise<T> {
  const { budgets } = ctx.kernel
  const now = await databaseNow(ctx.db)
  const whom = whomOf(ctx, userId, agentId)
  if (ctx.actor.role !== 'agent' || !budgets.isNear(whom, now))
    return write(ctx.inTransaction ? ctx.db : null)
  return ctx.db.tx(async (tx) => {
    const written = await write(tx)
    await asPerson(tx, ctx.actor.agentId, () => budgets.keep(tx, whom, now))
    return written
  })
}

function whomOf({ actor }: Context, userId: string, agentId: string | null) {
  return { bucket: bucketOf(userId), userId, agentId: agentId ?? actor.agentId ?? '' }
}

/** A message that an agent writes by its own key is no person's, and no new beginning. Null: a person's, or a program's for them. */
export async function messageLineage(ctx: Context): Promise<string | null> {
  if (ctx.actor.role !== 'agent') return null
  const said: Lineage = { ...calledBy(ctx.actor, await databaseNow(ctx.db)), depth: 0 }
  return lineageText(said)
}
