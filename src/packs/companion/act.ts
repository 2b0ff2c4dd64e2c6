/** Carries out what a sentence means through the turn's own wishes, and says what was done. */

import type { Turn } from '../../agents/function.ts'
import type { Planned } from '../../agents/planned.ts'
import { LABEL_MAX } from '../../core/alarms/fields.ts'
import { Refusal } from '../../core/errors.ts'
import type { Meaning, Place } from './understand.ts'
import { helpText, notesText, plannedText, planText, quoted, timeText, whyText } from './words.ts'

export interface Answer {
  readonly text: string
  /** Whether to check in when the user stays silent. */
  readonly checkIn: boolean
}

const TRY =
  'Try “remind me in 10 seconds to stretch”, “tell me when NVDA is below 130”, “what is planned?” or “help”.'

type Of<K extends Meaning['is']> = Extract<Meaning, { is: K }>

/** The zone the user named; UTC until then. */
export function placeOf(turn: Turn): Place {
  const { timezone } = turn.state
  return { timezone: typeof timezone === 'string' ? timezone : 'UTC', now: turn.startedAt }
}

export async function act(turn: Turn, meaning: Meaning, said: string): Promise<Answer> {
  try {
    return await carryOut(turn, meaning, said)
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
      return remind(turn, meaning, place)
    case 'report':
      return report(turn, meaning, place)
    case 'price':
    case 'silence':
    case 'news':
      return watch(turn, meaning, place)
    case 'zone':
      turn.state.timezone = meaning.zone
      return saying(
        `From now on I read times in ${meaning.zone}. What is planned already stays as it is.`,
      )
    case 'planned': {
      const plans = await turn.planned()
      remember(turn, plans)
      return { text: plannedText(plans, place), checkIn: plans.length === 0 }
    }
    case 'why':
      return saying(whyText(await turn.explained(), place))
    case 'cancel':
      return cancel(turn, meaning.number, place)
    case 'stop':
    case 'stop_all':
      return stop(turn, meaning.is, place)
    case 'hello':
      return saying(`Hello. I keep promises in time. ${TRY}`)
    case 'help':
      return saying(helpText(place.timezone))
    case 'unclear':
      return saying(unclearText(meaning, said, place))
  }
}

/** Nothing of this agent's is ahead, so its check-ins stand in nothing's way. */
export async function isIdle(turn: Turn, ending: string | null = null): Promise<boolean> {
  const plans = await turn.planned()
  return !plans.some(({ kind, id, again }) => kind !== 'follow_up' && (again || id !== ending))
}

function remind(turn: Turn, { phrase, parsed, what }: Of<'remind'>, place: Place): Answer {
  const { timezone } = place
  const label = what.slice(0, LABEL_MAX).replace(/\p{Surrogate}$/u, '')
  turn.setAlarm({ schedule: phrase, timezone, wake_message: what, label })
  const text = `I will remind you ${timeText(parsed, place)}: ${quoted(what)}${notesText(parsed)}.`
  return { text: `${text} Say “what is planned?” to see it, “stop” to cancel it.`, checkIn: false }
}

function report(turn: Turn, { phrase, parsed }: Of<'report'>, place: Place): Answer {
  const { timezone } = place
  turn.createWork({
    task: phrase === null ? 'Report on what happened' : `Report ${phrase}`,
    agent_type: 'reporting',
    frequency: phrase ?? 'once',
    timezone,
    parameters: { notify_session: turn.session.key },
  })
  const text =
    parsed === null
      ? 'I am writing a report on what happened lately; it comes here when it is ready.'
      : `I will report ${timeText(parsed, place)}${notesText(parsed)}. A first report comes at once.`
  return { text, checkIn: false }
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': 'below',
  '<=': 'at or below',
  '>': 'above',
  '>=': 'at or above',
}

