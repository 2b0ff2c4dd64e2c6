/**
 * What a sentence means to the companion. Pure, and plain words only: first what kind of wish it is, then when, and what
 * remains must be the thing itself. A sentence is understood exactly, asked back, or refused with what would work.
 */
import { cancelling, moving, negation, tending } from './change.ts'
import { asked, command } from './commands.ts'
import { type Meaning, type Place, UNCLEAR } from './meaning.ts'
import { preferenceAsked } from './preferences.ts'
import { reporting } from './report.ts'
import { framed } from './sentence.ts'
import { setting } from './set.ts'
import { standing } from './standing.ts'
import { working } from './working.ts'

/** Longer texts are talk, not wishes. */
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
