/** What the rows say about the slots of one page of the ledger: a few look-ups by key for each kind, whatever the page. */

import type { CatchUp } from '../../../packages/schedule/src/catch-up.ts'
import { EFFECTS_PER_TURN_MAX } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey } from '../../store/due.ts'
import { type List, type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import { toldStatus } from '../people/deferred-rows.ts'
import { EVENT_NAME } from './occasion-rows.ts'
import { SCHEDULED, type SlotRow } from './rows.ts'
import type {
  CheckRow,
  DeferredFact,
  Detour,
  MessageFact,
  MissedFacts,
  OutputFact,
  TurnFact,
} from './rules.ts'

const NAME_MAX = 120
const PREVIEW_MAX = 200
/** The attempts at one slot, with other wakes of the same trigger between them, are among so many events from its first on. */
const CHAIN_MAX = 200
/** An answer that comes later than this many events is found in the session's own list. */
const REPLY_WITHIN = 200

/** Looks rows up by key; without keys it sends no query. */
function look<S, R extends object>(keys: List<S>, write: (k: string) => string) {
  const asked = statement({ k: keys }, ({ k }) => write(k))
  return async (db: Db, k: readonly S[]): Promise<R[]> =>
    k.length === 0 ? [] : asked.run<R>(db, { k })
}

/** Of an event, or of a slot that became one. */
const EVENT_KEYS = rows({ bucket: 'smallint', session_key: 'text?', seq: 'int?' })
const SLOT_KEYS = rows({ bucket: 'smallint', id: 'uuid' })
type EventKey = RowOf<typeof EVENT_KEYS>
type SlotKey = RowOf<typeof SLOT_KEYS>
/** Of rows whose trigger may be gone. */
const TRIGGER_KEYS = rowsOf<SlotRow>({
  bucket: ['smallint', (row) => row.bucket],
  id: ['uuid?', (row) => row.trigger_id],
})

export interface EventPart {
  readonly bucket: number
  readonly id: string
  readonly session_key: string
  readonly seq: number
  readonly name: string
  readonly missed_count: number
  readonly attempt: number | null
  readonly trigger_data: string | null
  readonly created_at: Date
  readonly passed: boolean
}

const EVENT = `e.bucket, e.id, e.session_key, e.seq, coalesce(left(${EVENT_NAME}, ${NAME_MAX}), '') as name,
  case when (e.payload -> 'missed' ->> 'from')::timestamptz < e.scheduled_for then 0 else coalesce((e.payload ->> 'missed_count')::int, 0) end as missed_count, (e.payload ->> 'attempt')::int as attempt,
  e.payload -> 'trigger_data' as trigger_data, e.created_at, coalesce((select s.done_seq >= e.seq from wakeful.sessions s
    where s.bucket = e.bucket and s.session_key = e.session_key), true) as passed`

/** Of the first events of slots, in their order. */
export const eventParts = look<EventKey, EventPart>(
  EVENT_KEYS,
  (k) => `select ${EVENT} from ${k}
    join wakeful.events e on ${eqByKey('e.bucket', 'k.bucket')} and e.session_key = k.session_key and e.seq = k.seq`,
)

export interface ChainPart extends EventPart {
  /** The slot whose later event this is: its place among those asked for. */
  readonly place: number
}

/** The later events of these slots, oldest first. */
export const laterParts = look<SlotRow & { readonly place: number }, ChainPart>(
  rowsOf({
    place: ['int', (row) => row.place],
    trigger_id: ['uuid?', (row) => row.trigger_id],
    slot: ['timestamptz', (row) => row.scheduled_for],
    at: ['text', (row) => row.at_text],
    id: ['uuid', (row) => row.id],
  }),
  (k) => `select k.place, ${EVENT} from ${k}
    cross join lateral (
      select * from wakeful.events e
      where e.scheduled_for is not null and e.trigger_id = k.trigger_id and (e.created_at, e.id) > (k.at::timestamptz, k.id)
      order by e.created_at, e.id limit ${CHAIN_MAX}) e
    where e.scheduled_for = k.slot and (e.type <> 'intent' or e.payload ->> 'trigger_type' in ${SCHEDULED})
    order by k.place, e.created_at, e.id`,
)

export type TurnPart = Omit<TurnFact, 'verdicts'> & {
  readonly session_key: string
  /** JSON text. */
  readonly verdicts: string
}

/** More than any event has: with a limit each look-up is by key, and not a join with all turns. */
const ATTEMPTS_MAX = 100

/** In order of their attempts. */
export const turnParts = look<EventKey, TurnPart>(
  EVENT_KEYS,
  (
    k,
  ) => `select t.session_key, t.event_seq as "eventSeq", t.status, t.started_at as "startedAt", t.finished_at as "finishedAt",
      t.error, t.cause, t.verdicts
    from ${k}
    cross join lateral (select * from wakeful.turns o
      where o.bucket = k.bucket and o.session_key = k.session_key and o.event_seq = k.seq order by o.attempt limit ${ATTEMPTS_MAX}) t
    order by t.session_key, t.event_seq, t.attempt`,
)

export interface MessagePart extends MessageFact {
  readonly session_key: string
  readonly eventSeq: number
}

type MessageRow = Omit<MessagePart, 'detours'> & { readonly detours: string | null }

const DETOURS = `(select json_agg(json_build_object('channel', d.channel, 'outcome', d.outcome, 'error', d.error,
    'at', to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by d.created_at, d.id)
  from wakeful.deliveries d where d.bucket = f.bucket and d.session_key = f.session_key and d.position = f.position and d.outcome <> 'sent')`

const messageRows = look<EventKey, MessageRow>(
  EVENT_KEYS,
  (
    k,
  ) => `select f.session_key, f.event_seq as "eventSeq", f.id, f.status, f.delivered_by as channel, f.reason, coalesce(f.delivered_at, f.updated_at) as at, f.last_error as error,
      left(f.payload ->> 'content', ${PREVIEW_MAX}) as preview, ${DETOURS} as detours
    from ${k}
    join wakeful.effects f on ${eqByKey('f.bucket', 'k.bucket')} and f.session_key = k.session_key
      and f.position >= k.seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (k.seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX}
    where f.type = 'send_message' order by f.session_key, f.position`,
)

export async function messageParts(db: Db, keys: readonly EventKey[]): Promise<MessagePart[]> {
  const found = await messageRows(db, keys)
  return found.map(({ detours, ...row }) => ({
    ...row,
    detours: detours === null ? [] : (JSON.parse(detours) as Detour[]),
  }))
}

export interface ReplyPart {
  readonly session_key: string
  readonly asked_seq: number
  readonly seq: number
  readonly at: Date
}

/** The user's next message after each of these events. */
export const replyParts = look<EventKey, ReplyPart>(
  EVENT_KEYS,
  (k) => `select k.session_key, k.seq as asked_seq, r.seq, r.created_at as at
    from ${k}
    join wakeful.sessions s on ${eqByKey('s.bucket', 'k.bucket')} and s.session_key = k.session_key and s.last_user_seq > k.seq
    cross join lateral (
      select e.seq, e.created_at from wakeful.events e
      where e.bucket = k.bucket and e.session_key = k.session_key and e.seq > k.seq and e.seq <= k.seq + ${REPLY_WITHIN}
        and e.type = 'user_message' order by e.seq limit 1) r`,
)

export interface OutputPart extends OutputFact {
  readonly event_id: string
  readonly missed_count: number
}

export const outputParts = look<SlotKey, OutputPart>(
  SLOT_KEYS,
  (
    k,
  ) => `select o.event_id, o.status, o.run_number as "runNumber", left(o.title, ${PREVIEW_MAX}) as title, o.error_message as error, o.missed_count
    from ${k}
    join wakeful.work_outputs o on ${eqByKey('o.bucket', 'k.bucket')} and o.event_id = k.id`,
)

export interface AlarmPart {
  readonly id: string
  readonly parent_id: string | null
  readonly name: string
  readonly kind: 'once' | 'cron'
  readonly cron_expr: string
  readonly timezone: string
  readonly anchor_at: Date
  readonly max_failures: number
  readonly catch_up: CatchUp
  readonly status: 'active' | 'fired' | 'cancelled' | 'failed'
  readonly scheduled_for: Date
  readonly due_at: Date | null
  readonly delivery_id: string
  readonly attempt: number
  readonly user_id: string
}

const ALARM = `a.id, a.parent_id, left(coalesce(nullif(a.label, ''), a.wake_message), ${NAME_MAX}) as name, a.kind, a.cron_expr, a.timezone,
  a.anchor_at, a.max_failures, a.catch_up, a.status, a.scheduled_for, a.due_at, a.delivery_id, a.attempt, a.user_id`

/** The alarms with these ids, and the extra wakes beside them. */
export const alarmParts = look<SlotRow, AlarmPart>(
  TRIGGER_KEYS,
  (k) => `select ${ALARM} from (select distinct * from ${k}) k
    join wakeful.alarms a on ${eqByKey('a.bucket', 'k.bucket')} and ${eqByKey('a.id', 'k.id')}
    union all
    select ${ALARM} from (select distinct * from ${k}) k
    cross join lateral (
      select * from wakeful.alarms a where a.bucket = k.bucket and a.parent_id = k.id and a.parent_id is not null offset 0) a`,
)

export interface IntentPart {
  readonly id: string
  readonly intent_name: string
  readonly enabled: boolean
  readonly scheduled_for: Date | null
  readonly next_check: Date | null
  readonly agent_id: string | null
  readonly thread_id: string | null
  readonly trigger_type: string
  readonly trigger_schedule: string | null
  readonly timezone: string
  readonly anchor_at: Date
  readonly catch_up: CatchUp
}

/** Of those that still exist. */
export const intentParts = look<SlotRow, IntentPart>(
  TRIGGER_KEYS,
  (
    k,
  ) => `select i.id, i.intent_name, i.enabled, i.scheduled_for, i.next_check, i.agent_id, i.thread_id, i.trigger_type, i.trigger_schedule,
      i.timezone, i.anchor_at, i.catch_up
    from (select distinct * from ${k}) k
    join wakeful.scheduled_intents i on ${eqByKey('i.bucket', 'k.bucket')} and ${eqByKey('i.id', 'k.id')}`,
)

export interface CheckPart extends CheckRow {
  readonly id: string
  readonly user_id: string
}

export const checkParts = look<SlotKey, CheckPart>(
  SLOT_KEYS,
  (
    k,
  ) => `select x.id, x.user_id, x.status, x.trigger_data, x.gate_result, x.error_message, x.cause, x.last_seen_at, x.repeats
    from ${k}
    join wakeful.intent_executions x on ${eqByKey('x.bucket', 'k.bucket')} and ${eqByKey('x.id', 'k.id')}`,
)

export interface WakePart {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly missed_count: number
  readonly attempts: number
  readonly status: 'taken' | 'failed' | 'retrying'
  readonly error: string | null
  readonly finished_at: Date
}

export const wakeParts = look<SlotKey, WakePart>(
  SLOT_KEYS,
  (
    k,
  ) => `select w.delivery_id as id, w.user_id, w.name, w.missed_count, w.attempts, w.status, w.error, w.finished_at
    from ${k}
    join wakeful.alarm_wakes w on ${eqByKey('w.bucket', 'k.bucket')} and w.delivery_id = k.id`,
)

export interface TimerPart {
  readonly id: string
  readonly timer_id: string
}

export const timerParts = look<SlotKey, TimerPart>(
  SLOT_KEYS,
  (k) => `select t.id, t.timer_id from ${k}
    join wakeful.autonomy_timers t on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.id')} and t.status = 'cancelled'`,
)

export interface DeferredPart {
  readonly id: string
  readonly bucket: number
  readonly session_key: string
  readonly status: DeferredFact['status']
  readonly rule: DeferredFact['rule']
  readonly release_at: Date | null
  readonly released_seq: number | null
  readonly updated_at: Date
  readonly together: number
}

/** By the events whose slots were deferred. */
export const deferredParts = look<SlotKey, DeferredPart>(
  SLOT_KEYS,
  (
    k,
  ) => `select p.id, p.bucket, p.session_key, ${toldStatus('p')} as status, p.rule, p.release_at, p.released_seq, p.updated_at,
      (select count(*)::int from wakeful.deferred o
       where o.bucket = p.bucket and o.session_key = p.session_key and o.released_seq = p.released_seq) as together
    from ${k}
    join wakeful.deferred p on ${eqByKey('p.bucket', 'k.bucket')} and ${eqByKey('p.id', 'k.id')}`,
)

export interface MissedPart {
  readonly id: string
  readonly user_id: string
  readonly name: string
  readonly slots: number
  readonly last_for: Date
  readonly rule: MissedFacts['rule']
}

export const missedParts = look<SlotKey, MissedPart>(
  SLOT_KEYS,
  (k) => `select m.id, m.user_id, m.name, m.slots, m.last_for, m.rule from ${k}
    join wakeful.missed m on ${eqByKey('m.bucket', 'k.bucket')} and ${eqByKey('m.id', 'k.id')}`,
)

export interface QuestionPart {
  readonly id: string
  readonly name: string
  readonly user_id: string
  readonly answer: string | null
}

export const questionParts = look<SlotKey, QuestionPart>(
  SLOT_KEYS,
  (k) => `select t.id, left(t.text, ${NAME_MAX}) as name, t.user_id, t.answer from ${k}
    join wakeful.questions t on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.id')}`,
)
