/** What is done with existing plans: list, cancel, move, pause, resume, read. A plan is named by its number in the last list, or by words of its title. */
import * as commands from '../../../src/agents/commands.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { Planned } from '../../../src/agents/reads.ts'
import type { WorkChangeRequest } from '../../../src/agents/requests.ts'
import {
  atOtherTime,
  isTimeOfDay,
  next,
  type Parsed,
  parseCron,
  parsePhrase,
  ScheduleError,
} from '../../schedule/src/index.ts'
import { dayBounds, localDay, zoneOf } from '../../schedule/src/zone.ts'
import type { Asked } from './asking.ts'
import { outputsText } from './held.ts'
import type { Meaning, Place, Target } from './meaning.ts'
import { listText, notesText, plannedText, planText, quoted, timeText } from './replies.ts'
import { bareWord, wordsOf } from './sentence.ts'
import { timeOf } from './when.ts'

export interface Answer {
  readonly text: string
  /** Whether to check in when the user stays silent. */
  readonly checkIn: boolean
}

type Of<K extends Meaning['is']> = Extract<Meaning, { is: K }>
type Listed = Pick<Planned, 'kind' | 'id'>

const said = (text: string): Answer => ({ text, checkIn: false })

/** Numbers refer to the last list sent. */
function remember(turn: Turn, plans: readonly Planned[]): void {
  turn.state.listed = plans.map(({ kind, id }): Listed => ({ kind, id }))
}

function ask(turn: Turn, asked: Asked): void {
  turn.state.asked = asked
}

/** "reminders" and "reminder" are one word. */
function stem(word: string): string {
  return word.length > 3 ? word.replace(/s$/, '') : word
}

export function matching(plans: readonly Planned[], name: string): Planned[] {
  const wanted = wordsOf(name).map((word) => stem(bareWord(word)))
  // "it" is never a check-in while something else is there.
  const own = plans.filter(({ kind }) => kind !== 'follow_up')
  if (wanted.length === 0) return own.length > 0 ? own : [...plans]
  return plans.filter(({ title }) => {
    const words = new Set(wordsOf(title).map((word) => stem(bareWord(word))))
    return wanted.every((word) => words.has(word))
  })
}

/** Whether the plan is due on the local day of the phrase; true if the phrase names no day. */
function isThen(plan: Planned, phrase: string | null, place: Place): boolean {
  const parsed = phrase === null ? null : timeOf(phrase, place)
  if (parsed === null || parsed.schedule.kind !== 'once' || parsed.schedule.at === null) return true
  if (plan.next_at === null) return false
  const zone = zoneOf(place.timezone)
  const { from, to } = dayBounds(zone, localDay(zone, parsed.schedule.at))
  const due = plan.next_at.getTime()
  if (due >= from && due < to) return true
  if (plan.rhythm === null || due >= to) return false
  const { schedule } = parseCron(plan.rhythm, plan.timezone)
  const anchor = schedule.kind === 'every' ? due - schedule.everyMs : due
  const [at] = next(schedule, from - 1, { anchor })
  return at !== undefined && at < to
}

export async function tell(
  turn: Turn,
  { name, phrase }: Of<'planned'>,
  place: Place,
): Promise<Answer> {
  const plans = await commands.planned(turn)
  const shown = (name === '' ? plans : matching(plans, name)).filter((plan) =>
    isThen(plan, phrase, place),
  )
  const limit = [
    ...(name === '' ? [] : [`with ${quoted(name)}`]),
    ...(phrase === null ? [] : [phrase]),
  ]
  if (limit.length > 0 && shown.length === 0) {
    remember(turn, plans)
    return said(`Nothing is planned ${limit.join(' ')}. ${plannedText(plans, place)}`)
  }
  remember(turn, shown)
  return { text: plannedText(shown, place), checkIn: plans.length === 0 }
}

type Found = { readonly plan: Planned } | { readonly answer: Answer }

/** Finds the plan that is meant, by default among the scheduled ones. None found: answers with a list. Several: asks for a number. */
export async function find(
  turn: Turn,
  target: Target,
  then: Asked,
  place: Place,
  among?: readonly Planned[],
): Promise<Found> {
  const plans = among ?? (await commands.planned(turn))
  if ('number' in target) return numbered(turn, plans, target.number, place)
  const matches = matching(plans, target.name)
  const [plan] = matches
  if (plan === undefined) {
    const idle = among === undefined ? await pausedAs(turn, target.name, then) : null
    if (idle !== null) return idle
    remember(turn, plans)
    const why = target.name === '' ? '' : `I know no plan with ${quoted(target.name)}. `
    return { answer: { text: `${why}${plannedText(plans, place)}`, checkIn: plans.length === 0 } }
  }
  if (matches.length === 1) return { plan }
  remember(turn, matches)
  ask(turn, { ...then, ...('count' in then ? { count: matches.length } : {}) })
  return { answer: said(`Which one? Say its number.\n${listText(matches, place)}`) }
}

