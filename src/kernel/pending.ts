/** The last word on what waits: in the commit that adds to it, so that two processes cannot both take the last place. */
import type { TurnResult } from '../agents/agent.ts'
import { keepPending } from '../features/limits/budget-rows.ts'
import { childOf, isSelfMade, type Lineage, lineageOf } from '../features/limits/lineage.ts'
import { isExact } from '../features/limits/rules.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'

/** A turn that is being committed, as far as it sets something. */
interface Setting {
  readonly turn: { readonly claim: ClaimedTurn; readonly result: TurnResult | null }
  readonly now: Date
}

/** Of what the turn over this event sets. */
export function childOfEvent(claim: ClaimedTurn): Lineage {
  const { type, event_id: id, event_created_at: at, lineage } = claim
  return childOf(lineageOf({ type, id, at, lineage }))
}

/** After what they set is written. Throws where more waits than may; a shared commit is parted until the one to blame hears it. */
export async function keepPendingOf(
  tx: Db,
  settled: readonly Setting[],
  max: number | undefined,
): Promise<void> {
  if (max === undefined || !isExact(max)) return
  const whom = new Map(settled.filter(setsItself).map((each) => [nameOf(each), each]))
  for (const [, each] of [...whom].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { bucket, user_id: userId, agent_id: agentId } = each.turn.claim
    await keepPending(tx, { bucket, userId, agentId }, each.now, max)
  }
}

const nameOf = ({ turn: { claim } }: Setting) => `${claim.user_id}:${claim.agent_id}`

function setsItself({ turn: { claim, result } }: Setting): boolean {
  const sets = result?.wishes.some(
    ({ type }) => type === 'trigger_command' || type === 'schedule_timer',
  )
  return sets === true && isSelfMade(childOfEvent(claim))
}