async function watch(
  turn: Turn,
  meaning: Of<'price'> | Of<'silence'> | Of<'news'>,
  { timezone }: Place,
): Promise<Answer> {
  const common = { timezone, trigger_type: meaning.is }
  if (meaning.is === 'price') {
    const { ticker, operator, value, always } = meaning
    const condition = `${ticker} is ${OPERATORS[operator] ?? operator} ${value}`
    await turn.createIntent({
      ...common,
      intent_name: condition,
      trigger_condition: { ticker, operator, value },
      action_context: `${condition}.`,
      ...(always ? {} : { max_executions: 1 }),
    })
    const often = always ? 'each time' : 'the first time'
    const text = `I will tell you ${often} ${condition}. Prices come from WAKEFUL_PRICE_URL or POST /v1/signals.`
    return { text, checkIn: false }
  }
  if (meaning.is === 'silence') {
    await turn.createIntent({
      ...common,
      intent_name: `Silent for ${meaning.span}`,
      action_type: 'check_in',
      trigger_condition: { threshold_hours: meaning.hours },
      action_context: `You have been silent for ${meaning.span}. All well?`,
    })
    return {
      text: `I will check in when I have not heard from you for ${meaning.span}.`,
      checkIn: false,
    }
  }
  const words = meaning.keywords.map(quoted).join(' or ')
  await turn.createIntent({
    ...common,
    intent_name: `News on ${meaning.keywords.join(' or ')}`.slice(0, 256),
    trigger_condition: { keywords: meaning.keywords },
    action_context: `In the news: ${meaning.keywords.join(' or ')}.`,
  })
  const text = `I will tell you when a headline mentions ${words}. News comes from WAKEFUL_FEEDS or POST /v1/signals.`
  return { text, checkIn: false }
}

type Listed = Pick<Planned, 'kind' | 'id'>

/** Numbers stay what they were when they were told. */
function remember(turn: Turn, plans: readonly Planned[]): void {
  turn.state.listed = plans.map(({ kind, id }): Listed => ({ kind, id }))
}

async function cancel(turn: Turn, number: number, place: Place): Promise<Answer> {
  const plans = await turn.planned()
  const listed = Array.isArray(turn.state.listed) ? (turn.state.listed as Listed[]) : null
  const wanted = (listed ?? plans)[number - 1]
  const plan = plans.find(({ kind, id }) => kind === wanted?.kind && id === wanted.id)
  if (plan === undefined) {
    remember(turn, plans)
    const why = wanted === undefined ? `There is no number ${number}.` : `Number ${number} is over.`
    return { text: `${why} ${plannedText(plans, place)}`, checkIn: plans.length === 0 }
  }
  if (listed === null) remember(turn, plans)
  withdraw(turn, plan)
  return { text: `Cancelled: ${planText(plan, place)}.`, checkIn: false }
}

async function stop(turn: Turn, how: 'stop' | 'stop_all', place: Place): Promise<Answer> {
  const plans = await turn.planned()
  if (plans.length > 1 && how === 'stop') {
    remember(turn, plans)
    return { text: `Which one? ${plannedText(plans, place)}`, checkIn: false }
  }
  for (const plan of plans) withdraw(turn, plan)
  delete turn.state.listed
  const [only] = plans
  if (only === undefined)
    return {
      text: 'Nothing is planned, and I will not check in. I am here when you write.',
      checkIn: false,
    }
  const what = plans.length === 1 ? planText(only, place) : `all ${plans.length} that were planned`
  return { text: `Cancelled: ${what}. I am quiet until you write.`, checkIn: false }
}

export function withdraw(turn: Turn, { kind, id }: Listed): void {
  if (kind === 'follow_up') turn.cancelFollowUp(id)
  else if (kind === 'alarm') turn.cancelAlarm(id)
  else if (kind === 'intent') turn.deleteIntent(id)
  else turn.deleteWork(id)
}

function unclearText(meaning: Of<'unclear'>, said: string, { timezone }: Place): string {
  const heard = `You said: ${quoted(said)}.`
  if (meaning.about === 'anything') return `${heard} I found no wish in it. ${TRY}`
  const why = meaning.errors.join('; ')
  if (meaning.about === 'zone')
    return `${heard} ${why}. Write one such as “my time zone is Europe/Berlin”.`
  if (meaning.about === 'what')
    return `${heard} But ${why} Write for example “remind me in 10 seconds to stretch”.`
  return `${heard} I did not find a time in it: ${why}. Times are read in ${timezone}.`
}
