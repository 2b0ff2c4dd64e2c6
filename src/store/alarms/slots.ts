/**
 * The slots of alarms: taken when due, settled when their attempt has ended. A slot is taken either by
 * becoming an event (`in_flight` until its turn commits) or under a lease while a receiver is called;
 * both are fenced, so that a cancel or a lost lease makes the late settle find nothing.
 */
import type { AlarmState, AlarmTerms } from '../../core/alarms/alarm.ts'
import type { Db } from '../db/db.ts'
import {
  ALARMS,
  claimRows,
  dueRows,
  inFlight,
  inIndexOrder,
  keyIs,
  keyOrder,
  NOW,
  nextDueMs,
  oneInOrder,
  WAKES,
} from '../db/due.ts'
import { type SlotEvent, takeSeqs } from '../sessions/heads.ts'

const SLOT = (t: string) =>
  `${t}.bucket, ${t}.id, ${t}.parent_id, ${t}.user_id, ${t}.agent_id, ${t}.conversation_id, ${t}.kind, ${t}.cron_expr, ${t}.timezone,
   ${t}.anchor_at, ${t}.max_failures, ${t}.status, ${t}.scheduled_for, ${t}.missed_count, ${t}.attempt, ${t}.delivery_id,
   ${t}.failure_count, ${t}.last_error, ${t}.next_fire_at, ${t}.due_at, ${t}.last_fired_at, ${t}.traceparent`

export interface AlarmSlot extends AlarmTerms, AlarmState {
  readonly bucket: number
  readonly id: string
  readonly parent_id: string | null
  readonly user_id: string
  readonly agent_id: string | null
  readonly conversation_id: string
  readonly traceparent: string | null
  readonly now: Date
}

/** What a due alarm becomes: an event of this session. */
export interface AlarmEvent extends SlotEvent {
  readonly id: string
  readonly eventId: string
  readonly missedCount: number
}

export interface PromotedAlarms {
  readonly slots: readonly AlarmSlot[]
  readonly nextMs: number | null
}

const DUE = `with due as materialized (${dueRows(ALARMS, SLOT('t'), '$2::int')})
  select n.next_ms, ${NOW} as now, d.* from (select ${nextDueMs(ALARMS)} as next_ms) n left join due d on true`

/** The payload stays in the database: it goes from the alarm's row into the event's, verbatim. */
const TAKE = `with taken as (
    update wakeful.alarms a
    set in_flight = i.event_id, due_at = null, claim_token = null, claimed_at = ${NOW}, attempt = a.attempt + 1,
        missed_count = i.missed_count, updated_at = ${NOW}
    from unnest($2::smallint[], $3::uuid[], $4::uuid[], $5::int[], $6::text[], $7::int[]) i(bucket, id, event_id, missed_count, session_key, seq)
    where ${keyIs('a.bucket', 'i.bucket')} and ${keyIs('a.id', 'i.id')}
    returning a.bucket, coalesce(a.parent_id, a.id) as alarm_id, a.label, a.wake_message, a.payload, a.scheduled_for, a.missed_count,
      a.attempt, a.traceparent, i.event_id, i.session_key, i.seq)
  insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, created_at)
  select bucket, session_key, seq, event_id, 'alarm',
    ('{"alarm_id":"' || alarm_id || '","label":' || to_json(label) || ',"wake_message":' || to_json(wake_message) ||
     ',"payload":' || payload || ',"scheduled_for":"' || to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') ||
     '","missed_count":' || missed_count || ',"attempt":' || attempt || '}')::json,
    alarm_id, scheduled_for, traceparent, ${NOW}
  from taken`

/**
 * Turns up to `limit` due alarms into events, in one short transaction: the rows are locked (another
 * clock's are skipped), `plan` says which event each becomes, numbers are taken and everything is written.
 */
