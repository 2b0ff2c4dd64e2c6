/** Sets a schedule by its name, from outside of a turn: over HTTP, MCP, the command line and the library. */
import { type Context, notify } from '../../api/contract.ts'
import { lineageFor, withinPending } from '../../api/lineage.ts'
import { Refusal } from '../../core/errors.ts'
import { LOCAL_USER, MAIN_THREAD, sessionOf } from '../../core/session.ts'
import { databaseNow } from '../../store/due.ts'
import { conditionError } from '../intents/own.ts'
import { zoneFor } from '../people/zone-operations.ts'
import { ensureSession } from '../sessions/rows.ts'
import { workRules } from '../work/run-operations.ts'
import type { WireSpec } from './fields.ts'
import { listSchedules } from './list-rows.ts'
import { kindOf, planSchedule, type SchedulePlan } from './plan.ts'
import type { ScheduleRow, ScheduleTarget } from './schedule.ts'
import { writeSchedules } from './write-rows.ts'

export interface PutSchedule {
  /** Empty: of a target that has none. */
  readonly name: string
  readonly spec: WireSpec
  readonly userId: string
  /** Null: the wake URL. */
  readonly agentId: string | null
  readonly threadId: string | null
  readonly target?: ScheduleTarget
  /** Of a target: times that have passed are kept. */
  readonly keepsPast?: boolean
  readonly title?: string
}

/** The agent bound to the credential, else the one named, else the only one; null: the wake URL. */
export function agentFor(ctx: Context, named: string | undefined, userId: string): string | null {
  const { kernel, actor } = ctx
  const wanted = actor.agentId ?? named
  const known = kernel.agents.names
  const knownText =
    known.length === 0 ? 'no agents run here' : `known are ${known.slice(0, 20).join(', ')}`
  if (wanted !== undefined) {
    if (kernel.agents.knows(wanted, userId)) return wanted
    throw new Refusal('rule', `agent_id: there is no agent ${wanted} here; ${knownText}`)
  }
  const [only, other] = known
  if (only !== undefined && other === undefined) return only
  if (kernel.wakesByUrl) return null
  throw new Refusal('rule', `agent_id: say who is woken; ${knownText}`)
}

/** Whose it is: the person of the credential, or the one that admin and service name. */
export function personFor(ctx: Context, named: string | undefined): string {
  const { actor, owner } = ctx
  if (actor.userId !== null && named !== undefined && named !== actor.userId && !isFree(ctx))
    throw new Refusal('not_found', `user_id: there is no person ${named}`)
  return owner ?? LOCAL_USER
}

const isFree = ({ actor }: Context) => actor.role === 'admin' || actor.role === 'service'

/** Within the transaction of `ctx.db`. Throws a `Refusal` with all that is wrong. */
export async function putSchedule(
  ctx: Context,
  put: PutSchedule,
): Promise<{ row: ScheduleRow; plan: SchedulePlan }> {
  const { name, spec, userId, agentId, threadId } = put
  const { db, actor, kernel } = ctx
  const plan = planSchedule(name, spec, {
    ...{ userId, agentId, threadId, keepsPast: put.keepsPast ?? false },
    timezone: await zoneFor(ctx, userId),
    now: await databaseNow(db),
    work: workRules(ctx, userId),
    ...(put.title === undefined ? {} : { title: put.title }),
    ...(put.target === undefined ? {} : { id: put.target.id }),
  })
  const unknown = conditionError(spec.when?.condition, kernel.conditions)
  if (unknown !== null) throw new Refusal('rule', `when.condition: ${unknown}`)
  const lineage = await lineageFor(ctx, userId, agentId)
  const session = sessionOf(userId, agentId ?? '', threadId ?? MAIN_THREAD)
  // Sessions are locked before people, as everywhere.
  if (plan.write.kind === 'timer') await ensureSession(db, session)
  const command = {
    ...{ name, plan, session, agentId, lineage, inTurn: false, boundTo: actor.agentId },
    ownerDid: actor.ownerDid,
    traceparent: ctx.traceparent ?? null,
    ...(put.target === undefined ? {} : { target: put.target }),
  }
  const { maxFailures } = kernel.policy
  const [written] = await withinPending(ctx, { userId, agentId }, () =>
    writeSchedules(db, [command], maxFailures),
  )
  if (!written) throw new Error(`the schedule ${name} was not written`)
  const [row] = await listSchedules(db, { userId, ...written, limit: 1 })
  if (row === undefined) throw new Error(`the schedule ${name} was not found again`)
  notify(ctx, 'clock')
  if (kindOf(spec) === 'work') notify(ctx, 'turns')
  return { row, plan }
}
