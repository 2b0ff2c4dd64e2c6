/** The facts about slots, gathered for a whole page at once. */

import { missed, next, ScheduleError } from '../../../packages/schedule/src/index.ts'
import { MAIN_THREAD, parseSessionKey } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx } from '../../store/due.ts'
import { missedBy } from '../alarms/rules.ts'
import { scheduleOf, termsOf } from '../intents/rules.ts'
import { type EventStory, eventStories, grouped } from './event-operations.ts'
import {
  type AlarmPart,
  alarmParts,
  type CheckPart,
  checkParts,
  type DeferredPart,
  type EventPart,
  type IntentPart,
  intentParts,
  type MissedPart,
  missedParts,
  type QuestionPart,
  questionParts,
  type TimerPart,
  timerParts,
  type WakePart,
  wakeParts,
} from './fact-rows.ts'
import type { SlotRow } from './rows.ts'
import { checkFacts, type MessageFact, type SlotFacts } from './rules.ts'

/** A slot with all that is known of it. */
export interface Slot {
  readonly row: SlotRow
  readonly facts: SlotFacts
  readonly name: string
  readonly userId: string
  readonly sessionKey: string | null
  readonly endedAt: Date | null
  readonly missedCount: number
  readonly attempts: number
  readonly seen: string | null
  readonly reply: EventStory['reply']
}

interface Parts {
  readonly stories: ReadonlyMap<string, EventStory>
  readonly alarms: ReadonlyMap<string, readonly AlarmPart[]>
  readonly intents: ReadonlyMap<string, IntentPart>
  readonly checks: ReadonlyMap<string, CheckPart>
  readonly wakes: ReadonlyMap<string, WakePart>
  readonly timers: ReadonlyMap<string, TimerPart>
  readonly missed: ReadonlyMap<string, MissedPart>
  readonly questions: ReadonlyMap<string, QuestionPart>
}

/** In the given order. A row that was pruned since it was seen is left out. */
export function gatherSlots(db: Db, rows: readonly SlotRow[]): Promise<Slot[]> {
  return commitTx(db, (tx) => slotsOf(tx, rows))
}

async function slotsOf(db: Db, rows: readonly SlotRow[]): Promise<Slot[]> {
  const of = (source: SlotRow['source']) => rows.filter((row) => row.source === source)
  const by = (kind: SlotRow['kind']) => rows.filter((row) => row.kind === kind)
  const stories = await eventStories(db, of('event'))
  const alarms = await alarmParts(db, by('alarm'))
  const intents = await intentParts(db, by('intent'))
  const parts: Parts = {
    stories,
    alarms: grouped(alarms, (alarm) => alarm.parent_id ?? alarm.id),
    intents: byId(intents),
    checks: byId(await checkParts(db, of('check'))),
    wakes: byId(await wakeParts(db, of('wake'))),
    timers: byId(await timerParts(db, of('timer'))),
    missed: byId(await missedParts(db, of('missed'))),
    questions: byId(await questionParts(db, of('question'))),
  }
  return rows.flatMap((row) => slotOf(row, parts) ?? [])
}

function byId<T extends { readonly id: string }>(rows: readonly T[]): Map<string, T> {
  return new Map(rows.map((row) => [row.id, row]))
}

function slotOf(row: SlotRow, parts: Parts): Slot | null {
  switch (row.source) {
    case 'event':
      return ofEvent(row, parts)
    case 'check':
      return ofCheck(row, parts)
    case 'wake':
      return ofWake(row, parts)
    case 'timer':
      return ofCancelled(row, parts.timers.get(row.id)?.timer_id, userOf(row.session_key), false)
    case 'alarm':
      return ofCancelledAlarm(row, parts)
    case 'missed':
      return ofMissed(row, parts.missed.get(row.id))
    case 'question':
      return ofQuestion(row, parts.questions.get(row.id))
  }
}

