/** What is stopped, kept in the first shard and read by every process; and what a stop holds, in each shard. */

import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, inMs, NOW } from '../../store/due.ts'
import type { Table } from '../../store/page.ts'
import { rows, statement } from '../../store/statement.ts'
import { lockAndBind } from '../sessions/in-flight-rows.ts'
import { HELD_UNTIL, type Stop, type StopEnd, type StopLevel } from './stops.ts'

export interface StopRow extends Stop {
  readonly reason: string
  readonly made_by: string
  readonly ended_by: string | null
}

const ROW = 'id, level, target, reason, made_by, created_at, ended_at, ended, ended_by'
/** So long after its end, what waited under a stop that was dropped may still come up. */
const DROPS_KNOWN_MS = String(-30 * 86_400_000)
const DEFERRED_UNTIL = `timestamptz '${HELD_UNTIL.toISOString()}'`
/** A microsecond later: an alarm may be set for any millisecond, and must not look as if a stop held it. */
const HELD = `timestamptz '${HELD_UNTIL.toISOString().replace('Z', '001Z')}'`

export interface NewStop {
  readonly id: string
  readonly level: StopLevel
  readonly target: string | null
  readonly reason: string
  readonly madeBy: string
}

/** The same again finds the one that stands. */
export async function insertStop(db: Db, stop: NewStop): Promise<{ row: StopRow; fresh: boolean }> {
  const { id, level, target, reason, madeBy } = stop
  const [made] = await db.query<StopRow>(
    `insert into wakeful.stops (id, level, target, reason, made_by, created_at)
     values ($2::uuid, $3, $4, $5, $6, ${NOW}) on conflict (level, coalesce(target, '')) where ended_at is null do nothing
     returning ${ROW}`,
    [db.now(), id, level, target, reason, madeBy],
  )
  if (made !== undefined) return { row: made, fresh: true }
  const [known] = await db.query<StopRow>(
    `select ${ROW} from wakeful.stops where level = $1 and target is not distinct from $2 and ended_at is null`,
    [level, target],
  )
  if (known === undefined) throw new Error('the stop was not written')
  return { row: known, fresh: false }
}

/** Null for an unknown id; one that has ended stays as it is. */
export async function endStop(
  db: Db,
  id: string,
  end: { readonly how: StopEnd; readonly by: string },
): Promise<StopRow | null> {
  const [row] = await db.query<StopRow>(
    `update wakeful.stops set ended_at = coalesce(ended_at, ${NOW}), ended = coalesce(ended, $3), ended_by = coalesce(ended_by, $4)
     where id = $2::uuid returning ${ROW}`,
    [db.now(), id, end.how, end.by],
  )
  return row ?? null
}

export const STOPS: Table<StopRow> = { from: 'wakeful.stops', columns: ROW }

/** Those that stand, and those that were dropped not long ago. */
export async function currentStops(db: Db): Promise<StopRow[]> {
  return db.query<StopRow>(
    `select ${ROW} from wakeful.stops
     where ended_at is null or (ended = 'dropped' and ended_at > ${inMs(DROPS_KNOWN_MS)}) order by created_at, id`,
    [db.now()],
  )
}

const HOLD = statement(
  { c: rows({ bucket: 'smallint', key: 'text', token: 'uuid' }) },
  ({ c }) => `update wakeful.sessions t
    set due_at = ${HELD}, leased_until = null, claim_token = null, claimed_at = null
    from ${c} where ${eqByKey('t.bucket', 'c.bucket')} and t.session_key = c.key and t.claim_token = c.token`,
)

/** Gives leased sessions back; they are not due before the stop is resumed. Nothing counts against their events. */
export async function holdSessions(
  db: Db,
  claims: readonly { bucket: number; key: string; token: string }[],
): Promise<void> {
  await db.tx(async (tx) => {
    await lockAndBind(tx, claims)
    await HOLD.run(tx, { c: claims })
  })
}

const HOLD_WAKES = statement(
  { c: rows({ bucket: 'smallint', key: 'uuid', token: 'uuid' }) },
  ({
    c,
  }) => `update wakeful.alarms t set due_at = ${HELD}, claim_token = null, claimed_at = null, attempt = t.attempt - 1
    from ${c} where ${eqByKey('t.bucket', 'c.bucket')} and ${eqByKey('t.id', 'c.key')} and t.claim_token = c.token`,
)

/** The same for alarms that wake by a call. */
export async function holdWakes(
  db: Db,
  claims: readonly { bucket: number; key: string; token: string }[],
): Promise<void> {
  if (claims.length > 0) await HOLD_WAKES.run(db, { c: claims })
}

/** Everything held in this shard is due: what another stop holds is held again when it comes up. */
export async function letGo(db: Db): Promise<number> {
  const held = [db.now()]
  const sessions = await db.query(
    `update wakeful.sessions set due_at = case when last_seq > done_seq then ${NOW} end where due_at = ${HELD} returning 1 as one`,
    held,
  )
  const wakes = await db.query(
    `update wakeful.alarms set due_at = ${NOW} where due_at = ${HELD} and agent_id is null returning 1 as one`,
    held,
  )
  const deferred = await db.query(
    `update wakeful.deferred set release_at = ${NOW} where release_at = ${DEFERRED_UNTIL} and rule = 'stopped' returning 1 as one`,
    held,
  )
  return sessions.length + wakes.length + deferred.length
}

export interface HeldRow {
  readonly session_key: string
  readonly kind: string
  readonly trigger_id: string | null
  /** Events of the session that wait, this one among them; 1 for a slot by itself. */
  readonly waiting: number
  readonly since: Date
}

/** What waits in this shard because of it, longest first. */
export async function heldBy(db: Db, stop: Stop, limit: number): Promise<HeldRow[]> {
  const { level, target } = stop
  if (level === 'trigger')
    return db.query<HeldRow>(
      `select session_key, kind, trigger_id, 1 as waiting, deferred_at as since from wakeful.deferred
       where trigger_id = $1::uuid and status = 'waiting' and rule = 'stopped' order by deferred_at limit $2`,
      [target, limit],
    )
  const [where, values] =
    level === 'everything'
      ? ['true', []]
      : level === 'agent'
        ? ['s.agent_id = $2', [target]]
        : ['s.user_id = $2 and s.bucket = $3', [target, bucketOf(target ?? '')]]
  return db.query<HeldRow>(
    `select s.session_key, e.type as kind, e.trigger_id, s.last_seq - s.done_seq as waiting, e.created_at as since
     from wakeful.sessions s join wakeful.events e on e.bucket = s.bucket and e.session_key = s.session_key and e.seq = s.done_seq + 1
     where s.due_at is not null and ${where} order by e.created_at limit $1`,
    [limit, ...values],
  )
}
