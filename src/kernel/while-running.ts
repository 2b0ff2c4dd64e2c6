/** Messages that arrive while a turn of their session runs: see `whileRunning` of agents. */
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import { spokenSince, withFollowing } from '../features/sessions/waiting-rows.ts'
import type { Db } from '../store/db.ts'
import { InterruptedError, type Run } from './run.ts'
import type { Agents } from './turns-options.ts'

const isMessage = ({ type }: ClaimedTurn) => type === 'user_message'

/** What is claimed; where its agent wants it, a message with all those behind it. */
export async function mergeWaiting(
  db: Db,
  agents: Agents,
  claims: readonly ClaimedTurn[],
): Promise<readonly ClaimedTurn[]> {
  const merging = claims.filter((claim) => {
    const { whileRunning = 'queue' } = agents.get(claim.agent_id) ?? {}
    return whileRunning !== 'queue' && isMessage(claim)
  })
  if (merging.length === 0) return claims
  const merged = await withFollowing(db, merging)
  return claims.map((claim) => merged.get(claim) ?? claim)
}

interface Running {
  readonly claim: ClaimedTurn
  readonly run: Run
}

/** Aborts turns over messages whose person has written again, where their agent wants it. */
export async function interrupt(db: Db, agents: Agents, running: Iterable<Running>): Promise<void> {
  const open: Running[] = []
  for (const each of running)
    if (agents.get(each.claim.agent_id)?.whileRunning === 'interrupt' && isMessage(each.claim))
      if (!each.run.over && !each.run.aborted) open.push(each)
  if (open.length === 0) return
  const spoken = await spokenSince(
    db,
    open.map(({ claim }) => claim),
  )
  for (const { claim, run } of open)
    if (spoken.has(claim.session_key) && !run.over)
      run.abort(new InterruptedError('the person has written again'))
}
