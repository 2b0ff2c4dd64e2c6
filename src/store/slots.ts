/**
 * What the slots of alarms, intents and work have in common. A due row is taken by becoming an event of a session: its
 * `in_flight` is that event's id until the turn over it commits and settles it. What is cancelled or deleted meanwhile
 * holds the event no more, so that a late turn finds nothing to settle.
 */
import type { EventType, SessionRef } from '../core/session.ts'
import type { Db } from './db.ts'
import {
  type DueTable,
  dueRows,
  eqByKey,
  lockOrder,
  NOW,
  type Taken,
  takenAndNext,
  takenOf,
} from './due.ts'
import { type Columns, type RowOf, rows, statement } from './statement.ts'

/** Locks up to `limit` due rows, soonest first; another clock's are skipped. `columns` are those of `t`. `lock`: of another table. */
export function dueFrom<R extends { readonly bucket: number }>(
  table: DueTable,
  columns: string,
  lock: { readonly join?: string; readonly lock?: string } = {},
) {
  const due = statement({ limit: 'int' }, ({ limit }) =>
    takenAndNext(table, dueRows(table, columns, limit, lock)),
  )
  return async (tx: Db, limit: number): Promise<Taken<R>> =>
    takenOf<R>(await due.run(tx, { limit }))
}

/** An event that is added to a session's log. */
export interface SlotEvent {
  readonly session: SessionRef
  readonly eventId: string
}

/** An event and its number in its session: see `sessions/numbers.ts`. */
export interface Numbered<E> {
  readonly event: E
  readonly seq: number
}

/** The columns that a list of numbered events begins with. */
export const NUMBERED: Columns<Numbered<SlotEvent>> = {
  bucket: ['smallint', ({ event }) => event.session.bucket],
  session_key: ['text', ({ event }) => event.session.key],
  seq: ['int', ({ seq }) => seq],
  event_id: ['uuid', ({ event }) => event.eventId],
}

/** Left out when null. */
const SPARED: readonly string[] = ['missed', 'unattended', 'priority']
const INSTANT = `to_json(to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`

/**
 * A CTE `appended` that writes the events of what is in the CTE `taken`: their payload has its columns that are named here as
 * members, the trigger's id first. So what an owner wrote goes from their row into the event's without leaving the database, verbatim.
 */
export function appendTaken(type: EventType, members: readonly [string, ...string[]]): string {
  const payload = members
    .filter((name) => !SPARED.includes(name))
    .map((name) => `"${name}":' || ${name === 'scheduled_for' ? INSTANT : `to_json(${name})`}`)
  const spared = members
    .filter((name) => SPARED.includes(name))
    .map(
      (name) =>
        ` || case when ${name} is null then '' else ',"${name}":' || to_json(${name})::text end`,
    )
    .join('')
  return `appended as (insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, '${type}', ('{${payload.join(` || ',`)}${spared} || '}')::json,
      ${members[0]}, scheduled_for, traceparent, lineage, ${NOW}
    from taken returning ${APPENDED.join(', ')})`
}

/** Ends a statement with `appended`: the events whose turns begin at once, as they were written. */
export function appendedOf(eventIds: string): string {
  return `select * from appended where id = any(${eventIds})`
}

const APPENDED = ['id', 'payload', 'trigger_id', 'scheduled_for', 'traceparent', 'lineage'] as const
export interface Appended {
  readonly id: string
  readonly payload: string
  readonly trigger_id: string
  readonly scheduled_for: Date
  readonly traceparent: string | null
  readonly lineage: string | null
}

const LAST = statement(
  { k: rows({ id: 'uuid' }) },
  ({
    k,
  }) => `select k.id, (select e.created_at from wakeful.events e where e.trigger_id = k.id and e.scheduled_for is not null
      order by e.created_at desc, e.id desc limit 1) as at from ${k}`,
)

/** When the last event of each of these triggers was made; the map is without those that have none. */
export async function lastEventsOf(db: Db, ids: readonly string[]): Promise<Map<string, Date>> {
  if (ids.length === 0) return new Map()
  const rows = await LAST.run<{ id: string; at: Date | null }>(db, { k: ids.map((id) => ({ id })) })
  return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, at]])))
}

const EVENTS = rows({ bucket: 'smallint', eventId: 'uuid' })
export type EventRef = RowOf<typeof EVENTS>

/** Of some events, those that no row `t` of the table stands for any more. */
export function withdrawnFrom(table: string, standsFor: string) {
  const withdrawn = statement(
    { i: EVENTS },
    // A scalar, not `not exists`: that would become a join, and read the whole table where statistics are old.
    ({ i }) => `select i.event_id from ${i}
      where (select t.id from ${table} t where t.bucket = i.bucket and ${standsFor}) is null`,
  )
  return async (db: Db, events: readonly EventRef[]): Promise<Set<string>> => {
    const gone = await withdrawn.run<{ event_id: string }>(db, { i: events })
    return new Set(gone.map((row) => row.event_id))
  }
}

/** The id of the row in whose hands the event `h` is. */
function inFlight(table: string): string {
  return `select f.id from ${table} f where f.bucket = h.bucket and f.in_flight = h.event_id limit 1`
}

/**
 * Locks the rows whose events these are, always in the same order, by event; those missing were cancelled or deleted.
 * `idOf` finds a row's id, by a look-up of its own: the index of those in flight has a condition and would be walked, too.
 * It is no join: as one it came last, and rows were found by their bucket alone.
 */
export function lockingByEvent<R extends object>(
  table: string,
  columns: string,
  idOf = inFlight(table),
) {
  const lock = statement(
    { h: EVENTS },
    ({ h }) => `select ${columns}, ${NOW} as now, t.in_flight as held
      from (select h.bucket, h.event_id, (${idOf}) as id from ${h}) h
      join ${table} t on ${eqByKey('t.bucket', 'h.bucket')} and ${eqByKey('t.id', 'h.id')} and t.in_flight is not distinct from h.event_id
      ${lockOrder('t', 'id')} for update of t`,
  )
  return async (tx: Db, events: readonly EventRef[]): Promise<Map<string, R>> => {
    const locked = await lock.run<R & { held: string }>(tx, { h: events })
    return new Map(locked.map((row) => [row.held, row]))
  }
}

/** Column values that clear a claim. */
export const FREED = 'in_flight = null, claim_token = null, claimed_at = null'
