/** What a run came to, written within its turn's commit: the output, the schedule, and word of it elsewhere. */
import type { SessionRef } from '../../core/sessions/session.ts'
import type { FinishedRun } from '../../core/work/work.ts'
import type { Db } from '../db/db.ts'
import { keyIs, NOW } from '../db/due.ts'
import type { DueWork } from './slots.ts'

export interface EndedRun {
  readonly bucket: number
  readonly eventId: string
  /** What it produced, or why it did not. */
  readonly result: FinishedRun | { readonly error: string }
  /** Times that passed while it ran. */
  readonly missedMore: number
}

export interface FreedWork {
  readonly work: DueWork
  readonly nextRunAt: Date | null
}

/** Both tables in one statement; they share nothing but the round trip. Ended outputs stay as they are. */
const SETTLE = `with freed as (
    update wakeful.work w
    set in_flight = null, next_run_at = i.next_run_at, is_active = i.next_run_at is not null, updated_at = ${NOW}
    from unnest($2::smallint[], $3::uuid[], $4::timestamptz[]) i(bucket, id, next_run_at)
    where ${keyIs('w.bucket', 'i.bucket')} and ${keyIs('w.id', 'i.id')})
  update wakeful.work_outputs o
  set status = case when i.error is null then 'completed' else 'failed' end,
      title = i.title, content = i.content, metadata = coalesce(i.metadata::json, o.metadata),
      output_type = case when i.file_key is null then 'text' else 'file' end,
      file_url = i.file_url, file_format = i.file_format, file_name = i.file_name, file_bytes = i.file_bytes, file_key = i.file_key,
      error_message = i.error, started_at = coalesce(o.started_at, ${NOW}), completed_at = ${NOW},
      missed_count = o.missed_count + i.missed_more,
      progress = case when i.error is null then 1 else o.progress end,
      progress_note = case when i.error is null then i.note else o.progress_note end,
      updated_at = ${NOW}
  from unnest($5::smallint[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
      $14::int[], $15::text[], $16::text[], $17::int[])
    i(bucket, event_id, title, content, metadata, file_url, file_format, file_name, file_key, file_bytes, error, note, missed_more)
  where ${keyIs('o.bucket', 'i.bucket')} and ${keyIs('o.event_id', 'i.event_id')} and o.status || '' in ('pending', 'running')
  returning o.event_id, o.traceparent`

/** Answers the events of the outputs that were written, with the trace of each: the others' work is gone. */
export async function settleRuns(
  tx: Db,
  ended: readonly EndedRun[],
  freed: readonly FreedWork[],
): Promise<Map<string, string | null>> {
  const done = ended.map(({ result }) => ('error' in result ? null : result))
  const rows = await tx.query<{ event_id: string; traceparent: string | null }>(SETTLE, [
    tx.now(),
    freed.map(({ work }) => work.bucket),
    freed.map(({ work }) => work.id),
    freed.map(({ nextRunAt }) => nextRunAt),
    ended.map((e) => e.bucket),
    ended.map((e) => e.eventId),
    done.map((d) => d?.title ?? null),
    done.map((d) => d?.content ?? null),
    done.map((d) => d?.metadata ?? null),
    done.map((d) => d?.file?.url ?? null),
    done.map((d) => d?.file?.format ?? null),
    done.map((d) => d?.file?.name ?? null),
    done.map((d) => d?.file?.key ?? null),
    done.map((d) => d?.file?.bytes ?? null),
    ended.map(({ result }) => ('error' in result ? result.error : null)),
    done.map((d) => d?.progressNote ?? null),
    ended.map((e) => e.missedMore),
  ])
  return new Map(rows.map((row) => [row.event_id, row.traceparent]))
}

export interface Notice {
  readonly session: SessionRef
  readonly eventId: string
  readonly workId: string
  readonly payload: string
  /** The trace of the run. */
  readonly traceparent: string | null
}

/**
 * Appends notices to the sessions that want to know, in the given order. They have no slot: nothing about them
 * is settled or withdrawn later.
 */
export async function appendNotices(tx: Db, notices: readonly Notice[]): Promise<void> {
  const bySession = new Map<string, Notice[]>()
  for (const notice of notices) {
    const { key } = notice.session
    bySession.set(key, [...(bySession.get(key) ?? []), notice])
  }
  const sessions = [...bySession.values()].flatMap(([first]) => (first ? [first.session] : []))
  const heads = await tx.query<{ session_key: string; last_seq: number }>(
    `insert into wakeful.sessions as s (bucket, session_key, user_id, agent_id, thread_id, last_seq, due_at, created_at, updated_at)
     select i.*, ${NOW}, ${NOW}, ${NOW}
     from unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[]) i(bucket, key, user_id, agent_id, thread_id, total)
     order by i.bucket, i.key
     on conflict (bucket, session_key) do update
       set last_seq = s.last_seq + excluded.last_seq, due_at = coalesce(s.due_at, excluded.due_at), updated_at = excluded.updated_at
     returning session_key, last_seq`,
    [
      tx.now(),
      sessions.map((s) => s.bucket),
      sessions.map((s) => s.key),
      sessions.map((s) => s.userId),
      sessions.map((s) => s.agentId),
      sessions.map((s) => s.threadId),
      sessions.map((s) => bySession.get(s.key)?.length ?? 0),
    ],
  )
  const numbered = heads.flatMap(({ session_key, last_seq }) => {
    const added = bySession.get(session_key) ?? []
    return added.map((notice, index) => ({ notice, seq: last_seq - added.length + 1 + index }))
  })
  await tx.query(
    `insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, traceparent, created_at)
     select i.bucket, i.key, i.seq, i.event_id, 'work', i.payload::json, i.work_id, i.traceparent, ${NOW}
     from unnest($2::smallint[], $3::text[], $4::int[], $5::uuid[], $6::text[], $7::uuid[], $8::text[])
       i(bucket, key, seq, event_id, payload, work_id, traceparent)`,
    [
      tx.now(),
      numbered.map(({ notice }) => notice.session.bucket),
      numbered.map(({ notice }) => notice.session.key),
      numbered.map(({ seq }) => seq),
      numbered.map(({ notice }) => notice.eventId),
      numbered.map(({ notice }) => notice.payload),
      numbered.map(({ notice }) => notice.workId),
      numbered.map(({ notice }) => notice.traceparent),
    ],
  )
}
