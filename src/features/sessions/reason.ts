/** Why a message is there: told by what its turn was born of. Pure. */
import type { EventType } from '../../core/session.ts'

export const REASONS = ['answer', 'follow_up', 'promise', 'notice'] as const
export type Reason = (typeof REASONS)[number]

/** What an agent says on its own initiative is a follow-up; what was arranged for a time, a condition or a result is not. */
const BORN_OF: Readonly<Record<EventType, Reason>> = {
  user_message: 'answer',
  timer: 'follow_up',
  tool_result: 'follow_up',
  alarm: 'promise',
  intent: 'promise',
  work: 'notice',
  digest: 'promise',
}

export function reasonOf(type: EventType): Reason {
  return BORN_OF[type]
}
