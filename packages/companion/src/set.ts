/**
 * Reminders: a lead ("remind me"), a time, and the rest as the task. If the rest is not clearly the task, the companion
 * asks or refuses.
 */
import { isTimeOfDay, type Parsed } from '../../schedule/src/index.ts'
import { type Meaning, type Place, type Reminder, UNCLEAR, unclear } from './meaning.ts'
import { type Sentence, wordsOf } from './sentence.ts'
import { type Span, spansOf, timeOf, timeWordIn, whyNot } from './when.ts'

const NOUN = '(?:reminder|alarm|wake-up call|nudge)s?'
const LEAD = new RegExp(
  `^(?:(?:please )?(?:(?:remind|nudge|ping|alert|notify)(?: me)(?: again)?|(wake) me(?: up)?|(tell|message|write|text) me` +
    `|(?:set|set up|make|create|add|schedule|put|leave|give me|i need|i want|i'd like|i would like|can i (?:have|get))(?: up)?(?: me)?(?: a| an| another| one)?(?: new| recurring)?( daily| weekly| monthly| hourly| yearly)? ${NOUN}(?: for me)?` +
    `|(?:i want|i need|i'd like|i would like) to be reminded` +
    `|(?:reminder|note to self|todo|to-do):?` +
    `|(?:don't|dont|do not) let me forget|help me remember|make sure (?:that )?i (?:remember|don't forget|dont forget)` +
    `|(?:remember|don't forget|dont forget|do not forget)(?= (?:to|that|about)\\b)))(?![\\w'-])[,:]?`,
  'i',
)
/** A lead in the middle: "tomorrow at 9 remind me to call mum". */
const INNER = /(?:^|[\s,.;:])(?:and |please |then |also )*(?:remind|wake|nudge) me(?: up)?\b/i
/** After "tell me" only "to …" or "that …" is a reminder. */
const CONNECTED = /^(?:to|that|about)\b/i
const CONNECTIVE = /^(?:(?:to|that|about|of|for)\b|[,:;-]+(?=\s|$))[,:]?\s*/i

