/**
 * The message for an intent that came true, without a model: the fact first, then the instruction, rephrased from
 * "tell the user …" to address the user. Pure.
 */
import { quoted } from './replies.ts'

/** An intent's event. */
export interface Fired {
  readonly intent_id: string
  readonly intent_name: string
  readonly trigger_type: string
  readonly action_context: string
  readonly trigger_data: Readonly<Record<string, unknown>> | null
  readonly missed_count?: number
}

export function composed(fired: Fired): string {
  const { trigger_type, trigger_data, action_context, missed_count: missed = 0 } = fired
  const fact = factText(trigger_type, trigger_data ?? {})
  const wish = saysTheSame(action_context, trigger_type, trigger_data ?? {})
    ? ''
    : addressed(action_context)
  const more = missed > 0 ? `${missed} more were missed meanwhile.` : ''
  return [fact, wish, more].filter((part) => part !== '').join(' ')
}

export const COMPARED: Readonly<Record<string, string>> = {
  '<': 'below',
  '<=': 'at or below',
  '>': 'above',
  '>=': 'at or above',
}

type Data = Readonly<Record<string, unknown>>
const textIn = (data: Data, name: string) => {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

function factText(type: string, data: Data): string {
  switch (type) {
    case 'price': {
      const compared = COMPARED[textIn(data, 'operator')]
      const named = compared === undefined ? '' : `, ${compared} the ${data.value} you named`
      return `${textIn(data, 'ticker')} is at ${data.price}${named}.`
    }
    case 'silence':
      return `I have not heard from you for ${spanText(Number(data.silent_hours ?? data.threshold_hours))}.`
    case 'news': {
      const url = textIn(data, 'url')
      return `In the news${keywordText(data)}: ${quoted(textIn(data, 'headline'))}${url === '' ? '.' : ` (${url}).`}`
    }
    case 'event': {
      const text = textIn(data, 'text')
      return `It has happened${keywordText(data)}: ${quoted(textIn(data, 'name'))}${text === '' ? '.' : `, ${quoted(text)}.`}`
    }
    case 'calendar': {
      const minutes = Number(data.minutes_left)
      const when = minutes === 1 ? 'in one minute' : `in ${minutes} minutes`
      return `${quoted(textIn(data, 'title'))} begins ${minutes > 0 ? when : 'now'}.`
    }
    default:
      return ''
  }
}

function keywordText(data: Data): string {
  const keyword = textIn(data, 'keyword')
  return keyword === '' ? '' : `, on ${keyword}`
}

function spanText(hours: number): string {
  const [count, unit] =
    hours < 1
      ? [Math.max(1, Math.round(hours * 60)), 'minute']
      : hours < 48
        ? [Math.floor(hours), 'hour']
        : [Math.floor(hours / 24), 'day']
  return count === 1 ? `one ${unit}` : `${count} ${unit}s`
}

const STATES_PRICE = new Set(
  'the a price of is has now at fallen falls fell dropped drops risen rises rose gone goes went and or below under above over less more than least most to'.split(
    ' ',
  ),
)
const IN_THE_NEWS = /^in the news: .+\.$/i

/** Whether the instruction only repeats the condition. */
function saysTheSame(context: string, type: string, data: Data): boolean {
  if (type === 'news') return IN_THE_NEWS.test(context)
  if (type !== 'price') return false
  const own = new Set([textIn(data, 'ticker').toLowerCase(), String(data.value)])
  return withoutLead(context)
    .toLowerCase()
    .split(/[\s,;:!?$<>=]+|\.(?=\s|$)/)
    .every((word) => word === '' || own.has(word) || STATES_PRICE.has(word))
}

const WHOM = '(?:the user|the person|them|him|her|me|us)'
const TELLS = new RegExp(
  `^(?:please )?(?:(?:tell|inform|notify|alert|warn|message|remind) ${WHOM} that|let ${WHOM} know that|say that)\\s+`,
  'i',
)

function withoutLead(context: string): string {
  return context.trim().replace(TELLS, '')
}

/** Openings of instructions about the user, and how each is rephrased to address the user. */
const LEADS: readonly (readonly [lead: RegExp, say: (rest: string) => string])[] = [
  [TELLS, (rest) => rest],
  [
    lead(`(?:tell|inform|notify|alert|warn|message) ${WHOM} (?:about|of)`),
    (rest) => `It is about ${rest}`,
  ],
  [lead(`let ${WHOM} know (?:about|of)`), (rest) => `It is about ${rest}`],
  [lead(`(?:remind|tell) ${WHOM} to`), (rest) => `Remember to ${rest}`],
  [lead(`remind ${WHOM} (?:about|of)`), (rest) => `Remember ${rest}`],
  [lead(`ask ${WHOM} to`), (rest) => `Please ${rest}`],
  [lead(`ask ${WHOM} about`), (rest) => `I would like to hear about ${rest}`],
  [
    lead(`ask ${WHOM}(?= (?:if|whether|how|what|when|where|why|which|who)\\b)`),
    (rest) => `I would like to know ${rest}`,
  ],
  [lead(`(?:check in|check up) (?:with|on) ${WHOM}|check on ${WHOM}`), checkIn],
  [lead(`(?:suggest|propose)(?: to ${WHOM})?(?: that)?`), (rest) => `I suggest ${rest}`],
  [lead(`encourage ${WHOM} to`), (rest) => `You can do it: ${rest}`],
  [lead(`wish ${WHOM}`), (rest) => `I wish you ${rest}`],
  [lead(`(?:greet) ${WHOM}`), (rest) => `Hello${rest === '' ? '' : `, ${rest}`}`],
]

function lead(words: string): RegExp {
  return new RegExp(`^(?:please )?(?:${words})(?![\\w'])[\\s,:]*`, 'i')
}

function checkIn(rest: string): string {
  return /[\p{L}\p{N}]/u.test(rest) ? `All well? I wanted to check in ${rest}` : 'All well?'
}

/** Text that already addresses the user, or states a fact, is used as it is. */
const TO_YOU = /\b(?:you|your|you're|you'll)\b/i
const STATES = /\b(?:is|are|was|were|has|have|will|begins?|starts?|ends?|it's)\b/i

function addressed(context: string): string {
  const text = context.trim()
  for (const [pattern, say] of LEADS) {
    if (!pattern.test(text)) continue
    return sentence(toYou(say(text.replace(pattern, ''))))
  }
  if (TO_YOU.test(text) || STATES.test(text)) return sentence(toYou(text))
  return sentence(`It is time for what you had in mind: ${toYou(text)}`)
}

const PERSONS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:the user|the person) (?:is|has been)\b/gi, 'you are'],
  [/\b(?:the user|the person) has\b/gi, 'you have'],
  [/\b(?:the user|the person)(?:'s|’s)(?![\w'])/gi, 'your'],
  [/\b(?:the user|the person)\b/gi, 'you'],
]

function toYou(text: string): string {
  return PERSONS.reduce((said, [who, you]) => said.replaceAll(who, you), text)
}

function sentence(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const [first = '', ...rest] = trimmed
  const whole = `${first.toUpperCase()}${rest.join('')}`
  return /[.!?…]["”’)]?$/.test(whole) ? whole : `${whole}.`
}
