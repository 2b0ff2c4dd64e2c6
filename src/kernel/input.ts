/** What an agent gets of a turn: from what its claim brought, and what only some ask for when it is asked for. */
import type { TurnInput } from '../agents/agent.ts'
import { turnPerson } from '../features/people/person.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Policy } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import { type Budgets, settingRefusal } from './budgets.ts'
import type { Run } from './guard.ts'

export function inputOf(
  claim: ClaimedTurn,
  run: Run,
  options: { readonly reads: Db; readonly policy: Policy; readonly budgets: Budgets },
): TurnInput {
  const { reads, policy, budgets } = options
  const { timezone = 'UTC' } = policy
  return {
    session: {
      key: claim.session_key,
      userId: claim.user_id,
      agentId: claim.agent_id,
      threadId: claim.thread_id,
      bucket: claim.bucket,
    },
    event: {
      id: claim.event_id,
      seq: claim.seq,
      type: claim.type,
      payload: claim.payload,
      createdAt: claim.event_created_at,
      ...slotOf(claim),
    },
    state: claim.state,
    checkpointId: claim.checkpoint_id,
    attempt: claim.attempt + claim.deaths + 1,
    startedAt: claim.now,
    get signal() {
      return run.signal
    },
    get person() {
      return turnPerson(claim.person, timezone, claim.now)
    },
    db: reads,
    refusal: () => settingRefusal(budgets.set(claim), claim),
  }
}

function slotOf({ trigger_id: id, scheduled_for: at }: ClaimedTurn): { slot?: string } {
  return id === null || at === null ? {} : { slot: `${id}:${at.getTime()}` }
}
