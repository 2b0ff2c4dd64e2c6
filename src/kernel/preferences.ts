/**
 * Preferences in the engine. Looked at twice: when a turn is about to run, by what its claim brought, so that what is held back
 * wakes no agent; and in its commit, under the lock of the person's row, since two agents may race for the day's last message.
 */

import { cronSchedule, next } from '../../packages/schedule/src/index.ts'
import type { TurnResult } from '../agents/agent.ts'
import type {
  DeferredKind,
  DeferredRow,
  Late,
  NewDeferred,
} from '../features/people/deferred-rows.ts'
import { preferencesOf, readPerson } from '../features/people/fields.ts'
import {
  counted,
  judgePreferences,
  type Preferences,
  type Utterance,
} from '../features/people/preferences.ts'
import { type Deferral, fitting, messagesIn, unsaid } from '../features/people/speak.ts'
import { holdsSlot, isRetry, slotName, utteranceOf } from '../features/people/utterance.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { TurnAction } from '../features/sessions/turn.ts'

/** A slot so late has missed its moment: several of them become one message. */
const LATE_MS = 15 * 60_000

/** A turn as far as preferences ask. */
export interface Speaking {
  readonly claim: ClaimedTurn
  readonly result: TurnResult | null
  /** Held back before its agent was woken. */
  readonly held?: Deferral | null
  /** What was deferred and is released by its event. */
  readonly slots?: readonly DeferredRow[]
}

/** An event that was released: it stands for slots of others, and for none of its own. */
export function isRelease({ type, trigger_id }: ClaimedTurn): boolean {
  return type === 'digest' || (trigger_id === null && isDeferrable(type))
}

function isDeferrable(type: string): type is DeferredKind {
  return type === 'alarm' || type === 'intent' || type === 'work'
}

/** Null where nobody is spoken to, or where the person asked for it. */
function utterance({ claim, slots = [] }: Speaking): Utterance | null {
  if (claim.type === 'user_message') return null
  if (slots.length > 0 && slots.every(({ asked }) => asked)) return null
  return utteranceOf(claim.type, claim.payload, claim.agent_id)
}

/** What keeps an agent from being woken: its person's preferences, or that others of the session are late as well. */
export async function heldBack(
  turn: Speaking,
  zone: string,
  lateWith: () => Promise<Late | null>,
): Promise<Deferral | null> {
  const { claim } = turn
  const held = heldWhenDue(turn, zone)
  if (held !== null || !isLate(claim)) return held
  const { last_seq = claim.seq, now } = claim
  const late = await lateWith()
  const goesOn = late !== null && isFollowed(claim, late)
  const several = goesOn || last_seq > claim.seq || late?.gathering
  return several ? { move: 'defer', rule: 'late', until: now, goesOn } : null
}

/** Whether the next slot of its trigger is late as well, and wanted. */
function isFollowed({ scheduled_for: slot, now }: ClaimedTurn, late: Late): boolean {
  const { cron_expr, timezone, anchor_at } = late
  const schedule = cron_expr === null ? null : cronSchedule({ cron_expr, timezone })
  if (schedule === null || slot === null) return false
  const [at] = next(schedule, slot.getTime(), { anchor: anchor_at.getTime() })
  return at !== undefined && now.getTime() - at > LATE_MS
}

/** What holds the turn back before its agent is woken. A tool's result is for the agent to know, whatever it may say. */
function heldWhenDue(turn: Speaking, zone: string): Deferral | null {
  const { claim } = turn
  if (claim.person === null || claim.type === 'tool_result') return null
  const row = readPerson(claim.person)
  const said = row.has_preferences ? utterance(turn) : null
  if (said === null) return null
  const verdict = judgePreferences(preferencesOf(row, zone), said, claim.now)
  return verdict.move === 'send' ? null : verdict
}

/** Whether its slot is so late that it is worth to look whether others are, too. */
function isLate({ type, scheduled_for: slot, now, payload }: ClaimedTurn): boolean {
  if (slot === null || (type !== 'alarm' && type !== 'intent')) return false
  return now.getTime() - slot.getTime() > LATE_MS && !isRetry(payload)
}