/** Paused work and intents, which are not among the scheduled plans. */
export async function paused(turn: Turn): Promise<Planned[]> {
  const work = (await commands.listWork(turn)).filter(
    (each) => !each.is_active && each.frequency !== 'once',
  )
  const intents = (await commands.listIntents(turn)).filter((each) => !each.enabled)
  const idle = { next_at: null, again: true, rhythm: null }
  return [
    ...work.map(({ id, task: title, description: when, timezone }): Planned => {
      return { kind: 'work', id, title, when, timezone, ...idle }
    }),
    ...intents.map(({ id, intent_name: title, description: when, timezone }): Planned => {
      return { kind: 'intent', id, title, when, timezone, ...idle }
    }),
  ]
}

/** A paused plan with this name. It can be cancelled; for anything else it has to be resumed first. */
async function pausedAs(turn: Turn, name: string, { about }: Asked): Promise<Found | null> {
  const [plan, other] = name === '' ? [] : matching(await paused(turn), name)
  if (plan === undefined || other !== undefined) return null
  if (about === 'cancel') return { plan }
  const title = plan.title.slice(0, 60)
  return { answer: said(`${quoted(title)} is paused. Say “resume ${title}” to go on with it.`) }
}

function numbered(turn: Turn, plans: readonly Planned[], number: number, place: Place): Found {
  const listed = Array.isArray(turn.state.listed) ? (turn.state.listed as Listed[]) : null
  const wanted = (listed ?? plans)[number - 1]
  const plan = plans.find(({ kind, id }) => kind === wanted?.kind && id === wanted.id)
  if (plan !== undefined) {
    if (listed === null) remember(turn, plans)
    return { plan }
  }
  remember(turn, plans)
  const why = wanted === undefined ? `There is no number ${number}.` : `Number ${number} is over.`
  return { answer: { text: `${why} ${plannedText(plans, place)}`, checkIn: plans.length === 0 } }
}

export async function cancel(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const found = await find(turn, target, { about: 'cancel', count: 0 }, place)
  if ('answer' in found) return found.answer
  withdraw(turn, found.plan)
  return said(`Cancelled: ${planText(found.plan, place)}.`)
}

/** Lists what is due then and offers to cancel it; a single occurrence cannot be skipped. */
export async function notThen(
  turn: Turn,
  { phrase, name }: Of<'not_then'>,
  place: Place,
): Promise<Answer> {
  const plans = await commands.planned(turn)
  const due = matching(plans, name).filter(
    (plan) => plan.next_at !== null && isThen(plan, phrase, place),
  )
  const when = phrase === null ? '' : ` ${phrase}`
  const named = name === '' ? '' : ` with ${quoted(name)}`
  if (due.length === 0) {
    remember(turn, plans)
    return said(
      `Nothing${named} is planned${when}, so there is nothing to leave out. ${plannedText(plans, place)}`,
    )
  }
  remember(turn, due)
  ask(turn, { about: 'cancel', count: due.length })
  const question =
    due.length === 1
      ? 'Shall I cancel it? Say “yes” or “no”.'
      : 'Which one shall I cancel? Say its number, or “no”.'
  const whole = due.some(({ again }) => again)
    ? ' One that repeats ends altogether: I cannot leave out a single time.'
    : ''
  return said(`This is planned${when}:\n${listText(due, place)}\n${question}${whole}`)
}

export async function stop(
  turn: Turn,
  all: boolean,
  only: 'alarm' | null,
  place: Place,
): Promise<Answer> {
  const plans = (await commands.planned(turn)).filter(({ kind }) => only === null || kind === only)
  if (plans.length > 1 && !all) {
    remember(turn, plans)
    ask(turn, { about: 'cancel', count: plans.length })
    return said(`Which one? ${plannedText(plans, place)}`)
  }
  for (const plan of plans) withdraw(turn, plan)
  delete turn.state.listed
  const [first] = plans
  if (first === undefined)
    return said('Nothing is planned, and I will not check in. I am here when you write.')
  const what = plans.length === 1 ? planText(first, place) : `all ${plans.length} that were planned`
  return said(`Cancelled: ${what}.${only === null ? ' I am quiet until you write.' : ''}`)
}

export function withdraw(turn: Turn, { kind, id }: Listed): void {
  if (kind === 'follow_up') turn.cancel(id)
  else if (kind === 'alarm') commands.cancelAlarm(turn, id)
  else if (kind === 'intent') commands.deleteIntent(turn, id)
  else commands.deleteWork(turn, id)
}

