/** What becomes of the text that a model ends a turn with. */
import { Turn } from '../../../src/agents/function.ts'
import { TEXT_MAX_BYTES } from '../../../src/core/session.ts'
import { storableText } from '../../../src/core/text.ts'
import { isPrompted } from './turn-tools.ts'

/** A character takes at most four bytes. */
export const sayable = (text: string) => storableText(text, TEXT_MAX_BYTES / 4)

/**
 * Over a user's message the text is the answer, and an empty one fails the turn. In any other turn it is recorded and not delivered:
 * there the model speaks by `send_message` and stays silent by `stay_silent`; `undecided` is one that called neither.
 */
export function conclude(turn: Turn, text: string): void {
  const isBlank = text.trim() === ''
  if (isPrompted(turn) && !isBlank) turn.say(sayable(text))
  const { asked } = Turn.inside(turn)
  const hasChosen = asked.some(({ type }) => type === 'send_message' || type === 'silence')
  if (isPrompted(turn)) {
    if (!hasChosen) throw new Error('the model gave no answer')
  } else if (!hasChosen) Turn.record(turn, 'undecided', text)
  else if (!isBlank) Turn.record(turn, 'not_delivered', text)
}