function ofMissed(row: SlotRow, missed: MissedPart | undefined): Slot | null {
  if (missed === undefined) return null
  const { name, user_id: userId, slots, last_for: last, rule } = missed
  const facts = { from: 'missed', slots, last, rule } as const
  return { ...NOTHING, row, facts, name, userId, sessionKey: null, endedAt: row.at }
}

function ofQuestion(row: SlotRow, question: QuestionPart | undefined): Slot | null {
  if (question === undefined) return null
  const { name, user_id: userId, answer } = question
  const answered = answer === null ? {} : { answer }
  const facts = { from: 'cancel', calling: false, ...answered } as const
  return { ...NOTHING, row, facts, name, userId, sessionKey: row.session_key, endedAt: row.at }
}

const NOTHING = { missedCount: 0, attempts: 0, seen: null, reply: null } as const

function userOf(sessionKey: string | null): string {
  return parseSessionKey(sessionKey ?? '')?.userId ?? ''
}

function ofEvent(row: SlotRow, parts: Parts): Slot | null {
  const story = parts.stories.get(row.id)
  if (story === undefined) return null
  const { turns, messages, output, events, deferred } = story
  const lastEvent = events.at(-1) as EventPart
  const lastTurn = turns.at(-1)
  const held = heldBy(row, parts)
  const facts: SlotFacts = {
    from: 'event',
    ...{ turns, messages, passed: lastEvent.passed },
    ...{ again: held.again, cancelled: held.cancelled },
    ...(row.kind === 'work' ? { output } : {}),
    ...(deferred === null ? {} : { deferred: deferredFact(deferred) }),
  }
  const waiting = deferred?.status === 'waiting' && !held.cancelled
  const waits = waiting || (deferred?.status === 'released' && events.length < 2)
  const finished = lastTurn?.status === 'retrying' ? undefined : lastTurn?.finishedAt
  const ended = held.again === null && finished !== undefined && !waits
  const later = ended ? passedBy(row, parts, finished) : 0
  return {
    ...{ row, facts, name: lastEvent.name || (events[0]?.name ?? '') },
    userId: userOf(row.session_key),
    sessionKey: row.session_key,
    endedAt: ended ? endOf(messages, deferredEnd(deferred) ?? finished) : null,
    missedCount: output?.missed_count ?? Math.max(lastEvent.missed_count, later),
    attempts: turns.length,
    seen: lastEvent.trigger_data,
    reply: story.reply,
  }
}

function deferredFact({ status, rule, release_at: until, updated_at: at, together }: DeferredPart) {
  return { status, rule, until, at, together }
}

/** Where nothing came of it any more. */
function deferredEnd(deferred: DeferredPart | null): Date | null {
  return deferred === null || deferred.status === 'waiting' || deferred.status === 'released'
    ? null
    : deferred.updated_at
}

/** With the receipt of a message, if there was one to wait for; open until then. */
function endOf(messages: readonly MessageFact[], finished: Date): Date | null {
  const first = messages.filter(({ status }) => status === 'completed')[0]
  if (first !== undefined) return first.at
  const open = messages.some(({ status }) => status === 'pending' || status === 'executing')
  return open ? null : (messages.at(-1)?.at ?? finished)
}

/** Whether the trigger still holds the slot, and until when; or was cancelled with it in hand. */
function heldBy(row: SlotRow, parts: Parts): { again: Date | null; cancelled: boolean } {
  const slot = row.scheduled_for.getTime()
  if (row.kind === 'alarm') {
    const rows = (parts.alarms.get(row.trigger_id ?? '') ?? []).filter(
      (alarm) => alarm.scheduled_for.getTime() === slot,
    )
    const again = rows.find((alarm) => alarm.status === 'active')?.due_at ?? null
    return { again, cancelled: rows.some((alarm) => alarm.status === 'cancelled') }
  }
  const intent = row.kind === 'intent' ? parts.intents.get(row.trigger_id ?? '') : undefined
  const kept = intent?.enabled === true && intent.scheduled_for?.getTime() === slot
  return { again: kept ? intent.next_check : null, cancelled: false }
}

