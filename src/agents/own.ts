/** What belongs to a turn's user, as the turn may read it: alarms and intents of this agent, and all work. */

import { parsedOf, ScheduleError } from '../../packages/schedule/src/index.ts'
import { listAlarms } from '../features/alarms/rows.ts'
import { type IntentRow, listIntents } from '../features/intents/rows.ts'
import { scheduleWords, termsOf } from '../features/intents/rules.ts'
import { getWork, listOutputs, type OutputRow, WORKS, type WorkRow } from '../features/work/rows.ts'
import { frequencyWords } from '../features/work/rules.ts'
import { readPage } from '../store/page.ts'
import type { TurnInput } from './agent.ts'

const LISTED_MAX = 100

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
      id: row.id,
      label: row.label,
      wake_message: row.wake_message,
      status: row.status,
      timezone: row.timezone,
      description: row.cron_expr === '' ? null : rhythmWords(row.cron_expr, row.timezone),
      next_fire_at: row.status === 'active' ? row.next_fire_at : null,
      last_fired_at: row.last_fired_at,
    }))
}

function rhythmWords(cron_expr: string, timezone: string): string {
  const parsed = parsedOf({ cron_expr, timezone })
  return parsed instanceof ScheduleError ? parsed.message : parsed.description
}

export type OwnIntent = Pick<
  IntentRow,
  | 'id'
  | 'intent_name'
  | 'trigger_type'
  | 'action_type'
  | 'action_context'
  | 'enabled'
  | 'timezone'
  | 'next_check'
  | 'last_executed'
  | 'execution_count'
  | 'max_executions'
  | 'expires_at'
> & {
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
      id: row.id,
      intent_name: row.intent_name,
      trigger_type: row.trigger_type,
      action_type: row.action_type,
      action_context: row.action_context,
      enabled: row.enabled,
      timezone: row.timezone,
      next_check: row.next_check,
      last_executed: row.last_executed,
      execution_count: row.execution_count,
      max_executions: row.max_executions,
      expires_at: row.expires_at,
      description: scheduleWords(termsOf(row)),
    }))
}

export type OwnWork = Pick<
  WorkRow,
  | 'id'
  | 'task'
  | 'agent_type'
  | 'frequency'
  | 'timezone'
  | 'is_active'
  | 'next_run_at'
  | 'last_run_at'
> & {
  /** Its frequency in words. */
  readonly description: string
}

/** The newest hundred, paused work too. */
export async function ownWork({ db, session }: Reads): Promise<OwnWork[]> {
  const rows = await readPage(db, WORKS, { owner: session.userId, limit: LISTED_MAX })
  return rows.map((row) => ({
    id: row.id,
    task: row.task,
    agent_type: row.agent_type,
    frequency: row.frequency,
    timezone: row.timezone,
    is_active: row.is_active,
    next_run_at: row.next_run_at,
    last_run_at: row.last_run_at,
    description: frequencyWords(row),
  }))
}

export type OwnOutput = Pick<
  OutputRow,
  | 'run_number'
  | 'status'
  | 'title'
  | 'content'
  | 'file_url'
  | 'error_message'
  | 'progress_note'
  | 'scheduled_for'
  | 'completed_at'
>

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
    run_number: row.run_number,
    status: row.status,
    title: row.title,
    content: row.content,
    file_url: row.file_url,
    error_message: row.error_message,
    progress_note: row.progress_note,
    scheduled_for: row.scheduled_for,
    completed_at: row.completed_at,
  }))
}
