/** Deferred slots: kept until their moment comes, released as events, and the record of what became of them. */

import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { DEFERRED, eqByKey, NOW, type Place } from '../../store/due.ts'
import { type PageQuery, readPage, type Table } from '../../store/page.ts'
import { dueFrom, NUMBERED, type Numbered, type SlotEvent } from '../../store/slots.ts'
import { rows, rowsOf, statement } from '../../store/statement.ts'
import { INTENT_CRON } from '../../store/zoned.ts'
import type { Reason } from '../sessions/gate.ts'
import { assignSeq } from '../sessions/number-rows.ts'
import type { DeferRule } from './preferences.ts'

export const DEFERRED_KINDS = ['alarm', 'intent', 'work'] as const
export type DeferredKind = (typeof DEFERRED_KINDS)[number]
export const DEFERRED_STATUSES = ['waiting', 'released', 'expired', 'cancelled'] as const
export type DeferredStatus = (typeof DEFERRED_STATUSES)[number]

/** A slot on its way to a row. */
export interface NewDeferred {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly session_key: string
  readonly event_seq: number
  readonly kind: DeferredKind
  readonly trigger_id: string | null
  readonly scheduled_for: Date
  readonly name: string
  /** JSON text. */
  readonly payload: string
  readonly reason: Reason
  readonly timed: boolean
  readonly critical: boolean
  /** Its trigger holds the slot on: who cancels that takes it back. */
  readonly held: boolean
  readonly rule: DeferRule
  readonly release_at: Date
  readonly traceparent: string | null
  readonly lineage: string | null
}

export interface DeferredRow extends Omit<NewDeferred, 'release_at'> {
  readonly status: DeferredStatus
  readonly release_at: Date | null
  readonly asked: boolean
  readonly released_seq: number | null
  readonly deferred_at: Date
}

const COLUMNS = `t.bucket, t.id, t.user_id, t.session_key, t.event_seq, t.kind, t.trigger_id, t.scheduled_for, t.name, t.payload, t.reason,
  t.timed, t.critical, t.held, t.rule, t.status, t.release_at, t.asked, t.released_seq, t.deferred_at, t.traceparent, t.lineage`

/**
 * Whose trigger holds it no more, or is gone: it was cancelled, disabled or deleted, and so is the slot, which is marked so when its
 * moment comes. Scalars, not `not exists`: those would become joins.
 */
function takenBack(t: string): string {
  const holds = (table: string, that: string) =>
    `(select f.id from ${table} f where f.bucket = ${t}.bucket and ${that} limit 1)`
  return `(case when ${t}.kind = 'alarm' and ${t}.held then ${holds('wakeful.alarms', `f.in_flight = ${t}.id`)}
    when ${t}.kind = 'alarm' then ${holds('wakeful.alarms', `f.id = ${t}.trigger_id and f.status || '' <> 'cancelled'`)}
    when ${t}.kind = 'work' then ${holds('wakeful.work', `f.id = ${t}.trigger_id`)}
    when ${t}.held then ${holds('wakeful.scheduled_intents', `f.in_flight = ${t}.id and f.enabled is not false`)}
    else ${holds('wakeful.scheduled_intents', `f.id = ${t}.trigger_id`)} end) is null`
}

/** What a deferred slot is to those who ask: who cancels its trigger takes it back at once. */
export function toldStatus(t: string): string {
  return `(case when ${t}.status = 'waiting' and ${takenBack(t)} then 'cancelled' else ${t}.status end)`
}

const DEFER = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      user_id: 'text',
      session_key: 'text',
      event_seq: 'int',
      kind: 'text',
      trigger_id: 'uuid?',
      scheduled_for: 'timestamptz',
      name: 'text',
      payload: 'json',
      reason: 'text',
      timed: 'boolean',
      critical: 'boolean',
      held: 'boolean',
      rule: 'text',
      release_at: 'timestamptz',
      traceparent: 'text?',
      lineage: 'text?',
    }),
  },
  ({
    i,
  }) => `insert into wakeful.deferred as t (bucket, id, user_id, session_key, event_seq, kind, trigger_id, scheduled_for, name, payload, reason,
      timed, critical, held, rule, release_at, traceparent, lineage, deferred_at, updated_at)
    select bucket, id, user_id, session_key, event_seq, kind, trigger_id, scheduled_for, name, payload, reason, timed, critical, held, rule,
      release_at, traceparent, lineage, ${NOW}, ${NOW} from ${i}
    on conflict (bucket, id) do update
      set status = 'waiting', rule = excluded.rule, release_at = excluded.release_at, released_seq = null, asked = false, updated_at = excluded.updated_at`,
)