/** How many slots of the trigger passed from this one until its end: they are covered by it. */
function passedBy(row: SlotRow, parts: Parts, until: Date): number {
  if (row.kind === 'alarm') {
    const alarm = parts.alarms.get(row.trigger_id ?? '')?.find((each) => each.parent_id === null)
    return alarm === undefined || !onGrid(alarm, row)
      ? 0
      : missedBy(alarm, row.scheduled_for, until)
  }
  const intent = parts.intents.get(row.trigger_id ?? '')
  return intent === undefined ? 0 : passedIntent(intent, row.scheduled_for, until)
}

/** An extra wake is no slot of the schedule: none of those that pass is covered by it. */
function onGrid(alarm: AlarmPart, row: SlotRow): boolean {
  return missedBy(alarm, new Date(row.scheduled_for.getTime() - 1), row.scheduled_for) === 1
}

function passedIntent(intent: IntentPart, slot: Date, until: Date): number {
  const rest = { trigger_condition: null, expires_at: null, max_executions: null }
  const terms = termsOf({ ...intent, ...rest, execution_count: 0 })
  const schedule = terms.catch_up === 'all' ? null : scheduleOf(terms)
  if (schedule === null || schedule instanceof ScheduleError) return 0
  const anchor = intent.anchor_at.getTime()
  const [first] = next(schedule, slot.getTime() - 1, { anchor })
  // Its schedule was changed since.
  if (first !== slot.getTime()) return 0
  return missed(schedule, slot.getTime(), until.getTime(), anchor).missedCount
}

function ofCheck(row: SlotRow, parts: Parts): Slot | null {
  const check = parts.checks.get(row.id)
  if (check === undefined) return null
  const intent = parts.intents.get(row.trigger_id ?? '')
  return {
    ...NOTHING,
    row,
    facts: checkFacts(check),
    name: intent?.intent_name ?? '',
    userId: check.user_id,
    sessionKey: intentSession(check.user_id, intent),
    endedAt: check.last_seen_at ?? row.at,
    seen: check.trigger_data,
  }
}

function intentSession(userId: string, intent: IntentPart | undefined): string | null {
  if (intent === undefined || intent.agent_id === null) return null
  return `${userId}:${intent.agent_id}:${intent.thread_id || MAIN_THREAD}`
}

function ofWake(row: SlotRow, parts: Parts): Slot | null {
  const wake = parts.wakes.get(row.id)
  if (wake === undefined) return null
  const held = (parts.alarms.get(row.trigger_id ?? '') ?? []).find(
    (alarm) => alarm.delivery_id === row.id,
  )
  const retrying = wake.status === 'retrying'
  const again = retrying && held?.status === 'active' ? held.due_at : null
  return {
    ...NOTHING,
    row,
    facts: {
      from: 'wake',
      status: wake.status,
      attempts: wake.attempts,
      error: wake.error,
      again,
      cancelled: held?.status === 'cancelled',
    },
    name: wake.name,
    userId: wake.user_id,
    sessionKey: null,
    endedAt: again === null ? wake.finished_at : null,
    missedCount: wake.missed_count,
    attempts: wake.attempts,
  }
}

function ofCancelled(
  row: SlotRow,
  name: string | undefined,
  userId: string,
  calling: boolean,
): Slot | null {
  if (name === undefined) return null
  const facts = { from: 'cancel', calling } as const
  return { ...NOTHING, row, facts, name, userId, sessionKey: row.session_key, endedAt: row.at }
}

function ofCancelledAlarm(row: SlotRow, parts: Parts): Slot | null {
  const alarm = parts.alarms.get(row.trigger_id ?? '')?.find(({ id }) => id === row.id)
  if (alarm === undefined) return null
  const calling = row.session_key === null && alarm.attempt > 0
  return ofCancelled(row, alarm.name, alarm.user_id, calling)
}
