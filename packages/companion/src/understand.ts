/**
 * Parses a sentence without a model. Pure. First the kind of request, then the time; the rest must be the task.
 * A sentence is understood exactly, needs an answer to a question, or is refused with phrases that work.
 */
import { cancelling, moving, negation, tending } from './change.ts'
import { asked, command } from './commands.ts'
import { type Meaning, type Place, UNCLEAR } from './meaning.ts'
import { preferenceAsked } from './preferences.ts'
import { framed } from './sentence.ts'
import { setting } from './set.ts'
import { standing } from './standing.ts'
import { reporting, working } from './working.ts'

/** Longer texts are not parsed. */
const SENTENCE_MAX = 500

export function understand(text: string, place: Place): Meaning {
  const said = text.replaceAll(/\s+/g, ' ').replaceAll('’', "'").trim()
  if (said === '' || said.length > SENTENCE_MAX) return UNCLEAR
  const sentence = framed(said)
  const { text: plain } = sentence
  return (
    preferenceAsked(plain, place) ??
    command(plain, said) ??
    negation(plain, place) ??
    standing(plain) ??
    asked(plain, place) ??
    tending(plain) ??
    cancelling(plain, place) ??
    moving(plain, place) ??
    reporting(plain, place) ??
    working(sentence, place) ??
    setting(sentence, place) ??
    UNCLEAR
  )
}
