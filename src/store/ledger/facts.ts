/** What the rows say about the slots of one page of the ledger: a few look-ups by key for each kind, whatever the page. */
import type { CheckRow } from '../../core/ledger/ledger.ts'
import type { Reason } from '../../core/sessions/reason.ts'
import { EFFECTS_PER_TURN_MAX } from '../../core/sessions/session.ts'
import type { TurnCause } from '../../core/sessions/turn.ts'
import type { Db } from '../db/db.ts'
import { keyIs } from '../db/due.ts'
import { SCHEDULED, type SlotRow } from './ledger.ts'

const NAME_MAX = 120
const PREVIEW_MAX = 200
/** The attempts at one slot, with other wakes of the same trigger between them, are among so many events from its first on. */
const CHAIN_MAX = 200
/** An answer that comes later than this many events is found in the session's own list. */
const REPLY_WITHIN = 200

export interface EventPart {
  readonly id: string
  readonly session_key: string
  readonly seq: number
  readonly name: string | null
  readonly missed_count: number
  readonly attempt: number | null
  readonly trigger_data: string | null
  readonly created_at: Date
  readonly passed: boolean
}

const SEES = `left(coalesce(e.payload ->> 'timer_id', e.payload ->> 'intent_name', nullif(e.payload ->> 'label', ''),
    e.payload ->> 'wake_message', e.payload ->> 'task', ''), ${NAME_MAX}) as name,
  coalesce((e.payload ->> 'missed_count')::int, 0) as missed_count, (e.payload ->> 'attempt')::int as attempt,
  e.payload -> 'trigger_data' as trigger_data, e.created_at`
const PASSED = `coalesce((select s.done_seq >= e.seq from wakeful.sessions s
  where s.bucket = e.bucket and s.session_key = e.session_key), true) as passed`

const keys = (rows: readonly SlotRow[]) => [
  rows.map((r) => r.bucket),
  rows.map((r) => r.session_key),
  rows.map((r) => r.seq),
]

/** Of the first events of slots, in their order. */
export async function eventParts(db: Db, rows: readonly SlotRow[]): Promise<EventPart[]> {
  if (rows.length === 0) return []
  return db.query<EventPart>(
    `select e.id, e.session_key, e.seq, ${SEES}, ${PASSED}
     from unnest($1::smallint[], $2::text[], $3::int[]) k(bucket, session_key, seq)
     join wakeful.events e on ${keyIs('e.bucket', 'k.bucket')} and ${keyIs('e.session_key', 'k.session_key')} and e.seq = k.seq`,
    keys(rows),
  )
}

export interface ChainPart extends EventPart {
  /** The slot whose later event this is: its place among those asked for. */
  readonly place: number
}

/** The later events of these slots, oldest first. */
export async function laterParts(db: Db, rows: readonly SlotRow[]): Promise<ChainPart[]> {
  if (rows.length === 0) return []
  return db.query<ChainPart>(
    `select k.place::int - 1 as place, e.id, e.session_key, e.seq, ${SEES}, ${PASSED}
     from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::uuid[]) with ordinality k(trigger_id, slot, at, id, place)
     cross join lateral (
       select * from wakeful.events e
       where e.scheduled_for is not null and e.trigger_id = k.trigger_id and (e.created_at, e.id) > (k.at, k.id)
       order by e.created_at, e.id limit ${CHAIN_MAX}) e
     where e.scheduled_for = k.slot and (e.type <> 'intent' or e.payload ->> 'trigger_type' in ${SCHEDULED})
     order by k.place, e.created_at, e.id`,
    [
      rows.map((r) => r.trigger_id),
      rows.map((r) => r.scheduled_for),
      rows.map((r) => r.at_text),
      rows.map((r) => r.id),
    ],
  )
}

interface EventKey {
  readonly bucket: number
  readonly session_key: string
  readonly seq: number
}

const eventKeys = (events: readonly EventKey[]) => [
  events.map((e) => e.bucket),
  events.map((e) => e.session_key),
  events.map((e) => e.seq),
]
const EVENT_KEYS = `unnest($1::smallint[], $2::text[], $3::int[]) k(bucket, session_key, seq)`

export interface TurnPart {
  readonly session_key: string
  readonly event_seq: number
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly started_at: Date
  readonly finished_at: Date
  readonly error: string | null
  readonly cause: TurnCause | null
  readonly verdicts: string
}

