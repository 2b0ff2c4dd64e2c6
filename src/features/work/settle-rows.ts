/** What a run came to, written within its turn's commit: the output, the schedule, and word of it elsewhere. */

import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import {
  type EventRef,
  lockingByEvent,
  NUMBERED,
  type Numbered,
  type SlotEvent,
} from '../../store/slots.ts'
import { rows, rowsOf, statement } from '../../store/statement.ts'
import { assignSeq } from '../sessions/number-rows.ts'
import type { FinishedRun } from './rules.ts'
import { SLOT, type WorkSlot } from './slot-rows.ts'

/** Of works whose slot in hand these events are; a run that was asked for holds none. */
export const lockByEvent = lockingByEvent<WorkSlot>(
  'wakeful.work',
  SLOT,
  'select o.work_id as id from wakeful.work_outputs o where o.bucket = h.bucket and o.event_id = h.event_id limit 1',
)

export interface EndedRun extends EventRef {
  /** What it produced, or why it did not. */
  readonly result: FinishedRun | { readonly error: string }
  /** Times that passed while it ran. */
  readonly missedMore: number
}

export interface FreedSlot {
  readonly slot: WorkSlot
  readonly nextRunAt: Date | null
}

const errorOf = ({ result }: EndedRun) => ('error' in result ? result.error : null)
const doneOf = ({ result }: EndedRun) => ('error' in result ? null : result)

/** Both tables in one statement; they share nothing but the round trip. Ended outputs stay as they are. */
const SETTLE = statement(
  {
    f: rowsOf<FreedSlot>({
      bucket: ['smallint', ({ slot }) => slot.bucket],
      id: ['uuid', ({ slot }) => slot.id],
      next_run_at: ['timestamptz?', ({ nextRunAt }) => nextRunAt],
    }),
    i: rowsOf<EndedRun>({
      bucket: ['smallint', (run) => run.bucket],
      event_id: ['uuid', (run) => run.eventId],
      title: ['text?', (run) => doneOf(run)?.title ?? null],
      content: ['text?', (run) => doneOf(run)?.content ?? null],
      metadata: ['json?', (run) => doneOf(run)?.metadata ?? null],
      file_url: ['text?', (run) => doneOf(run)?.file?.url ?? null],
      file_format: ['text?', (run) => doneOf(run)?.file?.format ?? null],
      file_name: ['text?', (run) => doneOf(run)?.file?.name ?? null],
      file_key: ['text?', (run) => doneOf(run)?.file?.key ?? null],
      file_bytes: ['int?', (run) => doneOf(run)?.file?.bytes ?? null],
      error: ['text?', errorOf],
      note: ['text?', (run) => doneOf(run)?.progressNote ?? null],
      missed_more: ['int', (run) => run.missedMore],
    }),
  },
  ({ f, i }) => `with freed as (
    update wakeful.work w
    set in_flight = null, next_run_at = f.next_run_at, is_active = f.next_run_at is not null, updated_at = ${NOW}
    from ${f} where ${eqByKey('w.bucket', 'f.bucket')} and ${eqByKey('w.id', 'f.id')}),
  ended as (
  update wakeful.work_outputs o
  set status = case when i.error is null then 'completed' else 'failed' end,
      title = i.title, content = i.content, metadata = coalesce(i.metadata, o.metadata),
      output_type = case when i.file_key is null then 'text' else 'file' end,
      file_url = i.file_url, file_format = i.file_format, file_name = i.file_name, file_bytes = i.file_bytes, file_key = i.file_key,
      error_message = i.error, started_at = coalesce(o.started_at, ${NOW}), completed_at = ${NOW},
      missed_count = o.missed_count + i.missed_more,
      progress = case when i.error is null then 1 else o.progress end,
      progress_note = case when i.error is null then i.note else o.progress_note end,
      updated_at = ${NOW}
  from ${i}
  where ${eqByKey('o.bucket', 'i.bucket')} and o.event_id = i.event_id and o.status || '' in ('pending', 'running')
  returning o.event_id, o.traceparent)
  select event_id, traceparent from ended`,
)

/** Answers the events of the outputs that were written, with the trace of each: the others' work is gone. */
export async function settleSlots(
  tx: Db,
  ended: readonly EndedRun[],
  freed: readonly FreedSlot[],
): Promise<Map<string, string | null>> {
  const written = await SETTLE.run<{ event_id: string; traceparent: string | null }>(tx, {
    f: freed,
    i: ended,
  })
  return new Map(written.map((row) => [row.event_id, row.traceparent]))
}

/** A work whose run has ended, and what is known of who is told. */
export interface ToldWork {
  readonly event_id: string
  readonly id: string
  readonly bucket: number
  readonly user_id: string
  readonly agent_type: string
  readonly task: string
  readonly run_number: number
  readonly notify: boolean
  readonly notify_session: string | null
  /** The run before failed. */
  readonly failing: boolean
}

const TOLD = statement(
  { h: rows({ bucket: 'smallint', eventId: 'uuid' }) },
  ({
    h,
  }) => `select o.event_id, w.id, w.bucket, w.user_id, w.agent_type, left(w.task, 200) as task, o.run_number, w.notify,
      coalesce(w.notify_session, w.parameters ->> 'notify_session') as notify_session, w.failing
    from ${h}
    join wakeful.work_outputs o on ${eqByKey('o.bucket', 'h.bucket')} and o.event_id = h.event_id
    join wakeful.work w on ${eqByKey('w.bucket', 'o.bucket')} and ${eqByKey('w.id', 'o.work_id')}`,
)

/** By the events of their runs; the order of their session keeps runs of one work apart. */
export async function toldWorks(
  tx: Db,
  events: readonly EventRef[],
): Promise<Map<string, ToldWork>> {
  const found = await TOLD.run<ToldWork>(tx, { h: events })
  return new Map(found.map((row) => [row.event_id, row]))
}

const FAILING = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid', failing: 'boolean' }) },
  ({ i }) => `update wakeful.work w set failing = i.failing from ${i}
    where ${eqByKey('w.bucket', 'i.bucket')} and ${eqByKey('w.id', 'i.id')}`,
)

/** Of those whose runs begin to fail, or succeed again. */
export async function noteFailing(
  tx: Db,
  works: readonly { bucket: number; id: string; failing: boolean }[],
): Promise<void> {
  const sorted = works.toSorted((a, b) => a.bucket - b.bucket || (a.id < b.id ? -1 : 1))
  if (works.length > 0) await FAILING.run(tx, { i: sorted })
}

export interface Notice extends SlotEvent {
  readonly workId: string
  readonly payload: string
  /** The trace of the run. */
  readonly traceparent: string | null
}

const APPEND = statement(
  {
    i: rowsOf<Numbered<Notice>>({
      ...NUMBERED,
      payload: ['json', ({ event }) => event.payload],
      work_id: ['uuid', ({ event }) => event.workId],
      traceparent: ['text?', ({ event }) => event.traceparent],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, traceparent, created_at)
    select bucket, session_key, seq, event_id, 'work', payload, work_id, traceparent, ${NOW} from ${i}`,
)

/**
 * Appends notices to the sessions that want to know, in the given order. They have no slot: nothing about them
 * is settled or withdrawn later.
 */
export async function appendNotices(tx: Db, notices: readonly Notice[]): Promise<void> {
  if (notices.length > 0) await APPEND.run(tx, { i: await assignSeq(tx, notices) })
}
