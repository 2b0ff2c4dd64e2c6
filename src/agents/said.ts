/** What may be said: a text of a length that every channel's outbox takes. */

import { TEXT_MAX_BYTES } from '../core/session.ts'
import { hasUnstorableText } from '../core/text.ts'

/** The text itself; throws what says how to mend it. */
export function sayable(what: string, text: unknown): string {
  if (typeof text !== 'string' || text.trim() === '')
    throw new TypeError(`${what}: takes a text that is not blank`)
  if (Buffer.byteLength(text) > TEXT_MAX_BYTES)
    throw new TypeError(`${what}: takes at most ${TEXT_MAX_BYTES} bytes of text`)
  if (hasUnstorableText(text))
    throw new TypeError(`${what}: the text holds a NUL or half of a surrogate pair`)
  return text
}
