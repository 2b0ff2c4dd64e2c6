/** Short commands, and questions about the plans. */
import type { Meaning, Place } from './meaning.ts'
import { bareWord, wordsOf } from './sentence.ts'
import { spansOf } from './when.ts'

const SHORT: readonly (readonly [pattern: RegExp, meaning: Meaning])[] = [
  [/^(?:help|\?|what can you do|what do you understand|how does this work)?$/, { is: 'help' }],
  [
    /^(?:hello|hi|hey|(?:good )?(?:morning|day|afternoon|evening)|good night)(?: there)?$/,
    { is: 'hello' },
  ],
  [/^(?:thanks|thank you|thx|cheers|ty)(?: (?:a lot|so much|very much))?$/, { is: 'thanks' }],
  [
    /^(?:yes|y|yep|yeah|yup|sure|do it|do that|please do|correct|right|exactly|go ahead|that's right|of course)(?:,? (?:please|do it|do that|sure))?$/,
    { is: 'yes' },
  ],
  [
    /^(?:no|n|nope|nah|never ?mind|nevermind|forget (?:it|about it|that)|no thanks|no thank you|not now|don't|dont|leave it|neither|none)$/,
    { is: 'no' },
  ],
  [
    /^(?:stop|cancel|delete|forget|end|remove) (?:all(?: of (?:it|them))?|everything)$/,
    { is: 'stop_all', only: null },
  ],
  [
    /^(?:stop|cancel|delete|forget|end|remove|clear) (?:all(?: of)?|every one of)(?: the| my)? (?:reminders|alarms)$/,
    { is: 'stop_all', only: 'alarm' },
  ],
  [/^(?:stop(?: it)?|enough|quiet|be quiet|leave me alone)$/, { is: 'stop' }],
  [
    /^why\b.*\b(?:write|wrote|written|writing|message|messages|say|said|remind|tell|told|answer|silent|quiet|ping)\b|^why(?: not)?$/,
    { is: 'why' },
  ],
]

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

/** `said` is the whole sentence with its polite words: "ok" and "thanks" consist only of these. */
export function command(text: string, said: string): Meaning | null {
  const lower = text.toLowerCase()
  const whole = said.toLowerCase().replace(/[\s.!?]+$/, '')
  if (/^(?:ok|okay|alright)$/.test(whole)) return { is: 'yes' }
  for (const [pattern, meaning] of SHORT)
    if (pattern.test(lower) || pattern.test(whole)) return meaning
  const picked =
    /^(?:#|no\.? ?|number )?(\d{1,3})$|^(?:the )?(first|second|third|fourth|fifth)(?: one)?$/.exec(
      lower,
    )
  if (picked === null) return null
  const [, digits, word = ''] = picked
  return { is: 'pick', number: digits === undefined ? ORDINALS.indexOf(word) + 1 : Number(digits) }
}

const PLANS =
  /\b(?:planned|plans?|reminders?|alarms?|scheduled|coming(?: up)?|ahead|set|watching|waiting for|planning|remind me|remember)\b/
const ASKS =
  /^(?:what|whats|which|when|do i|did i|do you|did you|have i|have you|is there|are there|any|how many|show|list|tell me (?:what|which|when|about)|planned|plans?$|my (?:plans|reminders|alarms)$)/
const ASK_WORDS = new Set(
  "what whats what's which when is are was there do did does i you have has had got any how many show list tell give me my the all of planned plan plans planning reminder reminders alarm alarms scheduled coming up ahead set watching waiting for about will remind to a an next on your still now remember".split(
    ' ',
  ),
)

/** "what is planned tomorrow?", "when is my dentist reminder?", "list my reminders". */
export function asked(text: string, place: Place): Meaning | null {
  const lower = text.toLowerCase()
  if (!ASKS.test(lower) || !(PLANS.test(lower) || /^what(?:'s|s| is| comes) next$/.test(lower)))
    return null
  const words = wordsOf(text)
  const spans = spansOf(words, place)
  const led =
    spans.length > 0
      ? spans
      : spansOf(
          words.filter((word) => !/^(?:for|about)$/i.test(word)),
          place,
        )
  const [span, ...more] = led
  if (more.length > 0) return null
  const kept = span === undefined ? words : withoutOnce(words, wordsOf(span.phrase))
  const name = kept.map(bareWord).filter((word) => word !== '' && !ASK_WORDS.has(word))
  return { is: 'planned', name: name.join(' '), phrase: span?.phrase ?? null }
}

function withoutOnce(words: readonly string[], taken: readonly string[]): string[] {
  const rest = taken.map(bareWord)
  return words.filter((word) => {
    const at = rest.indexOf(bareWord(word))
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}