export async function move(
  turn: Turn,
  meaning: Of<'move'> | Of<'postpone'>,
  place: Place,
): Promise<Answer> {
  const then: Asked =
    meaning.is === 'move'
      ? { about: 'move', to: meaning.to, count: 0 }
      : { about: 'postpone', by: meaning.by, count: 0 }
  const found = await find(turn, meaning, then, place)
  if ('answer' in found) return found.answer
  const { plan } = found
  const movable = plan.kind === 'alarm' || (plan.kind === 'work' && meaning.is === 'move')
  if (!movable || plan.next_at === null)
    return said(
      `Only reminders and the rhythm of work can be moved; this is neither: ${planText(plan, place)}. Say “cancel” and ask again.`,
    )
  try {
    const parsed =
      meaning.is === 'move'
        ? movedTo(plan, plan.next_at, meaning.to, place)
        : later(plan, plan.next_at, meaning.by, place)
    const { canonical, schedule } = parsed
    const id =
      plan.kind === 'work'
        ? await retimed(turn, plan.id, { frequency: canonical, timezone: schedule.timezone })
        : await commands.moveAlarm(turn, plan.id, {
            schedule: canonical,
            timezone: schedule.timezone,
          })
    if (id === null) return said(`That is over already: ${planText(plan, place)}.`)
    const listed = Array.isArray(turn.state.listed) ? (turn.state.listed as Listed[]) : []
    turn.state.listed = listed.map((each) => (each.id === plan.id ? { ...each, id } : each))
    return said(
      `Moved: ${quoted(plan.title)} comes ${timeText(parsed, place)}${notesText(parsed)}; it was ${planText(plan, place)}.`,
    )
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    return said(`Nothing was changed: ${planText(plan, place)}. ${error.errors.join('; ')}.`)
  }
}

/** Work keeps its id. */
async function retimed(turn: Turn, id: string, to: WorkChangeRequest): Promise<string | null> {
  return (await commands.updateWork(turn, id, to)) ? id : null
}

/** A time alone keeps the day, a day alone keeps the time, a recurring plan keeps its days. Throws `ScheduleError`. */
function movedTo(plan: Planned, at: Date, to: string, { timezone, now }: Place): Parsed {
  const from = { timezone, now: now.getTime() }
  const near = plan.again ? {} : { near: at.getTime() }
  if (plan.rhythm === null || !isTimeOfDay(to)) {
    const parsed = parsePhrase(to, { ...from, ...near })
    if (plan.rhythm === null || parsed.schedule.kind !== 'once') return parsed
    throw new ScheduleError(
      `it repeats, and one time cannot be moved alone: write “move the ${plan.title.slice(0, 40)} reminder to 10am” for all of them, or “remind me ${to} to …” for one more`,
    )
  }
  if (plan.timezone !== timezone) {
    throw new ScheduleError(
      `it is kept in ${plan.timezone}, and your times are read in ${timezone}: write the whole rhythm, for example “every weekday at 10:00”`,
    )
  }
  return atOtherTime(parseCron(plan.rhythm, timezone).schedule, to)
}

function later(plan: Planned, at: Date, by: string, { timezone }: Place): Parsed {
  if (plan.again)
    throw new ScheduleError('it repeats: write “move … to 10am” for another time of day')
  return parsePhrase(`in ${by}`, { timezone, now: at.getTime() })
}

export async function pause(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const found = await find(turn, target, { about: 'pause', count: 0 }, place)
  if ('answer' in found) return found.answer
  const { plan } = found
  const told = planText(plan, place)
  if (plan.kind === 'work') await commands.updateWork(turn, plan.id, { is_active: false })
  else if (plan.kind === 'intent') await commands.updateIntent(turn, plan.id, { enabled: false })
  else
    return said(
      `Only work and what I watch can be paused; this is neither: ${told}. Say “cancel” to end it.`,
    )
  return said(`Paused: ${told}. Say “resume ${plan.title.slice(0, 60)}” to go on with it.`)
}

export async function resume(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const found = await find(turn, target, { about: 'resume', count: 0 }, place, await paused(turn))
  if ('answer' in found) return found.answer
  const { kind, id, title, when } = found.plan
  if (kind === 'work') await commands.updateWork(turn, id, { is_active: true })
  else await commands.updateIntent(turn, id, { enabled: true })
  return said(`Resumed: ${quoted(title)}, ${when}.`)
}

export async function outputs(turn: Turn, target: Target, place: Place): Promise<Answer> {
  const all = (await commands.listWork(turn)).map((row): Planned => {
    const { id, task: title, description: when, timezone, next_run_at: next_at } = row
    return { kind: 'work', id, title, when, timezone, next_at, again: row.is_active, rhythm: null }
  })
  const found = await find(turn, target, { about: 'outputs', count: 0 }, place, all)
  if ('answer' in found) return found.answer
  const runs = (await turn.workOutputs(found.plan.id, 1)) ?? []
  return said(outputsText(runs, turn))
}
