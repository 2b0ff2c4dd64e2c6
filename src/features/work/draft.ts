/** Work on its way to a row. */
import { bucketOf } from '../../core/session.ts'
import type { WorkFields } from './fields.ts'
import { notifySession, type WorkChange, type WorkPlan } from './rules.ts'

export interface WorkDraft {
  readonly id: string
  readonly userId: string
  /** The agent it belongs to, where that is not the agent of `notify_session`. */
  readonly agentId?: string | null
  readonly fields: WorkFields
  /** Of a schedule: unique for its person and agent. */
  readonly name?: string
  /** Its zone is the person's, also after they have moved. */
  readonly followsZone?: boolean
  /** The trace it was made in. */
  readonly traceparent?: string | null
  /** Written by the server: see `limits/lineage.ts`. */
  readonly lineage?: string | null
}

/** What a turn may ask of work, beside the output of its own run. */
export type WorkWish =
  | { readonly create_work: WorkDraft }
  | { readonly delete_work: string }
  | {
      readonly update_work: string
      readonly change: WorkChange & { readonly task?: string | undefined }
    }

/** The row of new work, but for what its columns begin with by themselves. */
export function newWork(
  { id, userId, agentId = null, fields, traceparent = null, lineage = null, ...draft }: WorkDraft,
  plan: WorkPlan,
) {
  return {
    name: draft.name ?? '',
    follows_zone: draft.followsZone ?? false,
    paused_at: null,
    ...fields,
    ...plan,
    bucket: bucketOf(userId),
    id,
    user_id: userId,
    agent_id: agentId ?? notifySession(fields, userId)?.agentId ?? null,
    project_id: fields.project_id ?? null,
    parameters: fields.parameters?.text ?? '{}',
    catch_up_within_seconds: fields.catch_up_within_seconds ?? null,
    notify_session: fields.notify_session ?? null,
    traceparent,
    lineage,
  }
}
export type NewWork = ReturnType<typeof newWork>

/** One-time work always runs at once, recurring work if it is to. */
export function runsAtOnce(plan: WorkPlan, { run_first }: Pick<WorkFields, 'run_first'>): boolean {
  return plan.frequency_cron === null || run_first
}

export interface WorkRules {
  /** The executors there are; undefined: nobody can tell. */
  readonly types: readonly string[] | undefined
  /** Why this one can do nothing here, and what to set; left out: it is tried. */
  readonly missing?: (type: string) => string | null
  /** What is wrong with parameters for this one; left out: they are tried. */
  readonly refusesParameters?: (
    type: string,
    parameters: Readonly<Record<string, unknown>>,
  ) => readonly string[]
  readonly userId: string
  /** Who may be told of runs, in words, and whether this agent is one. */
  readonly told: { readonly whom: string; readonly refuses: (agentId: string) => string | null }
}

/** What the rules have against it, all at once. What is undefined was accepted before. */
export function workErrors(
  asked: Partial<Pick<WorkFields, 'agent_type' | 'parameters' | 'notify_session'>>,
  { types, missing, refusesParameters, userId, told }: WorkRules,
): string[] {
  const errors: string[] = []
  const { agent_type: type, parameters } = asked
  if (type !== undefined && types !== undefined && !types.includes(type)) {
    const known = types.slice(0, 20).join(', ')
    const help = known === '' ? 'none is registered here' : `there are ${known}`
    errors.push(`agent_type: no executor ${JSON.stringify(type)} does work here; ${help}`)
  }
  const why = type === undefined ? null : (missing?.(type) ?? null)
  if (why !== null) errors.push(`agent_type: ${type} can do nothing here: ${why}`)
  if (asked.notify_session !== undefined) {
    const session = notifySession(asked, userId)
    const wrong = session === null ? told.whom : told.refuses(session.agentId)
    if (wrong !== null) errors.push(`notify_session: ${wrong}`)
  }
  const given =
    parameters === undefined ? {} : (JSON.parse(parameters.text) as Record<string, unknown>)
  if (Object.hasOwn(given, 'notify_session')) {
    const session = notifySession(given, userId)
    const wrong = session === null ? told.whom : told.refuses(session.agentId)
    if (wrong !== null) errors.push(`parameters.notify_session: ${wrong}`)
  }
  if (type !== undefined) errors.push(...(refusesParameters?.(type, given) ?? []))
  return errors
}
