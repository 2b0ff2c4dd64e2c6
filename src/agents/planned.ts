/** What is ahead for a turn's user and agent, and what came of what was: read-only looks that a turn may take. */
import { cronWords } from '../core/alarms/alarm.ts'
import { nextChecks, scheduleWords, type TriggerSchedule, termsOf } from '../core/intents/intent.ts'
import { formatLocal } from '../core/schedule/index.ts'
import type { Verdict } from '../core/sessions/gate.ts'
import { frequencyWords } from '../core/work/work.ts'
import { type AlarmRow, listAlarms } from '../store/alarms/alarms.ts'
import { type IntentRow, listIntents } from '../store/intents/intents.ts'
import {
  newestChecks,
  type PastCheck,
  type PastTurn,
  unaskedTurns,
} from '../store/ledger/explain.ts'
import { listTimers, type TimerRow } from '../store/sessions/timers.ts'
import { listWork, type WorkRow } from '../store/work/work.ts'
import type { TurnInput } from './agent.ts'

const ALARMS_MAX = 500
const INTENTS_MAX = 100
const WORK_MAX = 100

/** Something that will wake this agent, or be done for its user. */
export interface Planned {
  readonly kind: 'follow_up' | 'alarm' | 'intent' | 'work'
  /** Of a follow-up: the one it was set with. */
  readonly id: string
  readonly title: string
  /** When, or on what condition, in words. */
  readonly when: string
  readonly timezone: string
  /** Null where it waits for something other than a time. */
  readonly next_at: Date | null
  /** Whether it goes on after its next time. */
  readonly again: boolean
  /** What it repeats on, as cron or `@every`; null where it waits for one time or a condition. */
  readonly rhythm: string | null
}

/** The soonest first; what waits for something other than a time comes last. */
export async function planned({ db, session }: TurnInput): Promise<Planned[]> {
  const { userId, agentId } = session
  const timers = await listTimers(db, session, 'pending')
  const alarms = await listAlarms(db, {
    scope: { ownerDid: null, userId },
    status: 'active',
    limit: ALARMS_MAX,
    after: null,
  })
  const intents = await ownIntents({ db, session })
  const work = await listWork(db, {
    userId,
    active: true,
    projectId: null,
    limit: WORK_MAX,
    after: null,
  })
  return [
    ...timers.map(ofTimer),
    ...alarms.filter((row) => row.agent_id === agentId).map(ofAlarm),
    ...intents.map(ofIntent),
    ...work.map(ofWork),
  ].toSorted(bySoonest)
}

async function ownIntents({ db, session }: Pick<TurnInput, 'db' | 'session'>) {
  const page = { triggerType: null, enabled: true, ticker: null, limit: INTENTS_MAX, offset: 0 }
  const rows = await listIntents(db, { userId: session.userId, ...page })
  return rows.filter((row) => row.agent_id === session.agentId)
}

function bySoonest(a: Planned, b: Planned): number {
  const at = ({ next_at }: Planned) => next_at?.getTime() ?? Number.MAX_SAFE_INTEGER
  return at(a) - at(b) || (a.id < b.id ? -1 : 1)
}

function ofTimer({ timer_id: id, fire_at }: TimerRow): Planned {
  const when = `once at ${formatLocal(fire_at.getTime(), 'UTC')}`
  const words = { title: id, when, timezone: 'UTC' }
  return { kind: 'follow_up', id, ...words, next_at: fire_at, again: false, rhythm: null }
}

function ofAlarm(row: AlarmRow): Planned {
  const { id, timezone, next_fire_at: next_at } = row
  const once = `once at ${formatLocal(next_at.getTime(), timezone)}`
  const when = row.kind === 'once' ? once : cronWords(row)
  const title = row.label || row.wake_message
  const rhythm = row.kind === 'cron' ? row.cron_expr : null
  return { kind: 'alarm', id, title, when, timezone, next_at, again: rhythm !== null, rhythm }
}

function ofIntent(row: IntentRow): Planned {
  const terms = termsOf(row)
  const { max_executions: max, execution_count: count } = row
  const [next_at = null] = nextChecks(terms, row.now) ?? []
  return {
    kind: 'intent',
    id: row.id,
    title: row.intent_name,
    when: scheduleWords(terms),
    timezone: row.timezone,
    next_at,
    again: row.trigger_type !== 'once' && (max === null || max - count > 1),
    rhythm: rhythmOf(terms.trigger_schedule),
  }
}

function rhythmOf({ cron, interval_minutes: minutes }: TriggerSchedule): string | null {
  return cron ?? (minutes === undefined ? null : `@every ${minutes}m`)
}

function ofWork(row: WorkRow): Planned {
  const { id, task: title, timezone, next_run_at: next_at, frequency_cron: rhythm } = row
  const when = frequencyWords(row)
  return { kind: 'work', id, title, when, timezone, next_at, again: true, rhythm }
}

/** What came of one occasion to write unasked, or of the newest look at an intent. */
export interface Explained {
  readonly at: Date
  /** What woke the agent: `timer`, `alarm`, `intent`, `work`, … */
  readonly kind: string
  readonly title: string
  readonly outcome: 'written' | 'held_back' | 'silent' | 'not_met' | 'failed'
  /** The rule, the condition's state or the error. */
  readonly reason: string
  readonly verdict: Verdict | null
}

/** Occasions of this session, newest first, then how the enabled intents stand. */
export async function explained(input: TurnInput, limit: number): Promise<Explained[]> {
  const turns = await unaskedTurns(input.db, input.session, limit)
  const intents = await ownIntents(input)
  const ids = intents.map(({ id }) => id)
  const checks = ids.length === 0 ? [] : await newestChecks(input.db, input.session.bucket, ids)
  const names = new Map(intents.map(({ id, intent_name }) => [id, intent_name]))
  return [
    ...turns.map(ofTurn),
    ...checks
      .filter(({ status }) => status !== 'success')
      .map((check) => ofCheck(check, names.get(check.intent_id) ?? '')),
  ]
}

interface Told {
  readonly timer_id?: string
  readonly label?: string
  readonly wake_message?: string
  readonly intent_name?: string
  readonly title?: string
}

function ofTurn({ type: kind, payload, status, error, verdicts, finished_at: at }: PastTurn) {
  const told = (JSON.parse(payload) ?? {}) as Told
  const named = told.timer_id ?? told.intent_name ?? told.title ?? (told.label || told.wake_message)
  const title = named ?? kind
  if (status === 'failed')
    return { at, kind, title, outcome: 'failed', reason: error ?? '', verdict: null } as const
  const judged = JSON.parse(verdicts) as Verdict[]
  const verdict = judged.find(({ allowed }) => allowed) ?? judged[0] ?? null
  if (verdict === null)
    return { at, kind, title, outcome: 'silent', reason: 'it said nothing', verdict } as const
  const outcome = verdict.allowed ? 'written' : 'held_back'
  return { at, kind, title, outcome, reason: verdict.rule, verdict } as const
}

function ofCheck(check: PastCheck, title: string): Explained {
  const { at, status } = check
  const common = { at, kind: 'intent', title }
  if (status === 'gate_blocked')
    return { ...common, outcome: 'held_back', reason: 'gate_blocked', verdict: null }
  if (status === 'failed')
    return { ...common, outcome: 'failed', reason: check.error_message ?? '', verdict: null }
  const seen = (JSON.parse(check.trigger_data ?? '{}') ?? {}) as { reason?: string }
  return { ...common, outcome: 'not_met', reason: seen.reason ?? 'false', verdict: null }
}
