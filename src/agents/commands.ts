/**
 * Changes to alarms, intents and work in the words of their own routes, for what is no schedule: the companion's sentences, which pause,
 * move and compare, and promises as LangGraph and remote agents write them. Each is written with the turn's commit.
 */
import { Refusal } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import { type EventType, TIMER_ID_MAX } from '../core/session.ts'
import { hasUnstorableText } from '../core/text.ts'
import { getAlarm } from '../features/alarms/rows.ts'
import { INTENTS_MAX, LIMIT_REACHED } from '../features/intents/checks.ts'
import { countEnabled, getIntent } from '../features/intents/rows.ts'
import type { TriggerCommand } from '../features/sessions/turn.ts'
import { getWork } from '../features/work/rows.ts'
import * as messages from './messages.ts'
import * as reads from './reads.ts'
import * as requests from './requests.ts'
import { Turn } from './turn.ts'

function command(turn: Turn, trigger: EventType, ask: TriggerCommand): void {
  Turn.add(turn, { type: 'trigger_command', trigger, ask })
}

const inputOf = (turn: Turn) => Turn.inside(turn).input

/**
 * Sends the promise and sets the alarm for it: both, or neither, also where cap, cooldown or preferences hold the message back. By
 * default the alarm's wake message is the promise. Throws a `Refusal` that lists everything wrong with its time.
 */
export function promise(turn: Turn, text: string, request: messages.PromiseRequest): string {
  const { wish, id } = messages.promiseWish(text, request, inputOf(turn))
  Turn.add(turn, wish)
  return id
}

/** Wakes this session again later, unless the user speaks first. Setting the same id again replaces it. */
export function followUp(turn: Turn, id: string, when: requests.FollowUp): void {
  if (typeof id !== 'string' || id === '' || id.length > TIMER_ID_MAX || hasUnstorableText(id))
    throw new TypeError(`schedule_timer: takes a timer_id of 1 to ${TIMER_ID_MAX} characters`)
  const payload =
    when.payload === undefined ? null : requests.storable('schedule_timer: payload', when.payload)
  Turn.add(turn, { type: 'schedule_timer', timerId: id, payload, ...requests.instant(when) })
}

export function setAlarm(turn: Turn, request: requests.AlarmRequest): string {
  const draft = requests.alarmDraft(request, inputOf(turn))
  command(turn, 'alarm', { set: draft })
  return draft.id
}

/** One that has ended or does not exist is no error. */
export function cancelAlarm(turn: Turn, id: string): void {
  requests.requireId(id, 'cancelAlarm', 'setAlarm')
  command(turn, 'alarm', { cancel: id })
}

/**
 * Sets an active alarm of this user and agent to another time, the same in all else: a new one, whose id comes back, and
 * the old one cancelled with it. Null when there is no such alarm.
 */
export function moveAlarm(
  turn: Turn,
  id: string,
  when: requests.AlarmTime,
): Promise<string | null> {
  return Turn.track(turn, async () => {
    requests.requireId(id, 'moveAlarm', 'setAlarm')
    const { userId, agentId } = turn.session
    const input = inputOf(turn)
    const row = await getAlarm(input.db, { ownerDid: null, userId }, id)
    if (row === null || row.agent_id !== agentId || row.status !== 'active') return null
    const draft = requests.alarmDraft({ ...requests.keptOf(row), ...when }, input)
    command(turn, 'alarm', { set: draft })
    cancelAlarm(turn, id)
    return draft.id
  })
}

/** Answers with its id. Throws a `Refusal` with all that is wrong with it, also when the person has as many as may be. */
export function createIntent(turn: Turn, request: requests.IntentRequest): Promise<string> {
  return Turn.track(turn, async () => {
    const draft = requests.intentDraft(request, inputOf(turn))
    await requireRoom(turn)
    command(turn, 'intent', { create_intent: draft })
    return draft.id
  })
}

/** The record of its executions is kept. One that does not exist is no error. */
export function deleteIntent(turn: Turn, id: string): void {
  requests.requireId(id, 'deleteIntent', 'createIntent')
  command(turn, 'intent', { delete_intent: id })
}

/** Answers with its id at once. Throws a `Refusal`. */
export function createWork(turn: Turn, request: requests.WorkRequest): string {
  const draft = requests.workDraft(request, inputOf(turn))
  command(turn, 'work', { create_work: draft })
  return draft.id
}

/** Deletes work of this user with its outputs; a run of it is stopped. One that does not exist is no error. */
export function deleteWork(turn: Turn, id: string): void {
  requests.requireId(id, 'deleteWork', 'createWork')
  command(turn, 'work', { delete_work: id })
}

/**
 * Pauses or resumes work of this user (`is_active`), or gives it another frequency, zone or task. False where there is no
 * such work. Throws a `Refusal` with all that is wrong.
 */
export function updateWork(
  turn: Turn,
  id: string,
  change: requests.WorkChangeRequest,
): Promise<boolean> {
  return Turn.track(turn, async () => {
    const row = isUuid(id) ? await getWork(inputOf(turn).db, turn.session.userId, id) : null
    if (row === null) return false
    const asked = requests.workChange(change, row)
    command(turn, 'work', { update_work: id, change: asked })
    return true
  })
}

/**
 * Switches an intent of this user and agent off or on (`enabled`), or changes what it waits for and says. False where there
 * is no such intent. Throws a `Refusal` with all that is wrong.
 */
export function updateIntent(
  turn: Turn,
  id: string,
  change: requests.IntentChangeRequest,
): Promise<boolean> {
  return Turn.track(turn, async () => {
    const { userId, agentId } = turn.session
    const row = isUuid(id) ? await getIntent(inputOf(turn).db, userId, id) : null
    if (row === null || row.agent_id !== agentId) return false
    const { asked, enabling } = requests.intentChange(change, row)
    if (enabling) await requireRoom(turn)
    command(turn, 'intent', { update_intent: id, change: asked })
    return true
  })
}

/** Deletions make room with the commit only: whether there is something to delete shows there. */
async function requireRoom(turn: Turn): Promise<void> {
  const { input, asked } = Turn.inside(turn)
  const enabled = await countEnabled(input.db, turn.session.userId)
  const more = asked.filter(
    (wish) => wish.type === 'trigger_command' && 'create_intent' in wish.ask,
  )
  if (enabled + more.length >= INTENTS_MAX) throw new Refusal('rule', LIMIT_REACHED)
}

/** Alarms of this user and agent, newest first, ended ones too. What this turn asks for is not yet among them. */
export const listAlarms = (turn: Turn) => reads.ownAlarms(inputOf(turn))

/** Intents of this user and agent, newest first, those that are switched off too. */
export const listIntents = (turn: Turn) => reads.ownIntents(inputOf(turn))

/** Work of this user, newest first, paused work too. */
export const listWork = (turn: Turn) => reads.ownWork(inputOf(turn))

/** What is ahead as this turn begins: timers of this session, alarms and intents of this agent, work of this user. */
export const planned = (turn: Turn) => reads.planned(inputOf(turn))
