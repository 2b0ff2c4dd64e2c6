/** What a turn may read: alarms and intents of this agent, all work of its user, what is ahead and what came of it, and the person's preferences. */

import { z } from 'zod'
import { listAlarms } from '../features/alarms/rows.ts'
import { cronWords } from '../features/alarms/rules.ts'
import { type IntentRow, listIntents } from '../features/intents/rows.ts'
import { scheduleWords, termsOf } from '../features/intents/rules.ts'
import { newestChecks, unaskedTurns } from '../features/ledger/occasion-rows.ts'
import { checkFacts, judgeOccasion, judgeSlot, type Outcome } from '../features/ledger/rules.ts'
import { type Ahead, aheadOf } from '../features/ledger/upcoming.ts'
import { standing } from '../features/ledger/upcoming-rows.ts'
import { changePreferences, type PreferenceWish } from '../features/people/change.ts'
import { listDeferred } from '../features/people/deferred-rows.ts'
import { preferenceFields } from '../features/people/fields.ts'
import type { TurnPerson } from '../features/people/person.ts'
import { RULE_WORDS } from '../features/people/words.ts'
import { type EventRow, recentEvents } from '../features/sessions/event-rows.ts'
import type { Verdict } from '../features/sessions/gate.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import { getWork, listOutputs, type OutputRow, WORKS, type WorkRow } from '../features/work/rows.ts'
import { frequencyWords } from '../features/work/rules.ts'
import { readPage } from '../store/page.ts'
import type { TurnInput } from './agent.ts'
import { type DeepReadonly, readAsked } from './requests.ts'

const LISTED_MAX = 100

/** The newest events of the session, oldest first; the last is the turn's own, which may not be in the log yet. */
export async function history(
  { db, session, event }: TurnInput,
  limit: number,
): Promise<EventRow[]> {
  const rows = await recentEvents(db, session, event.seq, limit)
  if (rows.at(-1)?.seq === event.seq) return rows
  const { id, seq, type, payload, createdAt: created_at } = event
  return [...rows, { id, session_key: session.key, seq, type, payload, created_at }].slice(-limit)
}

function pick<R extends object, K extends keyof R>(row: R, fields: readonly K[]): Pick<R, K> {
  return Object.fromEntries(fields.map((field) => [field, row[field]])) as Pick<R, K>
}

type Reads = Pick<TurnInput, 'db' | 'session'>

export interface OwnAlarm {
  readonly id: string
  readonly label: string
  readonly wake_message: string
  readonly status: string
  readonly timezone: string
  /** Its rhythm in words; null where it rings once. */
  readonly description: string | null
  /** Null once it has ended. */
  readonly next_fire_at: Date | null
  readonly last_fired_at: Date | null
}

/** The newest hundred, whatever their state. */
export async function ownAlarms({ db, session }: Reads): Promise<OwnAlarm[]> {
  const rows = await listAlarms(db, { owner: session.userId, limit: LISTED_MAX })
  return rows
    .filter(({ agent_id }) => agent_id === session.agentId)
    .map((row) => ({
      ...pick(row, ['id', 'label', 'wake_message', 'status', 'timezone']),
      description: row.cron_expr === '' ? null : cronWords(row),
      next_fire_at: row.status === 'active' ? row.next_fire_at : null,
      last_fired_at: row.last_fired_at,
    }))
}

const INTENT_FIELDS = [
  'id',
  'intent_name',
  'trigger_type',
  'action_type',
  'action_context',
  'enabled',
  'timezone',
  'next_check',
  'last_executed',
  'execution_count',
  'max_executions',
  'expires_at',
] as const
export type OwnIntent = Pick<IntentRow, (typeof INTENT_FIELDS)[number]> & {
  /** When, or on what condition, in words. */
  readonly description: string
}

/** The newest hundred, those that are switched off too. */
export async function ownIntents({ db, session }: Reads): Promise<OwnIntent[]> {
  const { userId, agentId } = session
  const page = { triggerType: null, enabled: null, ticker: null, limit: LISTED_MAX, offset: 0 }
  const rows = await listIntents(db, { userId, ...page })
  return rows
    .filter(({ agent_id }) => agent_id === agentId)
    .map((row) => ({
      ...pick(row, INTENT_FIELDS),
      description: scheduleWords(termsOf(row)),
    }))
}

const WORK_FIELDS = [
  'id',
  'task',
  'agent_type',
  'frequency',
  'timezone',
  'is_active',
  'next_run_at',
  'last_run_at',
] as const
export type OwnWork = Pick<WorkRow, (typeof WORK_FIELDS)[number]> & {
  /** Its frequency in words. */
  readonly description: string
}

/** The newest hundred, paused work too. */
export async function ownWork({ db, session }: Reads): Promise<OwnWork[]> {
  const rows = await readPage(db, WORKS, { owner: session.userId, limit: LISTED_MAX })
  return rows.map((row) => ({
    ...pick(row, WORK_FIELDS),
    description: frequencyWords(row),
  }))
}

const OUTPUT_FIELDS = [
  'run_number',
  'status',
  'title',
  'content',
  'file_url',
  'error_message',
  'progress_note',
  'scheduled_for',
  'completed_at',
] as const
export type OwnOutput = Pick<OutputRow, (typeof OUTPUT_FIELDS)[number]>