/** In order of their attempts. */
export async function turnParts(db: Db, events: readonly EventKey[]): Promise<TurnPart[]> {
  if (events.length === 0) return []
  return db.query<TurnPart>(
    `select t.session_key, t.event_seq, t.attempt, t.status, t.started_at, t.finished_at, t.error, t.cause, t.verdicts
     from ${EVENT_KEYS}
     join wakeful.turns t on ${keyIs('t.bucket', 'k.bucket')} and ${keyIs('t.session_key', 'k.session_key')} and t.event_seq = k.seq
     order by t.session_key, t.event_seq, t.attempt`,
    eventKeys(events),
  )
}

export interface MessagePart {
  readonly session_key: string
  readonly event_seq: number
  readonly id: string
  readonly status: 'pending' | 'executing' | 'completed' | 'failed'
  readonly channel: string
  readonly reason: Reason
  readonly attempt_count: number
  readonly updated_at: Date
  readonly last_error: string | null
  readonly preview: string
}

export async function messageParts(db: Db, events: readonly EventKey[]): Promise<MessagePart[]> {
  if (events.length === 0) return []
  return db.query<MessagePart>(
    `select f.session_key, f.event_seq, f.id, f.status, f.channel, f.reason, f.attempt_count, f.updated_at, f.last_error,
       left(f.payload ->> 'content', ${PREVIEW_MAX}) as preview
     from ${EVENT_KEYS}
     join wakeful.effects f on ${keyIs('f.bucket', 'k.bucket')} and ${keyIs('f.session_key', 'k.session_key')}
       and f.position >= k.seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (k.seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX}
     where f.type = 'send_message' order by f.session_key, f.position`,
    eventKeys(events),
  )
}

export interface ReplyPart {
  readonly session_key: string
  readonly asked_seq: number
  readonly seq: number
  readonly created_at: Date
}

/** The user's next message after each of these events. */
export async function replyParts(db: Db, events: readonly EventKey[]): Promise<ReplyPart[]> {
  if (events.length === 0) return []
  return db.query<ReplyPart>(
    `select k.session_key, k.seq as asked_seq, r.seq, r.created_at
     from ${EVENT_KEYS}
     join wakeful.sessions s on ${keyIs('s.bucket', 'k.bucket')} and ${keyIs('s.session_key', 'k.session_key')} and s.last_user_seq > k.seq
     cross join lateral (
       select e.seq, e.created_at from wakeful.events e
       where e.bucket = k.bucket and e.session_key = k.session_key and e.seq > k.seq and e.seq <= k.seq + ${REPLY_WITHIN}
         and e.type = 'user_message' order by e.seq limit 1) r`,
    eventKeys(events),
  )
}

export interface OutputPart {
  readonly event_id: string
  readonly status: 'pending' | 'running' | 'completed' | 'failed'
  readonly run_number: number
  readonly title: string | null
  readonly error_message: string | null
  readonly missed_count: number
  readonly attempt: number
}

export async function outputParts(db: Db, rows: readonly SlotRow[]): Promise<OutputPart[]> {
  if (rows.length === 0) return []
  return db.query<OutputPart>(
    `select o.event_id, o.status, o.run_number, left(o.title, ${PREVIEW_MAX}) as title, o.error_message, o.missed_count, o.attempt
     from unnest($1::smallint[], $2::uuid[]) k(bucket, event_id)
     join wakeful.work_outputs o on ${keyIs('o.bucket', 'k.bucket')} and ${keyIs('o.event_id', 'k.event_id')}`,
    [rows.map((r) => r.bucket), rows.map((r) => r.id)],
  )
}

export interface AlarmPart {
  readonly id: string
  readonly parent_id: string | null
  readonly name: string
  readonly kind: 'once' | 'cron'
  readonly cron_expr: string
  readonly timezone: string
  readonly anchor_at: Date
  readonly max_failures: number
  readonly status: 'active' | 'fired' | 'cancelled' | 'failed'
  readonly scheduled_for: Date
  readonly due_at: Date | null
  readonly delivery_id: string
  readonly attempt: number
  readonly user_id: string
}

