/**
 * The runs of work: queued as an event with its output, begun, settled. The output's `event_id` is the fence:
 * once the work is deleted, whatever its run still wants to write finds nothing. Rows are always locked in
 * the order work, then outputs; a commit holds the run's session already.
 */

import type { Db } from '../../store/db.ts'
import { claimTx, eqByKey, NOW, NOW_MS, WORK } from '../../store/due.ts'
import {
  appendTaken,
  dueFrom,
  type EventRef,
  NUMBERED,
  type Numbered,
  type SlotEvent,
  withdrawnFrom,
} from '../../store/slots.ts'
import { rows, rowsOf, statement } from '../../store/statement.ts'
import { assignSeq } from '../sessions/number-rows.ts'
import type { WorkSchedule } from './rules.ts'

/** One run that becomes an event. */
export interface QueuedRun extends SlotEvent {
  readonly workId: string
  readonly outputId: string
  /** The slot of the schedule it stands for, and what the schedule becomes; null for a run that was asked for. */
  readonly slot: {
    readonly at: Date
    readonly nextRunAt: Date | null
    readonly missedCount: number
    /** What its clock showed then, of one that follows its person. */
    readonly firedLocal: string | null
    /** What its executor is told: those, and the ones that passed while the slot before ran. JSON text where there are any. */
    readonly told: { readonly missedCount: number; readonly missed: string | null }
  } | null
  /** The trace it was asked for in, if any; else it goes on in that of its work. */
  readonly traceparent: string | null
}

export interface WorkSlot extends WorkSchedule {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly agent_type: string
  readonly agent_id: string | null
  readonly follows_zone: boolean
  readonly name: string
  /** The trace it was made in. */
  readonly traceparent: string | null
  readonly now: Date
}

export const SLOT = `t.bucket, t.id, t.user_id, t.agent_type, t.agent_id, t.frequency_cron, t.timezone, t.anchor_at, t.is_active,
  t.next_run_at, t.scheduled_for, t.traceparent, t.catch_up, t.catch_up_within_seconds, t.follows_zone,
  t.fired_local, left(t.task, 200) as name`

export const dueSlots = dueFrom<WorkSlot>(WORK, SLOT)

const TAKE = statement(
  {
    i: rowsOf<Numbered<QueuedRun>>({
      ...NUMBERED,
      id: ['uuid', ({ event }) => event.workId],
      output_id: ['uuid', ({ event }) => event.outputId],
      slot: ['timestamptz?', ({ event }) => event.slot?.at ?? null],
      next_run_at: ['timestamptz?', ({ event }) => event.slot?.nextRunAt ?? null],
      missed_count: ['int', ({ event }) => event.slot?.missedCount ?? 0],
      told_count: ['int', ({ event }) => event.slot?.told.missedCount ?? 0],
      missed: ['json?', ({ event }) => event.slot?.told.missed ?? null],
      fired_local: ['text?', ({ event }) => event.slot?.firedLocal ?? null],
      traceparent: ['text?', ({ event }) => event.traceparent],
    }),
  },
  ({ i }) => `with taken as (
    update wakeful.work w
    set run_count = w.run_count + 1, updated_at = ${NOW}, fired_local = coalesce(i.fired_local, w.fired_local),
        in_flight = case when i.slot is null then w.in_flight else i.event_id end,
        scheduled_for = coalesce(i.slot, w.scheduled_for),
        next_run_at = case when i.slot is null then w.next_run_at else i.next_run_at end,
        is_active = case when i.slot is null then w.is_active else i.next_run_at is not null end
    from ${i}
    where ${eqByKey('w.bucket', 'i.bucket')} and ${eqByKey('w.id', 'i.id')}
    returning w.bucket, w.id as work_id, w.user_id, w.agent_id, w.run_count as run_number, w.task, w.parameters, w.timezone,
      coalesce(i.traceparent, w.traceparent) as traceparent, w.lineage,
      i.event_id, i.output_id, i.session_key, i.seq, i.slot, i.missed_count as covered, i.told_count as missed_count, i.missed,
      coalesce(i.slot, ${NOW_MS}) as scheduled_for),
  made as (
    insert into wakeful.work_outputs (bucket, id, work_id, user_id, agent_id, run_number, event_id, slot, scheduled_for, missed_count, traceparent,
      created_at, updated_at)
    select bucket, output_id, work_id, user_id, agent_id, run_number, event_id, slot, scheduled_for, covered, traceparent, ${NOW}, ${NOW}
    from taken),
  ${appendTaken('work', ['work_id', 'run_number', 'task', 'parameters', 'timezone', 'scheduled_for', 'missed_count', 'missed'])}
  select id from appended`,
)

