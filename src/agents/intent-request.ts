/** What `createIntent` takes, and what it becomes. */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { validateIntent } from '../features/intents/checks.ts'
import { type IntentDraft, intentWish, termsFrom } from '../features/intents/draft.ts'
import { newIntentFields } from '../features/intents/fields.ts'
import type { TurnInput } from './agent.ts'
import { type DeepReadonly, readAsked } from './asked.ts'

const { agent_id: _agent, enabled: _enabled, metadata: _metadata, ...taken } = newIntentFields
const shape = z.strictObject(taken)

/** `thread_id` says where to wake: this thread if not said. */
export interface IntentRequest extends DeepReadonly<z.input<typeof shape>> {}

/** Throws a `Refusal` with all that is wrong. */
export function intentDraft(
  request: IntentRequest,
  { session, startedAt, person }: Pick<TurnInput, 'session' | 'startedAt' | 'person'>,
): IntentDraft {
  const asked = readAsked(shape, { ...request })
  const { userId, agentId } = session
  const thread_id = asked.thread_id ?? session.threadId
  const timezone = asked.timezone ?? person?.timezone ?? 'UTC'
  const wish = intentWish({ ...asked, timezone, enabled: true, agent_id: agentId, thread_id })
  const errors = validateIntent(termsFrom(wish, startedAt), startedAt)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { id: newId(), userId, createdBy: agentId, wish }
}
