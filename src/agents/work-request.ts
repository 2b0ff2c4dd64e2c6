/** What `createWork` takes, and what it becomes. */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type WorkDraft, workErrors } from '../features/work/draft.ts'
import { type WorkFields, workFields } from '../features/work/fields.ts'
import { notifySession, planWork } from '../features/work/rules.ts'
import type { TurnInput } from './agent.ts'
import { opaque, readAsked } from './asked.ts'

const shape = z.strictObject(workFields)

export interface WorkRequest extends Readonly<Omit<z.input<typeof shape>, 'parameters'>> {
  /** For the executor. `notify_session`: a session of this agent and user that is told when a run completes. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A session named among the parameters, as it once was, comes before the conversation it was made in. */
function whomOf(fields: WorkFields, session: TurnInput['session']): string {
  const given =
    fields.parameters === undefined ? {} : (JSON.parse(fields.parameters.text) as object)
  const { key } = notifySession(given, session.userId) ?? session
  return fields.notify_session ?? key
}

/** Throws a `Refusal` with all that is wrong. */
export function workDraft(
  request: WorkRequest,
  input: Pick<TurnInput, 'session' | 'startedAt' | 'workTypes' | 'person'>,
): WorkDraft {
  const parameters = opaque('createWork: parameters', request.parameters)
  const { session, startedAt, workTypes, person } = input
  const asked = readAsked(shape, { ...request, parameters })
  const fields = { ...asked, timezone: asked.timezone ?? person?.timezone ?? 'UTC' }
  const { userId, agentId } = session
  const whom = `takes a session key of this user and agent, ${userId}:${agentId}:thread`
  const refuses = (told: string) => (told === agentId ? null : whom)
  const errors = workErrors(fields, { types: workTypes, userId, told: { whom, refuses } })
  planWork(fields, startedAt, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  // What was made in a conversation tells that conversation, unless it is told otherwise.
  return { id: newId(), userId, fields: { ...fields, notify_session: whomOf(fields, session) } }
}
