/**
 * The rows of one session, a page at a time and from either end. Each list is in the order of its primary key, and every bound is
 * one on that key: a page costs its own rows, however long the session is.
 */
import { EFFECTS_PER_TURN_MAX, type SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import type { EffectView } from './effects.ts'
import type { EventRow } from './events.ts'
import type { TurnRow } from './turns.ts'

/** Of which events, both ends left out; a null end is open. */
export interface Span {
  readonly after: number
  readonly before: number | null
  readonly newestFirst: boolean
}

/** `from` is where the page before ended. */
type Page<From> = Span & { readonly from: From | null; readonly limit: number }

const BEYOND = 2_147_483_648

export async function eventsPage(
  db: Db,
  session: SessionRef,
  page: Page<number>,
): Promise<EventRow[]> {
  const { newestFirst: down, from } = page
  const before = page.before ?? BEYOND
  return db.query<EventRow>(
    `select id, session_key, seq, type, payload, created_at from wakeful.events
     where bucket = $1 and session_key = $2 and seq > $3::bigint and seq < $4::bigint
     order by seq ${down ? 'desc' : ''} limit $5`,
    [
      session.bucket,
      session.key,
      down || from === null ? page.after : Math.max(page.after, from),
      down && from !== null ? Math.min(before, from) : before,
      page.limit,
    ],
  )
}

/** By position, which begins with the event's number. */
export async function effectsPage(
  db: Db,
  session: SessionRef,
  page: Page<number> & { readonly status: string | null },
): Promise<EffectView[]> {
  const { newestFirst: down, from } = page
  const after = page.after === 0 ? -1 : (page.after + 1) * EFFECTS_PER_TURN_MAX - 1
  const before = (page.before ?? BEYOND) * EFFECTS_PER_TURN_MAX
  return db.query<EffectView>(
    `select id, position, type, payload, status, reason, attempt_count, last_attempt_at, dedupe_key, checkpoint_id, created_at, updated_at
     from wakeful.effects
     where bucket = $1 and session_key = $2 and position > $3::bigint and position < $4::bigint
       and ($5::text is null or status = $5)
     order by position ${down ? 'desc' : ''} limit $6`,
    [
      session.bucket,
      session.key,
      down || from === null ? after : Math.max(after, from),
      down && from !== null ? Math.min(before, from) : before,
      page.status,
      page.limit,
    ],
  )
}

export async function turnsPage(
  db: Db,
  session: SessionRef,
  page: Page<readonly [number, number]>,
): Promise<TurnRow[]> {
  const { newestFirst: down } = page
  const [seq, attempt] = page.from ?? (down ? [BEYOND, 0] : [0, 0])
  return db.query<TurnRow>(
    `select event_seq, event_id, attempt, status, started_at, finished_at, error, checkpoint_id, effect_ids, verdicts
     from wakeful.turns where bucket = $1 and session_key = $2 and event_seq > $3::bigint and event_seq < $4::bigint
       and (event_seq, attempt) ${down ? '<' : '>'} ($5::bigint, $6::int)
     order by event_seq ${down ? 'desc' : ''}, attempt ${down ? 'desc' : ''} limit $7`,
    [session.bucket, session.key, page.after, page.before ?? BEYOND, seq, attempt, page.limit],
  )
}
