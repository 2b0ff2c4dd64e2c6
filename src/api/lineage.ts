/** What a call sets goes back to that call: its lineage, and the limits for what agents set by keys of their own. */
import { Refusal } from '../core/errors.ts'
import { bucketOf } from '../core/session.ts'
import { calledBy, type Lineage, lineageText } from '../features/limits/lineage.ts'
import { refusedText } from '../features/limits/rules.ts'
import { databaseNow } from '../store/due.ts'
import type { Context } from './contract.ts'

/** Refuses what is over a limit. `agentId`: who is to be woken. */
export async function lineageFor(
  ctx: Context,
  userId: string,
  agentId: string | null,
): Promise<string> {
  const now = await databaseNow(ctx.db)
  const lineage = calledBy(ctx.actor, now)
  const whom = { bucket: bucketOf(userId), userId, agentId: agentId ?? ctx.actor.agentId ?? '' }
  const over = await ctx.kernel.budgets.judge(lineage, whom, now)
  if (over !== null) throw new Refusal('over_budget', refusedText(over, whom))
  return lineageText(lineage)
}

/** A message that an agent writes by its own key is no person's, and no new beginning. Null: a person's, or a program's for them. */
export async function messageLineage(ctx: Context): Promise<string | null> {
  if (ctx.actor.role !== 'agent') return null
  const said: Lineage = { ...calledBy(ctx.actor, await databaseNow(ctx.db)), depth: 0 }
  return lineageText(said)
}
