/** Schedules by their names: found, replaced in place, removed. The writers of all kinds take the person's lock first. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import type { NewAlarm } from '../alarms/draft.ts'
import { ALARM_GIVEN } from '../alarms/rows.ts'
import { addPeople } from '../people/rows.ts'
import type { ScheduleKind } from './plan.ts'

export interface ScheduleRef {
  readonly kind: ScheduleKind
  readonly bucket: number
  readonly id: string
}

const PEOPLE = { k: rows({ bucket: 'smallint', user_id: 'text' }) }
const LOCK_PEOPLE = statement(
  PEOPLE,
  ({ k }) => `select 1 from ${k}
   join wakeful.people p on ${eqByKey('p.bucket', 'k.bucket')} and p.user_id = k.user_id
   order by p.bucket + 0, p.user_id for update of p`,
)

/** Held until the end of the transaction, and taken in the same order by everybody. */
export async function lockPeopleRows(tx: Db, userIds: readonly string[]): Promise<void> {
  const k = [...new Set(userIds)].map((user_id) => ({ bucket: bucketOf(user_id), user_id }))
  if (k.length === 0) return
  await addPeople(tx, userIds)
  await LOCK_PEOPLE.run(tx, { k })
}

export interface NameKey {
  readonly nth: number
  readonly bucket: number
  readonly user_id: string
  /** Empty where no agent is named. */
  readonly agent_id: string
  readonly name: string
}

/** One look at the index of names for each key: as a join, for a table that is nearly empty, it would be planned as a walk through all names. */
const named = (k: string, kind: ScheduleKind, table: string, live = 'true') =>
  `select k.nth, '${kind}' as kind, n.bucket, n.id from ${k} cross join lateral (
     select t.bucket, t.id from ${table} t
     where t.bucket = k.bucket and t.user_id = k.user_id and coalesce(t.agent_id, '') = k.agent_id
       and t.name = k.name and t.name <> '' and ${live} limit 1) n`
const FIND = statement(
  {
    k: rows({ nth: 'int', bucket: 'smallint', user_id: 'text', agent_id: 'text', name: 'text' }),
  },
  ({ k }) =>
    [
      named(k, 'alarm', 'wakeful.alarms', `t.status <> 'cancelled' and t.parent_id is null`),
      named(k, 'intent', 'wakeful.scheduled_intents'),
      named(k, 'work', 'wakeful.work'),
    ].join(' union all '),
)

/** The alarms, intents and work of these names, each with the number of its key. */
export function findNamed(
  tx: Db,
  k: readonly NameKey[],
): Promise<(ScheduleRef & { readonly nth: number })[]> {
  return FIND.run(tx, { k })
}

const targeted = (k: string, kind: ScheduleKind, table: string, live = 'true') =>
  `select k.nth, '${kind}' as kind, t.bucket, t.id from ${k} join ${table} t
    on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.id')} and ${live}`
const ofAgent = `t.user_id = k.user_id and coalesce(t.agent_id, k.agent_id) = k.agent_id`
const FIND_TARGETS = statement(
  { k: rows({ nth: 'int', bucket: 'smallint', user_id: 'text', agent_id: 'text', id: 'uuid' }) },
  ({ k }) =>
    [
      targeted(
        k,
        'timer',
        'wakeful.autonomy_timers',
        `starts_with(t.session_key, k.user_id || ':' || k.agent_id || ':')`,
      ),
      targeted(k, 'alarm', 'wakeful.alarms', `${ofAgent} and t.parent_id is null`),
      targeted(k, 'intent', 'wakeful.scheduled_intents', ofAgent),
      targeted(k, 'work', 'wakeful.work', ofAgent),
    ].join(' union all '),
)

/** Those of these ids that belong to the person and agent. */
export async function findTargets(
  tx: Db,
  k: readonly (Omit<NameKey, 'name'> & { readonly id: string })[],
): Promise<(ScheduleRef & { readonly nth: number })[]> {
  return k.length === 0 ? [] : FIND_TARGETS.run(tx, { k })
}