/** Whether its commit has to look at the person. */
export function needsPersonLock(turn: Speaking): boolean {
  const { claim, held } = turn
  return (
    (held !== undefined && held !== null) || (claim.person !== null && hasUnpromptedMessage(turn))
  )
}

/** It says something that nobody asked for. */
export function hasUnpromptedMessage(turn: Speaking): boolean {
  return messagesIn(turn.result?.wishes ?? []) > 0 && utterance(turn) !== null
}

/** People as a commit finds them, locked; it counts in them what it says. */
export type People = Map<string, Preferences>

/** What a commit says unasked, by person. */
export type Counted = Map<string, Preferences['unasked']>

/** What comes of a turn's wishes: as they are, fewer, or nothing now. */
export type Spoken =
  | { readonly wishes: readonly TurnAction[]; readonly held: Deferral | null }
  | { readonly wishes: null; readonly held: Deferral }

/** Under the lock of the person's row. */
export function speak(turn: Speaking, people: People, now: Date): Spoken {
  const { claim, held = null } = turn
  const wishes = turn.result?.wishes ?? []
  const preferences = people.get(claim.user_id)
  const said = preferences === undefined ? null : utterance(turn)
  if (held !== null) return { wishes: null, held: again(held, preferences, said, now) }
  if (preferences === undefined || said === null || messagesIn(wishes) === 0)
    return { wishes, held: null }
  const verdict = judgePreferences(preferences, said, now)
  if (verdict.move === 'defer') return { wishes: null, held: verdict }
  if (verdict.move === 'drop') return { wishes: unsaid(wishes), held: verdict }
  return { wishes: fitting(wishes, preferences, said, now), held: null }
}

/** What was to be deferred: the person may have changed their mind since the turn was claimed. Then it is released at once. */
function again(
  held: Deferral,
  preferences: Preferences | undefined,
  said: Utterance | null,
  now: Date,
): Deferral {
  if (held.move === 'drop' || held.rule === 'late' || held.rule === 'stopped') return held
  const verdict =
    preferences === undefined || said === null ? null : judgePreferences(preferences, said, now)
  return verdict?.move === 'defer' ? verdict : { ...held, until: now }
}

/** Counts what a turn says, for the turns of the same commit that come after it. */
export function countSpoken(turn: Speaking, messages: number, people: People, now: Date): boolean {
  const { user_id: userId } = turn.claim
  const preferences = people.get(userId)
  if (preferences === undefined || messages === 0 || utterance(turn) === null) return false
  people.set(userId, { ...preferences, unasked: counted(preferences, messages, now) })
  return true
}

/** The rows of what is deferred: the slots of a released event once more, or the one that the event is. */
export function deferredOf(
  { claim, slots = [] }: Speaking,
  held: Deferral,
  traceparent: string | null,
): NewDeferred[] {
  if (held.move !== 'defer') return []
  const { rule, until: release_at } = held
  if (slots.length > 0) return slots.map((slot) => ({ ...slot, rule, release_at }))
  const { type, payload } = claim
  const said = utteranceOf(type, payload, claim.agent_id)
  if (said === null || !isDeferrable(type)) return []
  const { bucket, event_id: id, user_id, session_key, seq: event_seq, trigger_id } = claim
  return [
    {
      ...{ bucket, id, user_id, session_key, event_seq, kind: type, trigger_id },
      scheduled_for: claim.scheduled_for ?? claim.event_created_at,
      name: slotName(payload),
      payload,
      reason: said.reason,
      timed: said.timed,
      critical: said.critical,
      held: !('goesOn' in held && held.goesOn) && holdsSlot(type, payload),
      rule,
      release_at,
      traceparent,
      lineage: claim.lineage,
    },
  ]
}

/** Who hasUnpromptedMessage first where a day has room for some: whose time came first, and in one instant always the same, so that it can be foretold. */
export function inTurn({ claim: a }: Speaking, { claim: b }: Speaking): number {
  const at = ({ scheduled_for, event_created_at }: ClaimedTurn) =>
    (scheduled_for ?? event_created_at).getTime()
  return at(a) - at(b) || (a.session_key < b.session_key ? -1 : 1)
}
