/** Why an agent wrote of late, or did not: what its session's turns and the checks of its intents came to. */
import type { SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'

export interface PastTurn {
  readonly type: string
  readonly trigger_id: string | null
  /** JSON text. */
  readonly payload: string
  readonly status: 'committed' | 'failed'
  readonly error: string | null
  /** JSON text. */
  readonly verdicts: string
  readonly finished_at: Date
}

/** The newest finished turns that nobody asked for, newest first. */
export async function unaskedTurns(
  db: Db,
  session: SessionRef,
  limit: number,
): Promise<PastTurn[]> {
  return db.query<PastTurn>(
    `select e.type, e.trigger_id, e.payload, t.status, t.error, t.verdicts, t.finished_at
     from wakeful.events e
     cross join lateral (select t.* from wakeful.turns t
       where t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq and t.status in ('committed', 'failed')
       order by t.attempt desc limit 1) t
     where e.bucket = $1 and e.session_key = $2 and e.type <> 'user_message' order by e.seq desc limit $3`,
    [session.bucket, session.key, limit],
  )
}

export interface PastCheck {
  readonly intent_id: string
  readonly status: string
  /** JSON text. */
  readonly trigger_data: string | null
  readonly error_message: string | null
  readonly at: Date
}

/** What the newest look at each of these intents came to. */
export async function newestChecks(
  db: Db,
  bucket: number,
  intentIds: readonly string[],
): Promise<PastCheck[]> {
  return db.query<PastCheck>(
    `select i.id as intent_id, x.status, x.trigger_data, x.error_message, coalesce(x.last_seen_at, x.executed_at) as at
     from unnest($2::uuid[]) i(id)
     cross join lateral (select x.* from wakeful.intent_executions x
       where x.bucket = $1 and x.intent_id = i.id order by x.executed_at desc, x.id desc limit 1) x`,
    [bucket, intentIds],
  )
}