/** The alarms with these ids, and the extra wakes beside them. */
export async function alarmParts(db: Db, rows: readonly SlotRow[]): Promise<AlarmPart[]> {
  if (rows.length === 0) return []
  const columns = `a.id, a.parent_id, left(coalesce(nullif(a.label, ''), a.wake_message), ${NAME_MAX}) as name, a.kind, a.cron_expr, a.timezone,
    a.anchor_at, a.max_failures, a.status, a.scheduled_for, a.due_at, a.delivery_id, a.attempt, a.user_id`
  const wanted = `(select distinct * from unnest($1::smallint[], $2::uuid[]) i(bucket, id)) k`
  return db.query<AlarmPart>(
    `select ${columns} from ${wanted} join wakeful.alarms a on ${keyIs('a.bucket', 'k.bucket')} and ${keyIs('a.id', 'k.id')}
     union all
     select ${columns} from ${wanted} join wakeful.alarms a on ${keyIs('a.bucket', 'k.bucket')} and ${keyIs('a.parent_id', 'k.id')} and a.parent_id is not null`,
    [rows.map((r) => r.bucket), rows.map((r) => r.trigger_id)],
  )
}

export interface IntentPart {
  readonly id: string
  readonly intent_name: string
  readonly enabled: boolean
  readonly scheduled_for: Date | null
  readonly next_check: Date | null
  readonly in_flight: string | null
  readonly agent_id: string | null
  readonly thread_id: string | null
  readonly trigger_type: string
  readonly trigger_schedule: string | null
  readonly timezone: string
  readonly anchor_at: Date
}

export async function intentParts(db: Db, rows: readonly SlotRow[]): Promise<IntentPart[]> {
  const named = rows.filter((r) => r.trigger_id !== null)
  if (named.length === 0) return []
  return db.query<IntentPart>(
    `select i.id, i.intent_name, i.enabled, i.scheduled_for, i.next_check, i.in_flight, i.agent_id, i.thread_id, i.trigger_type,
       i.trigger_schedule, i.timezone, i.anchor_at
     from (select distinct * from unnest($1::smallint[], $2::uuid[]) i(bucket, id)) k
     join wakeful.scheduled_intents i on ${keyIs('i.bucket', 'k.bucket')} and ${keyIs('i.id', 'k.id')}`,
    [named.map((r) => r.bucket), named.map((r) => r.trigger_id)],
  )
}

export interface CheckPart extends CheckRow {
  readonly id: string
  readonly user_id: string
}

export async function checkParts(db: Db, rows: readonly SlotRow[]): Promise<CheckPart[]> {
  if (rows.length === 0) return []
  return db.query<CheckPart>(
    `select x.id, x.user_id, x.status, x.trigger_data, x.gate_result, x.error_message, x.cause, x.last_seen_at, x.repeats
     from unnest($1::smallint[], $2::uuid[]) k(bucket, id)
     join wakeful.intent_executions x on ${keyIs('x.bucket', 'k.bucket')} and ${keyIs('x.id', 'k.id')}`,
    [rows.map((r) => r.bucket), rows.map((r) => r.id)],
  )
}

export interface WakePart {
  readonly delivery_id: string
  readonly user_id: string
  readonly name: string
  readonly missed_count: number
  readonly attempts: number
  readonly status: 'taken' | 'failed' | 'retrying'
  readonly error: string | null
  readonly finished_at: Date
}

export async function wakeParts(db: Db, rows: readonly SlotRow[]): Promise<WakePart[]> {
  if (rows.length === 0) return []
  return db.query<WakePart>(
    `select w.delivery_id, w.user_id, w.name, w.missed_count, w.attempts, w.status, w.error, w.finished_at
     from unnest($1::smallint[], $2::uuid[]) k(bucket, id)
     join wakeful.alarm_wakes w on ${keyIs('w.bucket', 'k.bucket')} and ${keyIs('w.delivery_id', 'k.id')}`,
    [rows.map((r) => r.bucket), rows.map((r) => r.id)],
  )
}

export interface TimerPart {
  readonly id: string
  readonly timer_id: string
}

export async function timerParts(db: Db, rows: readonly SlotRow[]): Promise<TimerPart[]> {
  if (rows.length === 0) return []
  return db.query<TimerPart>(
    `select t.id, t.timer_id from unnest($1::smallint[], $2::uuid[]) k(bucket, id)
     join wakeful.autonomy_timers t on ${keyIs('t.bucket', 'k.bucket')} and ${keyIs('t.id', 'k.id')} and t.status = 'cancelled'`,
    [rows.map((r) => r.bucket), rows.map((r) => r.id)],
  )
}