/**
 * Queues runs, each with its output and its event. Answers the ids of the events: a work that was deleted
 * meanwhile has none, and the caller undoes the transaction, since its session's number is taken.
 */
export async function queueRuns(tx: Db, runs: readonly QueuedRun[]): Promise<Set<string>> {
  if (runs.length === 0) return new Set()
  const made = await TAKE.run<{ id: string }>(tx, { i: await assignSeq(tx, runs) })
  return new Set(made.map((row) => row.id))
}

const LAST = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ i }) => `select i.id, o.created_at, o.completed_at from ${i}
    cross join lateral (select o.created_at, o.completed_at from wakeful.work_outputs o
      where o.bucket = i.bucket and o.work_id = i.id and o.slot is not null and o.missed_count > 0
      order by o.run_number desc limit 1) o
    where o.completed_at is not null`,
)

/** Of works some of whose slots have passed, when the last run that covers slots was made and when it ended. */
export async function lastCovering(
  tx: Db,
  works: readonly { bucket: number; id: string }[],
): Promise<Map<string, { readonly created_at: Date; readonly completed_at: Date }>> {
  if (works.length === 0) return new Map()
  const found = await LAST.run<{ id: string; created_at: Date; completed_at: Date }>(tx, {
    i: works,
  })
  return new Map(found.map((row) => [row.id, row]))
}

const SKIP = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid', next_run_at: 'timestamptz?' }) },
  ({
    i,
  }) => `update wakeful.work w set next_run_at = i.next_run_at, is_active = i.next_run_at is not null, updated_at = ${NOW}
    from ${i} where ${eqByKey('w.bucket', 'i.bucket')} and ${eqByKey('w.id', 'i.id')}`,
)

/** Of locked works whose slots were given up: on to the next, or at their end. */
export async function skipSlots(
  tx: Db,
  skipped: readonly { bucket: number; id: string; next_run_at: Date | null }[],
): Promise<void> {
  if (skipped.length > 0) await SKIP.run(tx, { i: skipped })
}

/** Of these events, those whose output is gone or has ended. */
export const withdrawnEvents = withdrawnFrom(
  'wakeful.work_outputs',
  // Written so that the index of those that wait or run does not fit: the event is the key.
  "t.event_id = i.event_id and t.status || '' in ('pending', 'running')",
)

export interface BegunRun extends EventRef {
  readonly triggerId: string
  readonly attempt: number
}

const NOTE_RUN = statement(
  { i: rows({ bucket: 'smallint', triggerId: 'uuid' }) },
  ({ i }) => `update wakeful.work w set last_run_at = ${NOW} from ${i}
    where ${eqByKey('w.bucket', 'i.bucket')} and ${eqByKey('w.id', 'i.trigger_id')}`,
)

const BEGIN = statement(
  { i: rows({ bucket: 'smallint', eventId: 'uuid', attempt: 'int' }) },
  ({ i }) => `update wakeful.work_outputs o
    set status = 'running', started_at = coalesce(o.started_at, ${NOW}), attempt = i.attempt, progress = null, progress_note = null,
        updated_at = ${NOW}
    from ${i}
    where ${eqByKey('o.bucket', 'i.bucket')} and o.event_id = i.event_id and o.status || '' in ('pending', 'running')`,
)

/** An attempt that begins again starts from nothing; when the run first began is kept. */
export async function beginRuns(db: Db, runs: readonly BegunRun[]): Promise<void> {
  const sorted = runs.toSorted(
    (a, b) => a.bucket - b.bucket || (a.triggerId < b.triggerId ? -1 : 1),
  )
  await claimTx(db, async (tx) => {
    await NOTE_RUN.run(tx, { i: sorted })
    await BEGIN.run(tx, { i: sorted })
  })
}

export interface Progress extends EventRef {
  readonly attempt: number
  readonly share: number
  readonly note: string | null
}

const WRITE_PROGRESS = statement(
  {
    i: rows({
      bucket: 'smallint',
      eventId: 'uuid',
      attempt: 'int',
      share: 'float8',
      note: 'text?',
    }),
  },
  ({
    i,
  }) => `update wakeful.work_outputs o set progress = i.share, progress_note = i.note, updated_at = ${NOW}
    from ${i}
    where ${eqByKey('o.bucket', 'i.bucket')} and o.event_id = i.event_id and o.attempt = i.attempt and o.status = 'running'`,
)

/** Only the attempt that runs may say how far it is: a late word of an earlier one finds nothing. */
export async function writeProgress(db: Db, reports: readonly Progress[]): Promise<void> {
  await WRITE_PROGRESS.run(db, { i: reports })
}