export async function promoteAlarms(
  db: Db,
  limit: number,
  plan: (slots: readonly AlarmSlot[]) => readonly AlarmEvent[],
): Promise<PromotedAlarms> {
  return inIndexOrder(db, async (tx) => {
    const rows = await tx.query<AlarmSlot & { next_ms: number | null }>(DUE, [tx.now(), limit])
    const nextMs = rows[0]?.next_ms ?? null
    const slots = rows.filter((row) => row.id !== null)
    if (slots.length > 0) await takeAlarms(tx, plan(slots))
    return { slots, nextMs }
  })
}

async function takeAlarms(tx: Db, events: readonly AlarmEvent[]): Promise<void> {
  const seqs = await takeSeqs(tx, events)
  await tx.query(TAKE, [
    tx.now(),
    events.map((e) => e.bucket),
    events.map((e) => e.id),
    events.map((e) => e.eventId),
    events.map((e) => e.missedCount),
    events.map((e) => e.sessionKey),
    seqs,
  ])
}

/** An alarm leased for one call of its receiver. */
export interface ClaimedWake extends AlarmSlot {
  readonly wake_message: string
  readonly payload: string
}

/** Attempts are counted when claimed, so that one which kills its process ends too. */
const CLAIM = `with claimed as (
    ${claimRows(WAKES, `${SLOT('t')}, t.wake_message, t.payload, d.was_due_at`, { set: ', attempt = t.attempt + 1' })})
  select n.next_ms, ${NOW} as now, c.* from (select ${nextDueMs(WAKES)} as next_ms) n left join claimed c on true`

export async function claimWakes(
  db: Db,
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ wakes: ClaimedWake[]; nextMs: number | null }> {
  const values = [db.now(), limit, leaseMs, token]
  const rows = await oneInOrder<ClaimedWake & { next_ms: number | null }>(db, CLAIM, values)
  return { wakes: rows.filter((row) => row.id !== null), nextMs: rows[0]?.next_ms ?? null }
}

/** Of these events, those whose slot was cancelled since it was promoted. */
export async function withdrawnEvents(
  db: Db,
  events: readonly { bucket: number; eventId: string }[],
): Promise<Set<string>> {
  const rows = await db.query<{ event_id: string }>(
    // A scalar, not `not exists`: that would become a join, and read the whole table where statistics are old.
    `select i.event_id from unnest($1::smallint[], $2::uuid[]) i(bucket, event_id)
     where (select a.id from wakeful.alarms a where a.bucket = i.bucket and a.in_flight = i.event_id) is null`,
    [events.map((e) => e.bucket), events.map((e) => e.eventId)],
  )
  return new Set(rows.map((row) => row.event_id))
}

/** Locks the slots whose events these are, always in the same order; those missing were cancelled. */
export async function lockByEvent(
  tx: Db,
  held: readonly { bucket: number; eventId: string }[],
): Promise<Map<string, AlarmSlot>> {
  const rows = await tx.query<AlarmSlot & { held: string }>(
    `select ${SLOT('a')}, ${NOW} as now, a.in_flight as held
     from unnest($2::smallint[], $3::uuid[]) h(bucket, event_id)
     cross join lateral ${inFlight('wakeful.alarms')} f
     join wakeful.alarms a on ${keyIs('a.bucket', 'h.bucket')} and ${keyIs('a.id', 'f.id')} and a.in_flight is not distinct from h.event_id
     ${keyOrder('a', 'id')} for update of a`,
    [tx.now(), held.map((h) => h.bucket), held.map((h) => h.eventId)],
  )
  return new Map(rows.map((row) => [row.held, row]))
}

/**
 * Locks the slots we still hold a lease on, by token; those missing were cancelled, or taken up again, be it
 * by this very process: then one alarm is asked for under two tokens, and only one of them holds it.
 */