const REFS = { r: rows({ bucket: 'smallint', id: 'uuid' }) }
const ended = `a.status in ('fired', 'failed')`
const CANCEL_ALARMS = statement(
  REFS,
  ({ r }) => `update wakeful.alarms a
   set status = 'cancelled', due_at = null, in_flight = null, claim_token = null, claimed_at = null, updated_at = ${NOW}
   from ${r}
   where ${eqByKey('a.bucket', 'r.bucket')} and (${eqByKey('a.id', 'r.id')} or a.parent_id = r.id)
     and a.status in ('active', 'paused')`,
)
/** One that has ended has its record elsewhere; as a cancelled one it would tell otherwise. */
const DROP_ALARMS = statement(
  REFS,
  ({ r }) => `delete from wakeful.alarms a using ${r}
   where ${eqByKey('a.bucket', 'r.bucket')} and ${eqByKey('a.id', 'r.id')} and ${ended}`,
)
const DROP_INTENTS = statement(
  REFS,
  ({ r }) => `delete from wakeful.scheduled_intents t using ${r}
   where ${eqByKey('t.bucket', 'r.bucket')} and ${eqByKey('t.id', 'r.id')}`,
)
const DROP_WORK = statement(
  REFS,
  ({ r }) => `delete from wakeful.work w using ${r}
   where ${eqByKey('w.bucket', 'r.bucket')} and ${eqByKey('w.id', 'r.id')}`,
)
const CANCEL_TIMERS = statement(
  REFS,
  ({
    r,
  }) => `update wakeful.autonomy_timers t set status = 'cancelled', updated_at = ${NOW} from ${r}
   where ${eqByKey('t.bucket', 'r.bucket')} and t.id = r.id and t.status || '' in ('pending', 'paused')`,
)
const REMOVE = {
  timer: [CANCEL_TIMERS],
  alarm: [DROP_ALARMS, CANCEL_ALARMS],
  intent: [DROP_INTENTS],
  work: [DROP_WORK],
} as const

export async function removeSchedules(tx: Db, refs: readonly ScheduleRef[]): Promise<void> {
  for (const [kind, statements] of Object.entries(REMOVE)) {
    const r = refs.filter((ref) => ref.kind === kind)
    if (r.length > 0) for (const each of statements) await each.run(tx, { r })
  }
}

const NAMED_TIMERS = statement(
  { k: rows({ bucket: 'smallint', session_key: 'text', timer_id: 'text' }) },
  ({
    k,
  }) => `update wakeful.autonomy_timers t set status = 'cancelled', updated_at = ${NOW} from ${k}
   where ${eqByKey('t.bucket', 'k.bucket')} and t.session_key = k.session_key and t.timer_id = k.timer_id
     and t.status || '' in ('pending', 'paused')`,
)

export async function cancelNamedTimers(
  tx: Db,
  k: readonly { bucket: number; session_key: string; timer_id: string }[],
): Promise<void> {
  if (k.length > 0) await NAMED_TIMERS.run(tx, { k })
}

/** An alarm set again for the same times keeps its place in them. */
const SAME = `(a.status = 'active' and a.kind = i.kind and a.cron_expr = i.cron_expr and a.timezone = i.timezone
  and a.fire_at is not distinct from i.fire_at)`
const IDENTITY = [
  'bucket',
  'id',
  'owner_did',
  'user_id',
  'idempotency_key',
  'traceparent',
  'lineage',
]
const TIMED: Readonly<Record<string, string>> = {
  anchor_at: 'i.anchor_at',
  next_fire_at: 'i.next_fire_at',
  delivery_id: 'i.delivery_id',
  scheduled_for: 'i.next_fire_at',
  due_at: 'i.next_fire_at',
  in_flight: 'null',
  claim_token: 'null',
  claimed_at: 'null',
  failure_count: '0',
  last_error: `''`,
  missed_count: '0',
  attempt: '0',
}
const PLAIN = Object.keys(ALARM_GIVEN).filter(
  (name) => !IDENTITY.includes(name) && TIMED[name] === undefined,
)
const REPLACE = statement(
  { i: rows(ALARM_GIVEN) },
  ({ i }) => `update wakeful.alarms a set ${PLAIN.map((name) => `${name} = i.${name}`).join(', ')},
     ${Object.entries(TIMED)
       .map(([name, value]) => `${name} = case when ${SAME} then a.${name} else ${value} end`)
       .join(', ')},
     traceparent = coalesce(i.traceparent, a.traceparent), lineage = coalesce(i.lineage, a.lineage),
     status = 'active', paused_at = null, updated_at = ${NOW}
   from ${i} where ${eqByKey('a.bucket', 'i.bucket')} and ${eqByKey('a.id', 'i.id')}`,
)

/** Writes other terms into alarms that exist, under their ids. */
export async function replaceAlarms(tx: Db, i: readonly NewAlarm[]): Promise<void> {
  if (i.length > 0) await REPLACE.run(tx, { i })
}
