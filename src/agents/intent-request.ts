/**
 * What a turn asks for with `createIntent`, in the words of the HTTP API. Checked when it is asked, so that a
 * mistake shows at the call; written with the turn's commit.
 */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { type IntentDraft, intentWish, triggerOf } from '../core/intents/draft.ts'
import { intentFields } from '../core/intents/fields.ts'
import type { Operator, TriggerType } from '../core/intents/intent.ts'
import { validateIntent } from '../core/intents/rules.ts'
import { hasUnstorableJson } from '../core/text.ts'
import type { TurnInput } from './agent.ts'

export interface IntentRequest {
  readonly intent_name: string
  readonly description?: string
  readonly trigger_type: TriggerType
  /** When it is looked at, of types cron, interval and once. */
  readonly trigger_schedule?: {
    readonly cron?: string
    readonly interval_minutes?: number
    readonly datetime?: string
    readonly check_interval_minutes?: number
  }
  /** What must hold, of the other types. */
  readonly trigger_condition?: {
    readonly ticker?: string
    readonly operator?: Operator
    readonly value?: number
    readonly keywords?: readonly string[]
    readonly threshold_hours?: number
    readonly max_age_minutes?: number
    readonly cooldown_minutes?: number
  }
  readonly action_type?: 'notify' | 'check_in' | 'briefing' | 'analysis' | 'reminder'
  /** Handed to this agent when it fires. */
  readonly action_context: string
  readonly action_priority?: 'low' | 'normal' | 'high' | 'critical'
  readonly expires_at?: string
  readonly max_executions?: number
  readonly timezone?: string
  /** Where to wake; this thread if not said. */
  readonly thread_id?: string
}

const { agent_id: _agent, enabled: _enabled, ...taken } = intentFields
const shape = z.strictObject({
  ...taken,
  action_type: taken.action_type.default('notify'),
  action_priority: taken.action_priority.default('normal'),
  timezone: taken.timezone.default('UTC'),
})

/** Throws a `Refusal` with all that is wrong. */
export function intentDraft(
  request: IntentRequest,
  { session, startedAt }: Pick<TurnInput, 'session' | 'startedAt'>,
): IntentDraft {
  const read = shape.safeParse(request)
  if (!read.success) throw new Refusal('shape', read.error.issues.map(issueText))
  if (hasUnstorableJson(JSON.stringify(read.data)))
    throw new Refusal('shape', 'createIntent: a text holds a NUL or half of a surrogate pair')
  const own = { enabled: true, agent_id: session.agentId, thread_id: session.threadId }
  const given = read.data.thread_id ?? session.threadId
  const draft: IntentDraft = {
    id: newId(),
    userId: session.userId,
    createdBy: session.agentId,
    wish: intentWish({ ...read.data, ...own, thread_id: given }, '{}'),
  }
  const errors = validateIntent(triggerOf(draft), startedAt)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return draft
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? `createIntent: ${message}` : `${path.join('.')}: ${message}`
}
