/**
 * What came of single events that nobody typed, each by itself: its newest attempt and the messages of it; and of the newest
 * looks at intents. For those who look at very many or in passing; the whole story of a slot is in `facts.ts`.
 */

import { bucketOf, EFFECTS_PER_TURN_MAX, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import type { CheckRow, Occasion, TriggerKind } from './rules.ts'

/** Small pages: the embedded store holds up the whole process while a statement runs. */
const SESSIONS_PER_PAGE = 100
const ROWS_PER_PAGE = 2_000
export const HAPPENINGS_MAX = 20_000
/** So far back into one session's log; its newest are read first. */
const SEQS_PER_SESSION = 5_000
const CHECKS_MAX = 100
const NAME_MAX = 200

/** What the trigger of an event was called then; a notice by what it tells of. */
export const EVENT_NAME = `coalesce(e.payload ->> 'timer_id', e.payload ->> 'intent_name', e.payload ->> 'title', nullif(e.payload ->> 'label', ''),
  e.payload ->> 'wake_message', e.payload ->> 'task', e.payload -> 'question' ->> 'text')`
const TURN = (wanted: string) => `lateral (select t.* from wakeful.turns t
  where t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq and ${wanted} order by t.attempt desc limit 1) t`
const OUTCOME = `t.status, t.error, t.cause, coalesce(t.verdicts, '[]'::json) as verdicts, array(
  select f.status from wakeful.effects f
  where f.bucket = e.bucket and f.session_key = e.session_key and f.type = 'send_message'
    and f.position >= e.seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (e.seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX}) as messages`

export interface PastTurn extends Occasion {
  readonly type: string
  readonly name: string | null
  readonly finished_at: Date
}

/** The newest finished turns of a session that nobody asked for, newest first. */
export async function unaskedTurns(
  db: Db,
  session: SessionRef,
  limit: number,
): Promise<PastTurn[]> {
  return db.query<PastTurn>(
    `select e.type, ${EVENT_NAME} as name, t.finished_at, ${OUTCOME}
     from wakeful.events e cross join ${TURN(`t.status in ('committed', 'failed')`)}
     where e.bucket = $1 and e.session_key = $2 and e.type <> 'user_message' order by e.seq desc limit $3`,
    [session.bucket, session.key, limit],
  )
}

export interface PastCheck extends CheckRow {
  readonly name: string
  readonly at: Date
}

/** What the newest look at each enabled intent of the session's agent came to, where that was no event. */
export async function newestChecks(
  db: Db,
  { bucket, userId, agentId }: SessionRef,
): Promise<PastCheck[]> {
  return db.query<PastCheck>(
    `select i.intent_name as name, coalesce(x.last_seen_at, x.executed_at) as at, x.status, x.cause, x.trigger_data, x.gate_result,
       x.error_message, x.last_seen_at, x.repeats
     from wakeful.scheduled_intents i
     cross join lateral (select x.* from wakeful.intent_executions x
       where x.bucket = i.bucket and x.intent_id = i.id order by x.executed_at desc, x.id desc limit 1) x
     where i.bucket = $1 and i.user_id = $2 and i.agent_id = $3 and i.enabled and x.status <> 'success'
     order by i.created_at desc, i.id desc limit ${CHECKS_MAX}`,
    [bucket, userId, agentId],
  )
}

export interface Span {
  readonly userId: string
  readonly from: Date
  readonly to: Date
}

export interface Happening extends Occasion {
  readonly session_key: string
  readonly type: TriggerKind
  readonly trigger_id: string | null
  readonly name: string | null
  readonly created_at: Date
}

const SESSIONS = `select session_key, last_seq from wakeful.sessions
  where bucket = $1 and session_key > $2 and session_key < $3 and updated_at >= $4::timestamptz
  order by session_key limit ${SESSIONS_PER_PAGE}`

const HAPPENINGS = `select e.session_key, e.type, e.trigger_id, left(${EVENT_NAME}, ${NAME_MAX}) as name, e.created_at, ${OUTCOME}
  from (
    select e.* from unnest($2::text[], $3::int[]) s(session_key, last_seq)
    cross join lateral (
      select e.* from wakeful.events e
      where e.bucket = $1 and e.session_key = s.session_key and e.seq > s.last_seq - ${SEQS_PER_SESSION}
        and e.type in ('timer', 'alarm', 'intent', 'work')
        and e.created_at >= $4::timestamptz and e.created_at <= $5::timestamptz
      order by e.seq desc) e
    limit ${ROWS_PER_PAGE}) e
  left join ${TURN('true')} on true`

/** Of all sessions of a person within a span, session by session; `cut` when there was more than is read. */
export async function happenings(
  db: Db,
  span: Span,
  signal: AbortSignal,
): Promise<{ rows: Happening[]; cut: boolean }> {
  const bucket = bucketOf(span.userId)
  const rows: Happening[] = []
  let cut = false
  for (let after = `${span.userId}:`; ; ) {
    signal.throwIfAborted()
    const sessions = await db.query<{ session_key: string; last_seq: number }>(SESSIONS, [
      ...[bucket, after, `${span.userId};`, span.from],
    ])
    const last = sessions.at(-1)
    if (last === undefined) break
    const found = await db.query<Happening>(HAPPENINGS, [
      bucket,
      sessions.map((session) => session.session_key),
      sessions.map((session) => session.last_seq),
      ...[span.from, span.to],
    ])
    rows.push(...found)
    cut ||= found.length >= ROWS_PER_PAGE
    if (rows.length >= HAPPENINGS_MAX) return { rows: rows.slice(0, HAPPENINGS_MAX), cut: true }
    if (sessions.length < SESSIONS_PER_PAGE) break
    after = last.session_key
  }
  return { rows, cut }
}
