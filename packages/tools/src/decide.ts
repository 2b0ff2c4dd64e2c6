/**
 * Silence is a decision: in a turn that no user message began, the model calls one of these tools. Its plain text is recorded and
 * not delivered.
 */
import type { Turn } from '../../../src/agents/function.ts'

/** Whether a message of the user began this turn; then the model's text is the answer. */
export function isPrompted(turn: Turn): boolean {
  return turn.event.type === 'user_message'
}

/** Also where a run that began in another turn is resumed: it may still hold calls of these tools. */
export function mayDecide(turn: Turn): boolean {
  return !isPrompted(turn) || 'pending' in turn.state
}

export const DECISIONS = {
  send_message: {
    description:
      'Writes to the user, who has not written to you. Each call is one message; it is delivered as it stands.',
    properties: { text: { type: 'string', description: 'The message.' } },
    required: ['text'],
    run(turn: Turn, { text }: { readonly text?: unknown }): string {
      turn.reply(text as string)
      return 'It is sent with the end of this turn. Do not repeat it.'
    },
  },
  stay_silent: {
    description: 'Sends nothing this time. Say why in a few words; the user does not see it.',
    properties: { reason: { type: 'string' } },
    required: ['reason'],
    run(turn: Turn, { reason }: { readonly reason?: unknown }): string {
      turn.silent(typeof reason === 'string' ? reason : undefined)
      return 'Nothing is sent.'
    },
  },
} as const
