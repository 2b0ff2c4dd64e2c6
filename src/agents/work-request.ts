/**
 * What a turn asks for with `createWork`, in the words of the HTTP API. Checked when it is asked, so that a mistake
 * shows at the call; written with the turn's commit.
 */
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { hasUnstorableText } from '../core/text.ts'
import type { WorkDraft } from '../core/work/draft.ts'
import { notifySession, PROJECT_ID_MAX, planWork, TASK_MAX_BYTES } from '../core/work/work.ts'
import type { TurnInput } from './agent.ts'

export interface WorkRequest {
  /** What to do, in words. */
  readonly task: string
  /** Who does it: `reporting`, or an executor of the app's. */
  readonly agent_type: string
  /** "once" if not said, a phrase such as "daily at 9am", or cron. */
  readonly frequency?: string
  readonly timezone?: string
  /** Recurring work also runs at once, unless this is false. */
  readonly run_first?: boolean
  readonly project_id?: string
  /** For the executor. `notify_session`: a session of this agent and user that is told when a run completes. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

const FIELDS = new Set([
  ...['task', 'agent_type', 'frequency', 'timezone', 'run_first', 'project_id', 'parameters'],
])

/** `parameters` is JSON text, checked by the caller. Throws a `Refusal` with all that is wrong. */
export function workDraft(
  request: WorkRequest,
  parameters: string,
  { session, startedAt, workTypes }: Pick<TurnInput, 'session' | 'startedAt' | 'workTypes'>,
): WorkDraft {
  const draft: WorkDraft = {
    id: newId(),
    userId: session.userId,
    task: request.task,
    agentType: request.agent_type,
    frequency: request.frequency ?? 'once',
    timezone: request.timezone ?? 'UTC',
    runFirst: request.run_first ?? true,
    projectId: request.project_id ?? null,
    parameters,
  }
  const wrong = shapeErrors(request, draft)
  if (wrong.length > 0) throw new Refusal('shape', wrong)
  const errors: string[] = []
  if (workTypes !== undefined && !workTypes.includes(draft.agentType)) {
    const named = JSON.stringify(draft.agentType.slice(0, 64))
    errors.push(
      `agent_type: no executor ${named} does work here; there are ${workTypes.slice(0, 20).join(', ')}`,
    )
  }
  const told = notifySession(request.parameters, session.userId)
  if (request.parameters !== undefined && Object.hasOwn(request.parameters, 'notify_session')) {
    if (told?.agentId !== session.agentId)
      errors.push(
        `parameters.notify_session: takes a session key of this user and agent, ${session.userId}:${session.agentId}:thread`,
      )
  }
  planWork(draft, startedAt, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return draft
}

function shapeErrors(request: WorkRequest, draft: WorkDraft): string[] {
  const errors = Object.keys(request)
    .filter((name) => !FIELDS.has(name))
    .map(
      (name) =>
        `${name.slice(0, 64)}: is not a known field; createWork takes ${[...FIELDS].join(', ')}`,
    )
  const text = (name: string, value: unknown, max: number) => {
    const right =
      typeof value === 'string' &&
      value.trim() !== '' &&
      Buffer.byteLength(value) <= max &&
      !hasUnstorableText(value)
    if (!right)
      errors.push(
        `${name}: takes a text that is not blank, at most ${max} bytes, without NUL or half of a surrogate pair`,
      )
  }
  text('task', draft.task, TASK_MAX_BYTES)
  text('agent_type', draft.agentType, 64)
  text('frequency', draft.frequency, 512)
  text('timezone', draft.timezone, 64)
  if (draft.projectId !== null) text('project_id', draft.projectId, PROJECT_ID_MAX)
  if (typeof draft.runFirst !== 'boolean') errors.push('run_first: takes true or false')
  if (!draft.parameters.startsWith('{')) errors.push('parameters: takes an object')
  return errors
}
