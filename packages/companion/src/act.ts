/** Carries out what a sentence means, through the turn's actions, and reports what was done. */

import * as commands from '../../../src/agents/commands.ts'
import type { Turn } from '../../../src/agents/function.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { LABEL_MAX } from '../../../src/features/alarms/fields.ts'
import { type Asked, keptOf, resumed } from './asking.ts'
import { COMPARED } from './compose.ts'
import type { Meaning, Place, Reminder } from './meaning.ts'
import { type Answer, cancel, move, notThen, outputs, pause, resume, stop, tell } from './plans.ts'
import { besideOthers } from './preferences.ts'
import {
  helpText,
  missedText,
  notesText,
  preferencesText,
  quoted,
  timeText,
  whyText,
  zoneText,
} from './replies.ts'

const TRY =
  'Try “remind me in 10 seconds to stretch”, “tell me when NVDA is below 130”, “what is planned?” or “help”.'

type Of<K extends Meaning['is']> = Extract<Meaning, { is: K }>

/** The zone that the user named in this session, else their known zone, else the server's. */
export function placeOf(turn: Turn): Place {
  const { timezone } = turn.state
  const zone = typeof timezone === 'string' ? timezone : turn.person.timezone
  return { timezone: zone, now: turn.startedAt }
}

export async function act(turn: Turn, meaning: Meaning, said: string): Promise<Answer> {
  const asked = turn.state.asked as Asked | undefined
  delete turn.state.asked
  const answer = asked === undefined ? null : resumed(asked, meaning, said, placeOf(turn))
  try {
    return await carryOut(turn, answer ?? meaning, said)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const text = `I cannot do that: ${error.errors.join('; ')}.`
    return { text, checkIn: await isIdle(turn) }
  }
}

async function carryOut(turn: Turn, meaning: Meaning, said: string): Promise<Answer> {
  const place = placeOf(turn)
  const saying = async (text: string) => ({ text, checkIn: await isIdle(turn) })
  switch (meaning.is) {
    case 'remind':
      return remind(turn, [meaning], place)
    case 'remind_all':
      return remind(turn, meaning.reminders, place)
    case 'offer':
      return offer(turn, meaning, place)
    case 'report':
      return report(turn, meaning, place)
    case 'work':
      return work(turn, meaning, place)
    case 'price':
    case 'silence':
    case 'news':
      return watch(turn, meaning, place)
    case 'zone':
      turn.state.timezone = meaning.zone
      turn.setPreferences({ timezone: meaning.zone })
      return saying(
        `From now on I read times in ${meaning.zone}. What is planned already stays as it is.`,
      )
    case 'preferences': {
      const asked = besideOthers(meaning.wish, turn.person.quietHours)
      turn.setPreferences({ ...asked.wish, ...knownZone(turn, place) })
      return { text: preferencesText(asked, place), checkIn: false }
    }
    case 'missed':
      return { text: missedText(await turn.deferred(), place), checkIn: false }
    case 'planned':
      return tell(turn, meaning, place)
    case 'why':
      return saying(whyText(await turn.explained(), place))
    case 'cancel':
      return cancel(turn, meaning, place)
    case 'move':
    case 'postpone':
      return move(turn, meaning, place)
    case 'pause':
      return pause(turn, meaning, place)
    case 'resume':
      return resume(turn, meaning, place)
    case 'outputs':
      return outputs(turn, meaning, place)
    case 'not_then':
      return notThen(turn, meaning, place)
    case 'stop':
      return stop(turn, false, null, place)
    case 'stop_all':
      return stop(turn, true, meaning.only, place)
    case 'unclear':
      return saying(unclearText(turn, meaning, said, place))
    default:
      return saying(talkText(meaning, place, isZoneKnown(turn)))
  }
}

const isZoneKnown = (turn: Turn) =>
  turn.person.timezoneKnown || typeof turn.state.timezone === 'string'

/** The zone named in this session, to be stored with the preferences. */
function knownZone(turn: Turn, { timezone }: Place): { timezone?: string } {
  return typeof turn.state.timezone === 'string' ? { timezone } : {}
}

/** Replies that change nothing. */
function talkText(
  meaning: Of<'hello' | 'thanks' | 'help' | 'yes' | 'no' | 'pick'>,
  { timezone }: Place,
  known: boolean,
): string {
  switch (meaning.is) {
    case 'hello':
      return `Hello. I keep promises in time. ${zoneText(timezone, known)} ${TRY}`
    case 'thanks':
      return 'You are welcome.'
    case 'help':
      return helpText(zoneText(timezone, known))
    case 'no':
      return 'All right, nothing was changed. Say “what is planned?” for what is.'
    case 'yes':
      return `I have not asked anything. ${TRY}`
    case 'pick':
      return `Number ${meaning.number} of what? Say “what is planned?”, or “cancel ${meaning.number}”.`
  }
}

/** Whether this agent has nothing scheduled, so that check-ins are allowed. */
export async function isIdle(turn: Turn, ending: string | null = null): Promise<boolean> {
  const plans = await commands.planned(turn)
  return !plans.some(({ kind, id, again }) => kind !== 'follow_up' && (again || id !== ending))
}