export async function lockByToken(
  tx: Db,
  held: readonly { bucket: number; id: string; token: string }[],
): Promise<Map<string, AlarmSlot>> {
  const rows = await tx.query<AlarmSlot & { held: string }>(
    `select ${SLOT('a')}, ${NOW} as now, a.id || ' ' || a.claim_token as held
     from unnest($2::smallint[], $3::uuid[], $4::uuid[]) h(bucket, id, token)
     join wakeful.alarms a on ${keyIs('a.bucket', 'h.bucket')} and ${keyIs('a.id', 'h.id')} and a.claim_token = h.token
     ${keyOrder('a', 'id')} for update of a`,
    [tx.now(), held.map((h) => h.bucket), held.map((h) => h.id), held.map((h) => h.token)],
  )
  return new Map(rows.map((row) => [row.held, row]))
}

export interface SettledSlot {
  readonly slot: AlarmSlot
  readonly state: AlarmState
}

/** Writes what the locked slots become, and frees them. */
export async function writeSlots(tx: Db, settled: readonly SettledSlot[]): Promise<void> {
  const states = settled.map((each) => each.state)
  await tx.query(
    `update wakeful.alarms a
     set status = i.status, scheduled_for = i.scheduled_for, missed_count = i.missed_count, attempt = i.attempt,
         delivery_id = i.delivery_id, failure_count = i.failure_count, last_error = i.last_error, next_fire_at = i.next_fire_at,
         due_at = i.due_at, last_fired_at = i.last_fired_at, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
     from unnest($2::smallint[], $3::uuid[], $4::text[], $5::timestamptz[], $6::int[], $7::int[], $8::uuid[], $9::int[], $10::text[],
       $11::timestamptz[], $12::timestamptz[], $13::timestamptz[])
       i(bucket, id, status, scheduled_for, missed_count, attempt, delivery_id, failure_count, last_error, next_fire_at, due_at, last_fired_at)
     where ${keyIs('a.bucket', 'i.bucket')} and ${keyIs('a.id', 'i.id')}`,
    [
      tx.now(),
      settled.map(({ slot }) => slot.bucket),
      settled.map(({ slot }) => slot.id),
      states.map((s) => s.status),
      states.map((s) => s.scheduled_for),
      states.map((s) => s.missed_count),
      states.map((s) => s.attempt),
      states.map((s) => s.delivery_id),
      states.map((s) => s.failure_count),
      states.map((s) => s.last_error),
      states.map((s) => s.next_fire_at),
      states.map((s) => s.due_at),
      states.map((s) => s.last_fired_at),
    ],
  )
  const extras = settled.filter(({ slot }) => slot.parent_id !== null)
  if (extras.length > 0) await foldExtras(tx, extras)
}

/** An extra wake's news goes to the alarm it belongs to; when it has ended, its own row goes. */
async function foldExtras(tx: Db, extras: readonly SettledSlot[]): Promise<void> {
  await tx.query(
    `update wakeful.alarms a
     set last_fired_at = greatest(a.last_fired_at, i.fired_at), last_error = coalesce(nullif(i.error, ''), a.last_error), updated_at = ${NOW}
     from (select bucket, id, max(fired_at) as fired_at, max(error) as error
           from unnest($2::smallint[], $3::uuid[], $4::timestamptz[], $5::text[]) e(bucket, id, fired_at, error)
           group by bucket, id) i
     where ${keyIs('a.bucket', 'i.bucket')} and ${keyIs('a.id', 'i.id')}`,
    [
      tx.now(),
      extras.map(({ slot }) => slot.bucket),
      extras.map(({ slot }) => slot.parent_id),
      extras.map(({ state }) => state.last_fired_at),
      extras.map(({ state }) => state.last_error),
    ],
  )
  const ended = extras.filter(({ state }) => state.status !== 'active')
  await tx.query(
    `delete from wakeful.alarms a using unnest($1::smallint[], $2::uuid[]) e(bucket, id)
     where ${keyIs('a.bucket', 'e.bucket')} and ${keyIs('a.id', 'e.id')}`,
    [ended.map(({ slot }) => slot.bucket), ended.map(({ slot }) => slot.id)],
  )
}
