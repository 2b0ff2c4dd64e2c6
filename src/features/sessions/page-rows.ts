/**
 * The rows of one session, a page at a time and from either end. Each list is in the order of its primary key, and every bound is
 * one on that key: a page costs its own rows, however long the session is.
 */

import { EFFECTS_PER_TURN_MAX, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { statement } from '../../store/statement.ts'
import type { EffectView } from './effect-rows.ts'
import type { EventRow } from './event-rows.ts'
import type { TurnRow } from './turn-rows.ts'

/** Of which events, both ends left out; a null end is open. */
export interface Span {
  readonly after: number
  readonly before: number | null
  readonly newestFirst: boolean
}

/** `from` is where the page before ended. */
type Page<From> = Span & { readonly from: From | null; readonly limit: number }

const BEYOND = 2_147_483_648

type Order = '' | 'desc'
/** A text for each order: which one is known when a page is asked for. */
function eitherWay<S>(write: (order: Order) => S): (page: Span) => S {
  const [up, down] = [write(''), write('desc')]
  return ({ newestFirst }) => (newestFirst ? down : up)
}

const BETWEEN = {
  bucket: 'smallint',
  key: 'text',
  after: 'bigint',
  before: 'bigint',
  limit: 'int',
} as const

/** The bounds of what is left of a span from where the page before ended. */
function left(page: Page<number>, after: number, before: number) {
  const { newestFirst: down, from, limit } = page
  if (from === null) return { after, before, limit }
  return down
    ? { after, before: Math.min(before, from), limit }
    : { after: Math.max(after, from), before, limit }
}

const EVENTS = eitherWay((order) =>
  statement(
    BETWEEN,
    ({
      bucket,
      key,
      after,
      before,
      limit,
    }) => `select id, session_key, seq, type, payload, created_at from wakeful.events
      where bucket = ${bucket} and session_key = ${key} and seq > ${after} and seq < ${before}
      order by seq ${order} limit ${limit}`,
  ),
)

export async function eventsPage(
  db: Db,
  { bucket, key }: SessionRef,
  page: Page<number>,
): Promise<EventRow[]> {
  const bounds = left(page, page.after, page.before ?? BEYOND)
  return EVENTS(page).run<EventRow>(db, { bucket, key, ...bounds })
}

const EFFECTS = eitherWay((order) =>
  statement(
    { ...BETWEEN, status: 'text?' },
    ({
      bucket,
      key,
      after,
      before,
      status,
      limit,
    }) => `select id, position, type, payload, status, reason, delivered_by as channel, attempt_count, last_attempt_at,
        last_error, dedupe_key, checkpoint_id, created_at, updated_at
      from wakeful.effects
      where bucket = ${bucket} and session_key = ${key} and position > ${after} and position < ${before}
        and (${status} is null or status = ${status})
      order by position ${order} limit ${limit}`,
  ),
)

/** By position, which begins with the event's number. */
export async function effectsPage(
  db: Db,
  { bucket, key }: SessionRef,
  page: Page<number> & { readonly status: string | null },
): Promise<EffectView[]> {
  const after = page.after === 0 ? -1 : (page.after + 1) * EFFECTS_PER_TURN_MAX - 1
  const before = (page.before ?? BEYOND) * EFFECTS_PER_TURN_MAX
  const bounds = left(page, after, before)
  return EFFECTS(page).run<EffectView>(db, { bucket, key, status: page.status, ...bounds })
}

const TURNS = eitherWay((order) =>
  statement(
    { ...BETWEEN, seq: 'bigint', attempt: 'int' },
    ({
      bucket,
      key,
      after,
      before,
      seq,
      attempt,
      limit,
    }) => `select event_seq, event_id, attempt, status, started_at, finished_at, error,
        checkpoint_id, effect_ids, verdicts
      from wakeful.turns where bucket = ${bucket} and session_key = ${key} and event_seq > ${after} and event_seq < ${before}
        and (event_seq, attempt) ${order === 'desc' ? '<' : '>'} (${seq}, ${attempt})
      order by event_seq ${order}, attempt ${order} limit ${limit}`,
  ),
)

export async function turnsPage(
  db: Db,
  { bucket, key }: SessionRef,
  page: Page<readonly [number, number]>,
): Promise<TurnRow[]> {
  const { after, before, limit, newestFirst } = page
  const [seq, attempt] = page.from ?? (newestFirst ? [BEYOND, 0] : [0, 0])
  const bounds = { after, before: before ?? BEYOND, limit }
  return TURNS(page).run<TurnRow>(db, { bucket, key, ...bounds, seq, attempt })
}