function remind(turn: Turn, reminders: readonly Reminder[], place: Place): Answer {
  const { timezone } = place
  const told = reminders.map(({ phrase, parsed, what }) => {
    const label = what.slice(0, LABEL_MAX).replace(/\p{Surrogate}$/u, '')
    commands.setAlarm(turn, { schedule: phrase, timezone, wake_message: what, label })
    return `I will remind you ${timeText(parsed, place)}: ${quoted(what)}${notesText(parsed)}.`
  })
  const it = reminders.length === 1 ? 'it' : 'them'
  const text = `${told.join('\n')} Say “what is planned?” to see ${it}, “stop” to cancel ${it}.`
  return { text, checkIn: false }
}

/** Asks for confirmation before anything is set. */
function offer(turn: Turn, { reminders, why }: Of<'offer'>, place: Place): Answer {
  turn.state.asked = { about: 'remind', reminders: reminders.map(keptOf) } satisfies Asked
  const each = reminders.map(
    (one) => `${timeText(one.parsed, place)}: ${quoted(one.what)}${notesText(one.parsed)}`,
  )
  const [only = ''] = each
  if (each.length === 1)
    return { text: `${why} Shall I remind you ${only}? Say “yes” or “no”.`, checkIn: false }
  const list = each.map((text, index) => `${index + 1}. ${text}`).join('\n')
  return { text: `${why} Shall I remind you\n${list}\nSay the number, or “no”.`, checkIn: false }
}

function report(turn: Turn, { phrase, parsed }: Of<'report'>, place: Place): Answer {
  const { timezone } = place
  commands.createWork(turn, {
    task: phrase === null ? 'Report on what happened' : `Report ${phrase}`,
    agent_type: 'reporting',
    frequency: phrase ?? 'once',
    timezone,
  })
  const text =
    parsed === null
      ? 'I am writing a report on what happened lately; it comes here when it is ready.'
      : `I will report ${timeText(parsed, place)}${notesText(parsed)}. A first report comes at once.`
  return { text, checkIn: false }
}

const DOES = { research: 'look into', content: 'write' } as const

function work(turn: Turn, { type, task, phrase, parsed }: Of<'work'>, place: Place): Answer {
  commands.createWork(turn, {
    task,
    agent_type: type,
    frequency: phrase ?? 'once',
    timezone: place.timezone,
  })
  const what = `I will ${DOES[type]} this ${parsed === null ? 'now' : timeText(parsed, place)}: ${quoted(task)}`
  const then =
    parsed === null
      ? 'What comes of it is told here.'
      : `The first one comes at once, and each is told here${notesText(parsed)}.`
  return { text: `${what}. ${then}`, checkIn: false }
}

async function watch(
  turn: Turn,
  meaning: Of<'price'> | Of<'silence'> | Of<'news'>,
  { timezone }: Place,
): Promise<Answer> {
  const common = { timezone, trigger_type: meaning.is }
  if (meaning.is === 'price') {
    const { ticker, operator, value, always } = meaning
    const condition = `${ticker} is ${COMPARED[operator] ?? operator} ${value}`
    await commands.createIntent(turn, {
      ...common,
      intent_name: condition,
      trigger_condition: { ticker, operator, value },
      action_context: `Tell the user that ${condition}.`,
      ...(always ? {} : { max_executions: 1 }),
    })
    const often = always ? 'each time' : 'the first time'
    const text = `I will tell you ${often} ${condition}. Prices come from WAKEFUL_PRICE_URL or POST /v1/signals.`
    return { text, checkIn: false }
  }
  if (meaning.is === 'silence') {
    await commands.createIntent(turn, {
      ...common,
      intent_name: `Silent for ${meaning.span}`,
      action_type: 'check_in',
      trigger_condition: { threshold_hours: meaning.hours },
      action_context: 'Check in with the user.',
    })
    return {
      text: `I will check in when I have not heard from you for ${meaning.span}.`,
      checkIn: false,
    }
  }
  const words = meaning.keywords.map(quoted).join(' or ')
  await commands.createIntent(turn, {
    ...common,
    intent_name: `News on ${meaning.keywords.join(' or ')}`.slice(0, 256),
    trigger_condition: { keywords: meaning.keywords },
    action_context: `In the news: ${meaning.keywords.join(' or ')}.`,
  })
  const text = `I will tell you when a headline mentions ${words}. News comes from WAKEFUL_FEEDS or POST /v1/signals.`
  return { text, checkIn: false }
}

function unclearText(turn: Turn, meaning: Of<'unclear'>, said: string, place: Place): string {
  const heard = `You said: ${quoted(said)}.`
  switch (meaning.about) {
    case 'anything':
      return `${heard} I found no wish in it. ${TRY}`
    case 'zone':
      return `${heard} ${meaning.errors.join('; ')}. Write one such as “my time zone is Europe/Berlin”.`
    case 'what':
      turn.state.asked = { about: 'what', schedule: meaning.parsed.canonical } satisfies Asked
      return `What shall I say ${timeText(meaning.parsed, place)}${notesText(meaning.parsed)}? Write for example “call mum”.`
    case 'when':
      turn.state.asked = { about: 'when', what: meaning.what } satisfies Asked
      return `When shall I say ${quoted(meaning.what)}? Say when, for example “tomorrow at 9”. Times are read in ${place.timezone}.`
    case 'time':
      return `${heard} I did not find a time in it: ${meaning.errors.join('; ')}. Times are read in ${place.timezone}.`
    default:
      return `${heard} I did nothing: ${meaning.errors.join('; ')}.`
  }
}
