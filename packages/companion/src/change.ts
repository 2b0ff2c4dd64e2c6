/** Sentences that cancel or move a plan by number, name or time, including negations. */
import { type Meaning, type Place, type Target, unclear } from './meaning.ts'
import { bareWord, wordsOf } from './sentence.ts'
import { spansOf, timeOf, timeWordIn, whyNot } from './when.ts'

const PLAN_NOUN =
  /\b(?:reminders?|alarms?|plans?|alerts?|watch|intents?|report|reports|wake-up|check-ins?|one|it|that|them|those)\b/i
const NAME_EMPTY = new Set(
  'the a an work my our this that these it them those one ones all reminder reminders alarm alarms plan plans alert alerts intent intents watch of about to for on at in me please again anymore'.split(
    ' ',
  ),
)

/** The words that name a plan: "the water reminder" is "water". */
export function nameOf(text: string): string {
  return wordsOf(text)
    .map(bareWord)
    .filter((word) => word !== '' && !NAME_EMPTY.has(word))
    .join(' ')
}

function targetOf(text: string): Target {
  const number = /^(?:the )?(?:#|no\.? ?|number )?(\d{1,3})$/i.exec(text.trim())
  return number === null ? { name: nameOf(text) } : { number: Number(number[1]) }
}

const TAIL = /(?:,? (?:any ?more|any longer|again|ever(?: again)?|at all|now))+$/i
const NOT =
  /^(?:(?:do not|don't|dont|never|no need to|you (?:don't|dont|do not) (?:need|have) to|i (?:don't|dont|do not) (?:want|need) (?:you to|to be)|can you not|could you not|not|please not) (?:remind(?:ed)?|wake|tell|told|ping|message|write|nudge|notify|alert|bother)(?: me)?(?: up)?|(?:stop|quit) (?:reminding|waking|telling|pinging|messaging|writing|nudging|notifying|alerting|bothering)(?: me)?)\b/i
const NO_MORE =
  /^(?:no more|no|i (?:don't|dont|do not) (?:want|need)(?: any)?(?: more)?) (.*\b(?:reminders?|alarms?|messages?|alerts?)\b.*)$/i
const NOT_THEN = /^(?:not|skip|leave out) (.+)$/i

/** "don't remind me tomorrow", "stop reminding me about water", "no reminders on friday", "skip tomorrow". */
export function negation(text: string, place: Place): Meaning | null {
  const not = NOT.exec(text)
  if (not !== null) return takenBack(text.slice(not[0].length), place)
  const more = NO_MORE.exec(text)?.[1]
  if (more !== undefined) return takenBack(more, place)
  const then = NOT_THEN.exec(text)?.[1]
  if (then === undefined) return null
  const { phrase, name } = timed(then, place)
  return phrase !== null || PLAN_NOUN.test(then) ? { is: 'not_then', phrase, name } : null
}

function takenBack(rest: string, place: Place): Meaning {
  const { phrase, name } = timed(rest.replace(TAIL, ''), place)
  if (phrase !== null) return { is: 'not_then', phrase, name }
  if (name !== '') return { is: 'cancel', name }
  return { is: 'stop' }
}

/** The time in a text and the name beside it. Words of time that cannot be parsed count as a time too. */
function timed(text: string, place: Place): { phrase: string | null; name: string } {
  const words = wordsOf(text.trim())
  // "for tomorrow" and "about tomorrow" are said of plans.
  const bare = words.filter((word, i) => i > 0 || !/^(?:for|about|on)$/i.test(word))
  const [span] =
    [spansOf(words, place), spansOf(bare, place)].find((found) => found.length > 0) ?? []
  if (span !== undefined) {
    const used = new Set(wordsOf(span.phrase).map(bareWord))
    return {
      phrase: span.phrase,
      name: nameOf(words.filter((word) => !used.has(bareWord(word))).join(' ')),
    }
  }
  // "the weekly report" is a name; only a whole title is cancelled by it.
  const left = timeWordIn(words.filter((word) => !/^(?:dai|week|month|hour|year)ly$/i.test(word)))
  const rest = left === null ? text : text.toLowerCase().replace(left.word, '')
  return { phrase: left?.word ?? null, name: nameOf(rest) }
}

const CANCEL =
  /^(cancel|delete|remove|forget(?: about)?|stop|drop|clear|turn off|switch off|disable|end|scrap|get rid of|call off|dismiss|undo) (.+)$/i
/** These verbs mean a plan even if the sentence names none. */
const SURE = /^(?:cancel|delete|stop|forget)/i

/** "cancel the water reminder", "forget the dentist", "cancel 2". */
export function cancelling(text: string, place: Place): Meaning | null {
  const found = CANCEL.exec(text)
  if (found === null) return null
  const [, verb = '', rest = ''] = found
  const what = rest.replace(TAIL, '')
  const target = targetOf(what)
  if ('number' in target) return { is: 'cancel', ...target }
  if (/\b(?:and|then|but|not)\b/i.test(what) && PLAN_NOUN.test(what))
    return one('cancel the water reminder')
  const { phrase, name } = timed(what, place)
  if (PLAN_NOUN.test(what) && phrase !== null) return { is: 'not_then', phrase, name }
  if (phrase !== null || !(PLAN_NOUN.test(what) || SURE.test(verb))) return null
  return { is: 'cancel', ...target }
}

const TEND = /^(pause|suspend|resume|unpause|restart|switch on|turn on) (.+)$/i
const RESUMES = /^(?:resume|unpause|restart|switch on|turn on)$/i
const OUTPUTS =
  /^(?:show|read|open|tell|give)(?: me)?(?: the| my)?(?: latest| last| newest)? (?:outputs?|results?|findings?)(?: (?:of|from|for|on))?(?: (.+))?$/i

/** "pause the tea article", "resume 2", "show me the results of AI trends". */
export function tending(text: string): Meaning | null {
  const outputs = OUTPUTS.exec(text)
  if (outputs !== null) return { is: 'outputs', ...targetOf(outputs[1] ?? '') }
  const found = TEND.exec(text)
  if (found === null) return null
  const [, verb = '', what = ''] = found
  return { is: RESUMES.test(verb) ? 'resume' : 'pause', ...targetOf(what) }
}

/** Refuses several requests in one sentence, so that none is dropped silently. */
function one(example: string): Meaning {
  return unclear(
    'two',
    `that is more than one request: write one at a time, for example “${example}”`,
  )
}

const LATER =
  /^(?:postpone|delay|snooze|push(?: back)?|move(?: back)?) (.+?)(?: back)? (by|for) (.+)$/i
const MOVE =
  /^(move|change|reschedule|shift|postpone|delay|push|make|bring|update|set)(?: the time of)? (.+?)(?: back| forward| over)? (?:to|for|until|till) (.+)$/i
const MAKE = /^make (it|that|this|the .+?(?:reminder|alarm)) (.+)$/i

/** "move the dentist reminder to 10am", "postpone water by an hour", "make it 10am". */
export function moving(text: string, place: Place): Meaning | null {
  const later = LATER.exec(text)
  if (later !== null) {
    const [, what = '', word = '', by = ''] = later
    if (timeOf(`in ${by}`, place) !== null) {
      if (word === 'by') return { is: 'postpone', by, ...targetOf(what) }
      return unclear(
        'other',
        `“for ${by}” may count from now or from its own time: write “postpone ${what} by ${by}” or “move ${what} to 10am”`,
      )
    }
  }
  const found = MOVE.exec(text) ?? MAKE.exec(text)?.toSpliced(1, 0, 'make')
  if (found === undefined || found === null) return null
  const [, verb = '', what = '', given = ''] = found
  // "set a reminder for tomorrow" sets one.
  if (/^set$/i.test(verb) && !/^(?:the|my|it|that)\b/i.test(what)) return null
  const named = PLAN_NOUN.test(what) || /^(?:reschedule|postpone)$/i.test(verb)
  const to = given.replace(/ instead$/i, '')
  const isTime = timeOf(to, place) !== null || timeOf(`at ${to}`, place) !== null
  const inName = timeWordIn(wordsOf(what))
  if (isTime && inName === null && !/\band\b/i.test(what)) {
    const phrase = timeOf(to, place) === null ? `at ${to}` : to
    return { is: 'move', to: phrase, ...targetOf(what) }
  }
  if (!named) return null
  return unclear(
    'other',
    isTime
      ? 'name it by its words, not by its time, or by its number'
      : whyNot(to, place).join('; '),
    'write for example “move the dentist reminder to 10am”, or “what is planned?” for the numbers',
  )
}
