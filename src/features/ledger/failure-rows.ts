/** Candidates for failures, newest first, by the partial indexes on failed rows; and which triggers have succeeded since. */
import { bucketOf, EFFECTS_PER_TURN_MAX } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx, eqByKey, inMs } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import { type SlotRow, slotColumns } from './rows.ts'

/** Of each source. */
const LOOK_MAX = 400

/** Failed rows `f`, and the join to the row of their slot. */
interface Failing {
  readonly source: 'event' | 'check' | 'wake'
  readonly table: string
  readonly at: string
  readonly failed: string
  readonly slot: string
  readonly user: string
}

const OF_SESSION = `f.bucket = $4 and f.session_key > $5 || ':' and f.session_key < $5 || ';'`
const OF_USER = 'f.bucket = $4 and f.user_id = $5'
const FAILING: readonly Failing[] = [
  {
    source: 'event',
    table: 'attempts',
    at: 'finished_at',
    failed: `f.status = 'failed'`,
    slot: 'join wakeful.events t on t.bucket = f.bucket and t.session_key = f.session_key and t.seq = f.event_seq',
    user: OF_SESSION,
  },
  {
    source: 'event',
    table: 'effects',
    at: 'created_at',
    failed: `f.status = 'failed'`,
    slot: 'join wakeful.events t on t.bucket = f.bucket and t.session_key = f.session_key and t.seq = f.event_seq',
    user: OF_SESSION,
  },
  {
    source: 'event',
    table: 'work_outputs',
    at: 'created_at',
    failed: `f.status = 'failed'`,
    slot: 'join wakeful.events t on t.trigger_id = f.work_id and t.scheduled_for is not null and t.id = f.event_id',
    user: OF_USER,
  },
  {
    source: 'check',
    table: 'intent_executions',
    at: 'executed_at',
    failed: `f.status = 'failed' and f.event_seq is null`,
    slot: 'join wakeful.intent_executions t on t.bucket = f.bucket and t.id = f.id',
    user: OF_USER,
  },
  {
    source: 'wake',
    table: 'alarm_wakes',
    at: 'created_at',
    failed: `f.status = 'failed'`,
    slot: 'join wakeful.alarm_wakes t on t.bucket = f.bucket and t.delivery_id = f.delivery_id',
    user: OF_USER,
  },
]

function textOf({ source, table, at, failed, slot, user }: Failing, owned: boolean): string {
  const id = source === 'wake' ? 't.delivery_id' : 't.id'
  const slots = source === 'event' ? 't.scheduled_for is not null' : 'true'
  return `select distinct on (t.bucket, ${id}) ${slotColumns(source)} from (
      select * from wakeful.${table} f where ${failed} and f.${at} >= ${inMs('-$2::float8')}
        and ${owned ? user : 'true'} order by f.${at} desc limit $3) f
    ${slot} where ${slots} and not exists (select 1 from wakeful.slot_marks m
      where m.bucket = t.bucket and m.id = ${id} and m.dismissed_at is not null)`
}

/** Undismissed failures of the last `sinceMs`. The caller judges the outcome with all facts. */
export async function failingSlots(
  db: Db,
  userId: string | null,
  sinceMs: number,
): Promise<SlotRow[]> {
  const owner = userId === null ? [] : [bucketOf(userId), userId]
  const values = [db.now(), sinceMs, LOOK_MAX, ...owner]
  return commitTx(db, async (tx) => {
    const found = new Map<string, SlotRow>()
    for (const each of FAILING)
      for (const row of await tx.query<SlotRow>(textOf(each, userId !== null), values))
        if (row.head) found.set(row.id, row)
    return [...found.values()].sort((a, b) => (a.at_text < b.at_text ? 1 : -1))
  })
}

const LATER_MAX = 50
/** The turn committed, and neither a message nor the run failed. */
const WELL = `exists (select 1 from wakeful.turns t where t.bucket = e.bucket and t.session_key = e.session_key
    and t.event_seq = e.seq and t.status = 'committed')
  and not exists (select 1 from wakeful.effects f where f.bucket = e.bucket and f.session_key = e.session_key and f.status = 'failed'
    and f.position >= e.seq::bigint * ${EFFECTS_PER_TURN_MAX} and f.position < (e.seq::bigint + 1) * ${EFFECTS_PER_TURN_MAX})
  and not exists (select 1 from wakeful.work_outputs o where o.bucket = e.bucket and o.event_id = e.id and o.status <> 'completed')`

const SINCE = statement(
  { k: rows({ id: 'uuid', bucket: 'smallint', trigger_id: 'uuid', after: 'timestamptz' }) },
  ({ k }) => `select k.id from ${k} where exists (
      select 1 from (select * from wakeful.events e where e.trigger_id = k.trigger_id and e.scheduled_for is not null
        and e.created_at >= k.after order by e.created_at desc, e.id desc limit ${LATER_MAX}) e where ${WELL})
    or exists (select 1 from wakeful.alarm_wakes w where w.alarm_id = k.trigger_id and w.created_at >= k.after and w.status = 'taken')`,
)

export interface Since {
  readonly id: string
  readonly bucket: number
  readonly trigger_id: string
  readonly after: Date
}

/** The ids of slots whose trigger succeeded at or after that instant. */
export async function ranWellSince(db: Db, k: readonly Since[]): Promise<ReadonlySet<string>> {
  if (k.length === 0) return new Set()
  const found = await commitTx(db, (tx) => SINCE.run<{ id: string }>(tx, { k }))
  return new Set(found.map(({ id }) => id))
}

const TRIGGERS = statement(
  { k: rows({ id: 'uuid', bucket: 'smallint', trigger_id: 'uuid' }) },
  ({ k }) =>
    [
      ['alarms', 't.cron_expr', `t.status <> 'cancelled'`],
      ['scheduled_intents', `case when t.trigger_type = 'once' then '' else 'x' end`, 'true'],
      ['work', `coalesce(t.frequency_cron, '')`, 'true'],
    ]
      .map(
        ([table, recurs, lives]) => `select k.id, ${recurs} <> '' as recurs from ${k}
      join wakeful.${table} t on ${eqByKey('t.bucket', 'k.bucket')} and ${eqByKey('t.id', 'k.trigger_id')} and ${lives}`,
      )
      .join(' union all '),
)

/** Slots whose trigger still exists, and whether it recurs. */
export async function standingTriggers(
  db: Db,
  k: readonly Omit<Since, 'after'>[],
): Promise<ReadonlyMap<string, boolean>> {
  if (k.length === 0) return new Map()
  const found = await TRIGGERS.run<{ id: string; recurs: boolean }>(db, { k })
  return new Map(found.map(({ id, recurs }) => [id, recurs]))
}

/** The timer that an event was, as it was set. */
export interface SetTimer {
  readonly timer_id: string
  readonly payload: string | null
  readonly pending: boolean
}

export async function timerOf(
  db: Db,
  { bucket, session_key, seq }: SlotRow,
): Promise<SetTimer | null> {
  const [row] = await db.query<SetTimer>(
    `select e.payload ->> 'timer_id' as timer_id, e.payload -> 'payload' as payload, exists (
       select 1 from wakeful.autonomy_timers t where t.bucket = e.bucket and t.session_key = e.session_key
         and t.timer_id = e.payload ->> 'timer_id' and t.status || '' in ('pending', 'paused')) as pending
     from wakeful.events e where e.bucket = $1 and e.session_key = $2 and e.seq = $3 and e.type = 'timer'`,
    [bucket, session_key, seq],
  )
  return row ?? null
}