/** Newest first; null where there is no such work of this user. */
export async function ownOutputs(
  { db, session }: Reads,
  id: string,
  limit: number,
): Promise<OwnOutput[] | null> {
  const work = await getWork(db, session.userId, id)
  if (work === null) return null
  const rows = await listOutputs(db, work, null, limit)
  return rows.map((row) => ({
    ...pick(row, OUTPUT_FIELDS),
  }))
}

/** Something that will wake this agent, or be done for its user. The id of a follow-up is the one it was set with. */
export interface Planned extends Ahead {
  readonly kind: 'follow_up' | 'alarm' | 'intent' | 'work'
}

/** The soonest first; what waits for something other than a time comes last. */
export async function planned({ db, session }: TurnInput): Promise<Planned[]> {
  const rows = await standing(db, session.userId, session)
  return rows
    .map((row): Planned => {
      const { kind, name: id } = row
      return kind === 'timer'
        ? { ...aheadOf(row), kind: 'follow_up', id }
        : { ...aheadOf(row), kind }
    })
    .toSorted(bySoonest)
}

function bySoonest(a: Planned, b: Planned): number {
  const at = ({ next_at }: Planned) => next_at?.getTime() ?? Number.MAX_SAFE_INTEGER
  return at(a) - at(b) || (a.id < b.id ? -1 : 1)
}

/** What came of one occasion to write unasked, or of the newest look at an intent. */
export interface Explained {
  readonly at: Date
  /** What woke the agent: `timer`, `alarm`, `intent`, `work`, … */
  readonly kind: string
  readonly title: string
  /** In the words of the ledger. */
  readonly outcome: Outcome
  /** The rule, the condition's state or the error. */
  readonly reason: string
  readonly verdict: Verdict | null
}

/** Occasions of this session, newest first, then how the enabled intents stand. */
export async function explained({ db, session }: TurnInput, limit: number): Promise<Explained[]> {
  const turns = (await unaskedTurns(db, session, limit)).map((turn): Explained => {
    const { outcome, reason, verdicts } = judgeOccasion(turn)
    const verdict = verdicts.find(({ allowed }) => allowed) ?? verdicts[0] ?? null
    const { type: kind, name, finished_at: at } = turn
    const why =
      reason?.error ?? saidWhy(verdict) ?? reason?.rule ?? verdict?.rule ?? 'it said nothing'
    return { at, kind, title: name ?? kind, outcome, reason: why, verdict }
  })
  const checks = (await newestChecks(db, session)).map((check): Explained => {
    const { outcome, reason } = judgeSlot(checkFacts(check))
    const why = reason?.error ?? reason?.rule ?? ''
    return { at: check.at, kind: 'intent', title: check.name, outcome, reason: why, verdict: null }
  })
  return [...turns, ...checks]
}

const saidWhy = (verdict: Verdict | null) =>
  verdict !== null && 'reason' in verdict ? verdict.reason : undefined

const shape = z.strictObject(preferenceFields)
const DEFERRED_MAX = 50

export interface PreferenceRequest extends DeepReadonly<z.input<typeof shape>> {}

/** Checked when it is asked; written with the turn's commit. */
export function preferenceWish(
  request: PreferenceRequest,
  person: TurnPerson,
  now: Date,
): PreferenceWish {
  const wish = readAsked(shape, { ...request })
  const { timezone, timezoneKnown, pausedUntil } = person
  const row = {
    ...{ bucket: 0, user_id: '', has_preferences: false, unasked_day: null, unasked_count: 0 },
    timezone: timezoneKnown ? timezone : null,
    quiet_hours: person.quietHours,
    most_unasked_per_day: person.mostUnaskedPerDay,
    paused_until: pausedUntil?.toISOString() ?? null,
    muted_agents: person.mutedAgents,
  }
  changePreferences(row, wish, timezone, now)
  return wish
}

export interface Deferred {
  readonly kind: string
  readonly name: string
  readonly scheduledFor: Date
  /** Why it waits, in words. */
  readonly why: string
  readonly releaseAt: Date | null
}

export async function deferredFor({ db, session }: TurnInput): Promise<Deferred[]> {
  const owner = session.userId
  const rows = await listDeferred(db, { owner, status: 'waiting', limit: DEFERRED_MAX })
  return rows
    .map(({ kind, name, scheduled_for: scheduledFor, rule, release_at: releaseAt }) => ({
      ...{ kind, name, scheduledFor, why: RULE_WORDS[rule], releaseAt },
    }))
    .toSorted((a, b) => a.scheduledFor.getTime() - b.scheduledFor.getTime())
}

/** Agents that ignore a digest get its own text sent: it holds promises. To stay silent on purpose is not to ignore it. */
export function digestDefault(
  { type, payload }: TurnInput['event'],
  wishes: readonly TurnAction[],
): TurnAction[] {
  const ignores = wishes.every((wish) => wish.type === 'silence' && wish.verdict.rule !== 'silent')
  if (type !== 'digest' || !ignores) return []
  return [{ type: 'send_message', content: (JSON.parse(payload) as { text: string }).text }]
}
