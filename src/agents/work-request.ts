/** What `createWork` takes, and what it becomes. */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type WorkDraft, workErrors } from '../core/work/draft.ts'
import { workFields } from '../core/work/fields.ts'
import { planWork } from '../core/work/work.ts'
import type { TurnInput } from './agent.ts'
import { opaque, readAsked } from './asked.ts'

const shape = z.strictObject(workFields)

export interface WorkRequest extends Readonly<Omit<z.input<typeof shape>, 'parameters'>> {
  /** For the executor. `notify_session`: a session of this agent and user that is told when a run completes. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** Throws a `Refusal` with all that is wrong. */
export function workDraft(
  request: WorkRequest,
  { session, startedAt, workTypes }: Pick<TurnInput, 'session' | 'startedAt' | 'workTypes'>,
): WorkDraft {
  const parameters = opaque('createWork: parameters', request.parameters)
  const fields = readAsked(shape, { ...request, parameters })
  const { userId, agentId } = session
  const whom = `takes a session key of this user and agent, ${userId}:${agentId}:thread`
  const refuses = (told: string) => (told === agentId ? null : whom)
  const errors = workErrors(fields, { types: workTypes, userId, told: { whom, refuses } })
  planWork(fields, startedAt, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { id: newId(), userId, fields }
}