/** Also what was released and finds no moment again: it waits once more. */
export async function defer(tx: Db, slots: readonly NewDeferred[]): Promise<void> {
  if (slots.length > 0) await DEFER.run(tx, { i: slots })
}

/** Locks what is due to be released, soonest first. */
export const dueDeferred = dueFrom<DeferredRow & { readonly now: Date }>(DEFERRED, COLUMNS)

const MOVE = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      status: 'text',
      rule: 'text',
      release_at: 'timestamptz?',
    }),
  },
  ({
    i,
  }) => `update wakeful.deferred t set status = i.status, rule = i.rule, release_at = i.release_at, updated_at = ${NOW}
    from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
)

export interface Moved {
  readonly bucket: number
  readonly id: string
  readonly status: DeferredStatus
  readonly rule: DeferRule
  readonly release_at: Date | null
}

/** Of rows that are locked: another moment, or an end. */
export async function moveDeferred(tx: Db, moved: readonly Moved[]): Promise<void> {
  if (moved.length > 0) await MOVE.run(tx, { i: moved })
}

/** What is released together: one event. */
export interface Release extends SlotEvent {
  readonly type: DeferredKind | 'digest'
  /** JSON text. */
  readonly payload: string
  readonly traceparent: string | null
  readonly lineage: string | null
  readonly slots: readonly DeferredRow[]
}

const APPEND = statement(
  {
    i: rowsOf<Numbered<Release>>({
      ...NUMBERED,
      type: ['text', ({ event }) => event.type],
      payload: ['json', ({ event }) => event.payload],
      traceparent: ['text?', ({ event }) => event.traceparent],
      lineage: ['text?', ({ event }) => event.lineage],
    }),
    s: rows({ bucket: 'smallint', id: 'uuid', seq: 'int' }),
  },
  ({ i, s }) => `with appended as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, type, payload, traceparent, lineage, ${NOW} from ${i}),
  released as (
    update wakeful.deferred t set status = 'released', release_at = null, released_seq = s.seq, updated_at = ${NOW}
    from ${s} where ${eqByKey('t.bucket', 's.bucket')} and ${eqByKey('t.id', 's.id')})
  select 1`,
)

/** Appends the events and marks the slots, which are locked. The events stand for no slot of their own. */
export async function releaseDeferred(tx: Db, releases: readonly Release[]): Promise<void> {
  if (releases.length === 0) return
  const numbered = await assignSeq(tx, releases)
  const s = numbered.flatMap(({ event, seq }) =>
    event.slots.map(({ bucket, id }) => ({ bucket, id, seq })),
  )
  await APPEND.run(tx, { i: numbered, s })
}

const OF_EVENTS = statement(
  { k: rows({ bucket: 'smallint', session_key: 'text', seq: 'int' }) },
  ({ k }) => `select ${COLUMNS} from ${k}
    join wakeful.deferred t on ${eqByKey('t.bucket', 'k.bucket')} and t.session_key = k.session_key and t.released_seq = k.seq
    order by t.session_key, t.scheduled_for, t.id`,
)

/** The slots that these events were released for. */
export async function slotsOfEvents(
  db: Db,
  events: readonly { bucket: number; session_key: string; seq: number }[],
): Promise<DeferredRow[]> {
  return events.length === 0 ? [] : OF_EVENTS.run<DeferredRow>(db, { k: events })
}

/** The schedule of the trigger that holds this event and wants each slot that was missed. */
const CATCHES_UP = `select t.cron_expr, t.timezone, t.anchor_at from wakeful.alarms t
    where t.bucket = $1 and t.in_flight = $4::uuid and t.catch_up = 'all' and t.kind = 'cron'
  union all select ${INTENT_CRON}, t.timezone, t.anchor_at from wakeful.scheduled_intents t
    where t.bucket = $1 and t.in_flight = $4::uuid and t.catch_up = 'all' and t.trigger_type in ('cron', 'interval')`

const LATE = `select (select 1 from wakeful.deferred where bucket = $1 and session_key = $2 and user_id = $3 and status = 'waiting' and rule = 'late' limit 1)
    is not null as gathering, c.* from (select 1) one left join (${CATCHES_UP} limit 1) c on true`

export interface Late {
  /** Slots of this session are being gathered. */
  readonly gathering: boolean
  /** Null where its trigger does not want each slot that was missed. */
  readonly cron_expr: string | null
  readonly timezone: string
  readonly anchor_at: Date
}

/** What a slot that is late may be gathered with. */
export async function lateWith(
  db: Db,
  slot: { bucket: number; key: string; userId: string; eventId: string },
): Promise<Late | null> {
  const { bucket, key, userId, eventId } = slot
  return (await db.query<Late>(LATE, [bucket, key, userId, eventId]))[0] ?? null
}

/** Of one person, those that wait, locked: before the person's row, because a release does not hold that lock. */
export async function lockDeferred(tx: Db, userId: string): Promise<DeferredRow[]> {
  return tx.query<DeferredRow>(
    `select ${COLUMNS} from wakeful.deferred t
     where t.bucket = $1 and t.user_id = $2 and t.status = 'waiting' order by t.id for update of t`,
    [bucketOf(userId), userId],
  )
}

const LISTED: Table<DeferredRow & { told: DeferredStatus }> = {
  from: 'wakeful.deferred t',
  columns: `${COLUMNS}, ${toldStatus('t')} as told`,
  at: 'deferred_at',
}

/** Newest first; status null: whatever became of them. */
export async function listDeferred(
  db: Db,
  { status, ...page }: Omit<PageQuery, 'where'> & { readonly status: DeferredStatus | null },
): Promise<(DeferredRow & Place)[]> {
  const told = await readPage(db, LISTED, { ...page, where: { [toldStatus('t')]: status } })
  return told.map(({ told: status, release_at, ...row }) => ({
    ...{ ...row, status, release_at: status === 'waiting' ? release_at : null },
  }))
}

const ASK = statement(
  { bucket: 'smallint', userId: 'text', ids: 'uuid[]', all: 'boolean' },
  ({
    bucket,
    userId,
    ids,
    all,
  }) => `update wakeful.deferred t set release_at = ${NOW}, asked = true, updated_at = ${NOW}
    where t.bucket = ${bucket} and t.user_id = ${userId} and t.status = 'waiting' and (${all} or t.id = any(${ids}))
    returning t.id`,
)

/** The person wants them now. Null: all of them. */
export async function askForDeferred(
  tx: Db,
  userId: string,
  ids: readonly string[] | null,
): Promise<number> {
  const asked = { bucket: bucketOf(userId), userId, ids: ids ?? [], all: ids === null }
  return (await ASK.run(tx, asked)).length
}

/** Its trigger has gone on, and is due again: the next slot is late as well. */
const FOLLOWED = `case when k.held then null
  when k.kind = 'alarm' then (select f.id from wakeful.alarms f where f.bucket = k.bucket and f.id = k.trigger_id and f.due_at <= ${NOW} limit 1)
  else (select f.id from wakeful.scheduled_intents f where f.bucket = k.bucket and f.id = k.trigger_id and f.catch_up || '' = 'all' and f.in_flight is null and f.next_check <= ${NOW} limit 1) end is not null`

const BUSY = statement(
  {
    k: rows({
      bucket: 'smallint',
      session_key: 'text',
      kind: 'text',
      trigger_id: 'uuid?',
      held: 'boolean',
    }),
  },
  ({ k }) => `select s.session_key from ${k}
    join wakeful.sessions s on ${eqByKey('s.bucket', 'k.bucket')} and s.session_key = k.session_key
    where s.last_seq > s.done_seq or ${FOLLOWED}`,
)

/** Of these slots, the sessions in which events wait for their turns, or are about to. */
export async function busySessions(tx: Db, slots: readonly DeferredRow[]): Promise<Set<string>> {
  if (slots.length === 0) return new Set()
  return new Set(
    (await BUSY.run<{ session_key: string }>(tx, { k: slots })).map((row) => row.session_key),
  )
}

const TAKEN_BACK = statement(
  { k: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ k }) => `select t.id from ${k}
    join wakeful.deferred t on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.id')} where ${takenBack('t')}`,
)

/** Of these slots, those that wait for nothing any more. */
export async function takenBackOf(tx: Db, slots: readonly DeferredRow[]): Promise<Set<string>> {
  if (slots.length === 0) return new Set()
  return new Set((await TAKEN_BACK.run<{ id: string }>(tx, { k: slots })).map(({ id }) => id))
}
