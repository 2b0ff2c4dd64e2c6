/** Rows for a person's report beyond the fires: checks, runs, failing alarms. All reads use keys and limits. */

import { bucketOf } from '../../../../src/core/session.ts'
import { HAPPENINGS_MAX, type Span } from '../../../../src/features/ledger/occasion-rows.ts'
import type { Db } from '../../../../src/store/db.ts'

const LIST_MAX = 500

/** How checks of intents ended; quiet ones are counted in one row. */
export interface CheckFigure {
  readonly status: 'success' | 'failed' | 'gate_blocked' | 'condition_not_met' | 'expired'
  readonly name: string | null
  readonly checks: number
  readonly error: string | null
}

export async function intentChecks(db: Db, span: Span): Promise<CheckFigure[]> {
  return db.query<CheckFigure>(
    `select coalesce(x.cause, x.status) as status, i.intent_name as name, sum(x.repeats)::int as checks, max(left(x.error_message, 300)) as error
     from (select * from wakeful.intent_executions
           where user_id = $1 and executed_at >= $2::timestamptz and executed_at <= $3::timestamptz
           order by executed_at desc limit ${HAPPENINGS_MAX}) x
     left join wakeful.scheduled_intents i on i.bucket = x.bucket and i.id = x.intent_id
     group by 1, 2 order by checks desc, name limit ${LIST_MAX}`,
    [span.userId, span.from, span.to],
  )
}

export interface OutputFigure {
  readonly work_id: string
  readonly task: string
  readonly run_number: number
  readonly title: string | null
  readonly status: 'pending' | 'running' | 'completed' | 'failed'
  readonly error_message: string | null
  readonly created_at: Date
}

/** Runs of the newest works, newest run first. */
export async function workRuns(db: Db, span: Span): Promise<OutputFigure[]> {
  return db.query<OutputFigure>(
    `select o.work_id, left(w.task, 200) as task, o.run_number, left(o.title, 200) as title, o.status,
       left(o.error_message, 300) as error_message, o.created_at
     from (select bucket, id, task from wakeful.work where bucket = $1 and user_id = $2
           order by created_at desc, id desc limit ${LIST_MAX}) w
     cross join lateral (
       select * from wakeful.work_outputs o where o.bucket = w.bucket and o.work_id = w.id
       order by o.run_number desc limit ${LIST_MAX}) o
     where o.created_at >= $3::timestamptz and o.created_at <= $4::timestamptz
     order by o.created_at desc, o.run_number desc limit ${HAPPENINGS_MAX}`,
    [bucketOf(span.userId), span.userId, span.from, span.to],
  )
}

export interface TroubledAlarm {
  readonly name: string
  readonly status: 'active' | 'fired' | 'cancelled' | 'failed'
  readonly failure_count: number
  readonly last_error: string
}

/** Alarms that failed or are being retried; alarms delivered by HTTP have no turns that record it. */
export async function troubledAlarms(db: Db, span: Span): Promise<TroubledAlarm[]> {
  return db.query<TroubledAlarm>(
    `select left(case when label <> '' then label else wake_message end, 200) as name, status, failure_count,
       left(last_error, 300) as last_error
     from wakeful.alarms
     where bucket = $1 and user_id = $2 and last_error <> '' and updated_at >= $3::timestamptz and updated_at <= $4::timestamptz
     order by updated_at desc limit 50`,
    [bucketOf(span.userId), span.userId, span.from, span.to],
  )
}