export function setting(sentence: Sentence, place: Place): Meaning | null {
  const { text } = sentence
  const lead = LEAD.exec(text)
  if (lead !== null) {
    const [all, wake, tell, rhythm = ''] = lead
    const given = `${rhythm} ${text.slice(all.length)}`.trim()
    if (
      /^(?:remember|don't|dont|do not|note|todo|to-do|reminder)/i.test(all) &&
      INNER.test(` ${given}`)
    )
      return setting({ ...sentence, text: given.replace(CONNECTIVE, '') }, place)
    const after = given.replace(/^for (?=\S)/i, '')
    const read = led(after, place, wake !== undefined)
    if (tell !== undefined && !isConnected(after, place)) return UNCLEAR
    return read
  }
  const inner = INNER.exec(text)
  if (inner !== null) return ledInside(text, inner, place)
  return unled(sentence, place)
}

/** "tell me a joke at 9" is no reminder; "tell me at 9 to go" is one. */
function isConnected(text: string, place: Place): boolean {
  const words = wordsOf(text)
  const [first] = spansOf(words, place)
  const rest = first?.from === 0 ? words.slice(first.to).join(' ') : text
  return CONNECTED.test(rest)
}

function led(text: string, place: Place, wake: boolean): Meaning {
  const words = wordsOf(text)
  const spans = spansOf(words, place)
  const several = bothOf(words, place)
  if (several !== null) return several
  const read = assemble(words, spans, place)
  if (read.is !== 'unclear' || read.about !== 'what' || !wake) return read
  const [span] = spans
  return span === undefined ? read : { is: 'remind', ...pick(span), what: 'wake up' }
}

function pick({ phrase, parsed }: Span): { phrase: string; parsed: Parsed } {
  return { phrase, parsed }
}

/** The text before the lead must be a time, or the whole task if only a time follows the lead. */
function ledInside(text: string, inner: RegExpExecArray, place: Place): Meaning {
  const before = text.slice(0, inner.index).trim()
  const after = text
    .slice(inner.index + inner[0].length)
    .trim()
    .replace(/^[,:]\s*/, '')
  const both = bothOf(wordsOf(text), place)
  if (both !== null) return both
  const front = before.replace(/[,:;.]+$/, '')
  if (NEGATED.test(front)) return UNCLEAR
  if (timeOf(front, place) !== null) {
    const words = wordsOf(`${front} ${after}`)
    return assemble(words, spansOf(words, place), place)
  }
  const parsed = timeOf(after, place)
  const isThing = timeWordIn(wordsOf(front)) === null && !isTalk(front) && front !== ''
  if (parsed === null || !isThing) return more()
  return settled({ phrase: after, parsed, what: front }, isStatement(front))
}

function more(): Meaning {
  return unclear(
    'two',
    'that is more than one request, or has a part that I do not understand: write one at a time, for example “remind me at 9 to call mum”',
  )
}

const TALK =
  /^(?:(?:see|talk to|speak to|catch|meet) (?:you|ya|u)\b|good\b|have an?\b|enjoy\b|happy\b|merry\b|thanks?\b|thx\b|bye\b|goodbye\b|lol\b|haha|cool\b|great\b|nice\b|perfect\b|sorry\b|welcome\b|until\b|till\b)/i
const ASKED =
  /^(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|am|does|did|do (?:you|i|we|they)|has|have (?:you|i|we|they)|had|will|would|can|could|should|shall|may|might|must|whats|what's|who's|where's|how's)\b/i
const STATED =
  /^(?:i|i'm|i'll|i've|i'd|you|he|she|it|it's|we|we're|we'll|they|there|this|that|the|a|an|my|our|your|his|her|their|if|because|maybe|perhaps|someone|everyone|nobody)\b|\b(?:is|are|was|were|will|has|had|am|isn't|be)\b/i
const NEGATED =
  /\b(?:not|never|no|nothing|nobody|cannot|without)\b|n't\b|\b(?:dont|cant|wont|doesnt|didnt|isnt)\b/i

/** "cancel the gym tomorrow at 9" may be meant of a plan. */
const TAKES_BACK = /^(?:cancel|delete|stop|forget)\b/i

function isTalk(text: string): boolean {
  return TALK.test(text) || ASKED.test(text)
}

function isStatement(text: string): boolean {
  return STATED.test(text)
}

/** Without a lead: "every weekday at 8:30 plan the day", "Call mum. Tomorrow at 9." Possible small talk needs confirmation. */
function unled({ text, isQuestion }: Sentence, place: Place): Meaning | null {
  if (isQuestion || isTalk(text) || NEGATED.test(text)) return null
  const words = wordsOf(text)
  const spans = spansOf(words, place)
  const [first] = spans
  if (first === undefined) {
    const left = timeWordIn(words)
    return left?.rhythm === true && /^(?:every|each|daily|weekly)\b/i.test(text)
      ? unclear('time', ...whyNot(startOf(words), place))
      : null
  }
  if (bothOf(words, place) !== null) return more()
  const read = assemble(words, spans, place)
  if (read.is !== 'remind')
    return read.is === 'unclear' && read.about === 'time' && isStatement(text) ? null : read
  if (isTalk(read.what)) return null
  const guessed =
    read.parsed.schedule.kind === 'once' &&
    read.parsed.notes.some((note) => note.startsWith('no hour given'))
  return settled(read, isStatement(read.what) || guessed || TAKES_BACK.test(read.what))
}

/** The first words, up to where the task may begin. */
function startOf(words: readonly string[]): string {
  return (
    words
      .join(' ')
      .split(/ (?:to|that|about) /i)[0]
      ?.slice(0, 80) ?? ''
  )
}

function settled({ phrase, parsed, what }: Reminder, doubt: boolean): Meaning {
  const reminder = { phrase, parsed, what }
  if (!doubt) return { is: 'remind', ...reminder }
  return { is: 'offer', reminders: [reminder], why: 'I am not sure that you want to be reminded.' }
}

/** Words that continue a time, so that the time before them is incomplete. */
const GOES_ON =
  /^(?:and|or|but|except|excluding|without|unless|until|till|through|between|starting|beginning|before|after|every|other|not|from|by)\b/i
/** Words that may continue the time or begin the task. */
const MAY_GO_ON = /^(?:at|on|in|for|time|or so|ish)\b/i
/** Pronouns: the task is missing. */
const PRONOUN = /^(?:it|that|this|them|these|those|something|again|too|also|then|as well)$/i
const JOINS = /^(?:about|with|regarding|re)\b/i

/** One task and one time, which may be in two places: "on friday … at 9". */
function assemble(words: readonly string[], spans: readonly Span[], place: Place): Meaning {
  const [first, second, ...others] = spans
  if (first === undefined) return withoutTime(words, place)
  if (others.length > 0) return more()
  if (second === undefined) return around(words, [first], pick(first))
  const phrase = `${first.phrase} ${second.phrase}`
  const parsed = timeOf(phrase, place)
  const apart = asThing(words, first)
  // Side by side they are one time that contradicts itself: "every evening at 9am".
  if (parsed === null && second.from === first.to) return unclear('time', ...whyNot(phrase, place))
  if (parsed === null) {
    const follows = words.slice(first.to).join(' ')
    if (apart === null || GOES_ON.test(follows) || MAY_GO_ON.test(follows)) return more()
    return {
      is: 'offer',
      reminders: [apart],
      why: `There are two times in it, “${first.phrase}” and “${second.phrase}”.`,
    }
  }
  const read = around(words, [first, second], { phrase, parsed })
  // "at 9 … on friday" may be a reminder at 9 of something on friday; "on friday … at 9" names its hour once.
  if (read.is !== 'remind' || !isTimeOfDay(first.phrase) || apart === null) return read
  const together = { phrase, parsed, what: read.what }
  return { is: 'offer', reminders: [together, apart], why: 'It can be meant in two ways.' }
}

/** The first time alone; everything after it is the task. */
function asThing(words: readonly string[], first: Span): Reminder | null {
  const what = thingOf(words.slice(first.to))
  return first.from === 0 && what !== '' ? { ...pick(first), what } : null
}

function thingOf(words: readonly string[]): string {
  return words
    .join(' ')
    .replace(CONNECTIVE, '')
    .replace(/[\s,;:.!?-]+$/, '')
    .trim()
}

function around(
  words: readonly string[],
  segments: readonly Span[],
  time: { phrase: string; parsed: Parsed },
): Meaning {
  const first = segments[0]?.from ?? 0
  const last = segments.at(-1)?.to ?? 0
  const before = words.slice(0, first)
  const middle = segments.length > 1 ? words.slice(segments[0]?.to, segments[1]?.from) : []
  const after = words.slice(last)
  const pieces = [before, middle, after].filter((piece) => thingOf(piece) !== '')
  const [piece, tail, ...rest] = pieces
  const follows = after.join(' ')
  if (GOES_ON.test(follows) || GOES_ON.test(middle.join(' ')))
    return limited(follows || middle.join(' '))
  if (piece === undefined) return { is: 'unclear', about: 'what', parsed: time.parsed }
  const joined = tail !== undefined && rest.length === 0 && JOINS.test(tail.join(' '))
  if (tail !== undefined && !joined) {
    return unclear(
      'other',
      `the time stands in the middle of it: put “${time.phrase}” first or last`,
    )
  }
  const what = thingOf(tail === undefined ? piece : [...piece, ...tail])
  const left = timeWordIn(wordsOf(what))
  if (PRONOUN.test(what)) return { is: 'unclear', about: 'what', parsed: time.parsed }
  // "tomorrow at 25:00 …": the time is followed by something that is not a time.
  if (left?.rhythm === true || (left !== null && MAY_GO_ON.test(follows)))
    return limited(left.rhythm ? left.word : follows)
  const reminder = { ...time, what }
  if (left !== null) {
    return { is: 'offer', reminders: [reminder], why: `“${left.word}” in it may be a time.` }
  }
  if (MAY_GO_ON.test(follows)) {
    return {
      is: 'offer',
      reminders: [reminder],
      why: `“${follows.slice(0, 60)}” may go on with the time.`,
    }
  }
  return { is: 'remind', ...reminder }
}

function limited(part: string): Meaning {
  return unclear(
    'time',
    `I cannot put “${part.slice(0, 60)}” and the rest of it into one time; words of time that belong to the thing go in quotes`,
    'phrases that work: “tomorrow at 9”, “every weekday at 8:30”, “every morning at 8”',
  )
}

/** Words in the place of a time: "after lunch", "when I get home". */
const CONDITION =
  /^(?:when|whenever|if|unless|after|before|at|on|in|by|once|while|during|until|as|all|around|later)\b/i

/** A task without a time is kept for the next sentence; an impossible time is explained. */
function withoutTime(words: readonly string[], place: Place): Meaning {
  const text = words.join(' ')
  const what = thingOf(words)
  const left = timeWordIn(words)
  if (CONDITION.test(text))
    return unclear(
      'time',
      'I remind at times, not when something happens: say when, for example "tomorrow at 9"',
    )
  if (left === null && what !== '') return { is: 'unclear', about: 'when', what }
  if (left === null)
    return unclear('time', 'say when, for example "remind me in 10 seconds to stretch"')
  const start = CONNECTED.test(text) ? left.word : startOf(words)
  return unclear('time', ...whyNot(start, place))
}

/** Longer sentences are not split into two reminders. */
const CLAUSES_WORDS_MAX = 40

/** Two reminders joined by "and" or a full stop, each with its own time and task; else null. */
function bothOf(words: readonly string[], place: Place): Meaning | null {
  if (words.length > CLAUSES_WORDS_MAX) return null
  for (const [at, word] of words.entries()) {
    const isAnd = /^(?:and|then|&)$/i.test(word)
    if (at === 0 || !(isAnd || /[;.]$/.test(words[at - 1] ?? ''))) continue
    const one = clauseOf(words.slice(0, at), place)
    const other = clauseOf(words.slice(isAnd ? at + 1 : at), place)
    if (one === null || other === null) continue
    // "tomorrow at 9 … and at 10 …" means tomorrow twice, and says it once.
    if (isTimeOfDay(other.phrase) && !isTimeOfDay(one.phrase)) return more()
    return { is: 'remind_all', reminders: [one, other] }
  }
  return null
}

/** A clause with "to", "that" or "about", so that the clauses do not share a verb. */
function clauseOf(given: readonly string[], place: Place): Reminder | null {
  const text = given.join(' ').replace(/[,;.]+$/, '')
  const inner = LEAD.exec(text.replace(/^(?:also|then|please) /i, ''))
  const said = (
    inner === null ? text : text.replace(/^(?:also|then|please) /i, '').slice(inner[0].length)
  ).trim()
  const words = wordsOf(said)
  const spans = spansOf(words, place)
  const [span] = spans
  if (span === undefined || spans.length > 1) return null
  const thing = span.from === 0 ? words.slice(span.to) : words.slice(0, span.from)
  if (!CONNECTED.test(thing.join(' '))) return null
  const read = around(words, [span], pick(span))
  return read.is === 'remind' ? { phrase: read.phrase, parsed: read.parsed, what: read.what } : null
}
