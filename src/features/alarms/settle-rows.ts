/** How the slots of alarms end: with the commit of the turn over their event, or with the answer of the receiver. */
import type { Db } from '../../store/db.ts'
import { eqByKey, lockOrder, NOW } from '../../store/due.ts'
import { FREED, lockingByEvent } from '../../store/slots.ts'
import { type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import type { AlarmState } from './rules.ts'
import { type AlarmSlot, SLOT } from './slot-rows.ts'

export const lockByEvent = lockingByEvent<AlarmSlot>('wakeful.alarms', SLOT)

const HELD = rows({ bucket: 'smallint', id: 'uuid', token: 'uuid' })

const LOCK = statement(
  { h: HELD },
  ({ h }) => `select ${SLOT}, ${NOW} as now, t.id || ' ' || t.claim_token as held
    from ${h}
    join wakeful.alarms t on ${eqByKey('t.bucket', 'h.bucket')} and ${eqByKey('t.id', 'h.id')} and t.claim_token = h.token
    ${lockOrder('t', 'id')} for update of t`,
)

/**
 * Locks the slots we still hold a lease on, by id and token; those missing were cancelled, or taken up again, be it
 * by this very process: then one alarm is asked for under two tokens, and only one of them holds it.
 */
export async function lockByToken(
  tx: Db,
  held: readonly RowOf<typeof HELD>[],
): Promise<Map<string, AlarmSlot>> {
  const locked = await LOCK.run<AlarmSlot & { held: string }>(tx, { h: held })
  return new Map(locked.map((row) => [row.held, row]))
}

export interface SettledSlot {
  readonly slot: AlarmSlot
  readonly state: AlarmState
  /** What its clock showed at the slot, of one that follows its person. */
  readonly firedLocal?: string | null
}

const SETTLE = statement(
  {
    i: rowsOf<SettledSlot>({
      bucket: ['smallint', ({ slot }) => slot.bucket],
      id: ['uuid', ({ slot }) => slot.id],
      status: ['text', ({ state }) => state.status],
      scheduled_for: ['timestamptz', ({ state }) => state.scheduled_for],
      missed_count: ['int', ({ state }) => state.missed_count],
      attempt: ['int', ({ state }) => state.attempt],
      delivery_id: ['uuid', ({ state }) => state.delivery_id],
      failure_count: ['int', ({ state }) => state.failure_count],
      last_error: ['text', ({ state }) => state.last_error],
      next_fire_at: ['timestamptz', ({ state }) => state.next_fire_at],
      due_at: ['timestamptz?', ({ state }) => state.due_at],
      last_fired_at: ['timestamptz?', ({ state }) => state.last_fired_at],
      fired_local: ['text?', ({ firedLocal }) => firedLocal ?? null],
    }),
  },
  ({ i }) => `update wakeful.alarms a
    set status = i.status, scheduled_for = i.scheduled_for, missed_count = i.missed_count, attempt = i.attempt,
        delivery_id = i.delivery_id, failure_count = i.failure_count, last_error = i.last_error, next_fire_at = i.next_fire_at,
        due_at = i.due_at, last_fired_at = i.last_fired_at, fired_local = coalesce(i.fired_local, a.fired_local), ${FREED}, updated_at = ${NOW}
    from ${i} where ${eqByKey('a.bucket', 'i.bucket')} and ${eqByKey('a.id', 'i.id')}`,
)

/** Writes what the locked slots become, and frees them. */
export async function settleSlots(tx: Db, settled: readonly SettledSlot[]): Promise<void> {
  if (settled.length === 0) return
  await SETTLE.run(tx, { i: settled })
  const extras = settled.filter(({ slot }) => slot.parent_id !== null)
  if (extras.length > 0) await foldExtras(tx, extras)
}

const FOLD = statement(
  {
    e: rowsOf<SettledSlot>({
      bucket: ['smallint', ({ slot }) => slot.bucket],
      id: ['uuid?', ({ slot }) => slot.parent_id],
      fired_at: ['timestamptz?', ({ state }) => state.last_fired_at],
      error: ['text', ({ state }) => state.last_error],
    }),
  },
  ({ e }) => `update wakeful.alarms a
    set last_fired_at = greatest(a.last_fired_at, i.fired_at), last_error = coalesce(nullif(i.error, ''), a.last_error), updated_at = ${NOW}
    from (select bucket, id, max(fired_at) as fired_at, max(error) as error from ${e} group by bucket, id) i
    where ${eqByKey('a.bucket', 'i.bucket')} and ${eqByKey('a.id', 'i.id')}`,
)

const REMOVE = statement(
  { e: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ e }) => `delete from wakeful.alarms a using ${e}
    where ${eqByKey('a.bucket', 'e.bucket')} and ${eqByKey('a.id', 'e.id')}`,
)

/** An extra wake's news goes to the alarm it belongs to; when it has ended, its own row goes. */
async function foldExtras(tx: Db, extras: readonly SettledSlot[]): Promise<void> {
  await FOLD.run(tx, { e: extras })
  const ended = extras.filter(({ state }) => state.status !== 'active')
  if (ended.length > 0) await REMOVE.run(tx, { e: ended.map(({ slot }) => slot) })
}

export interface WakeRecord {
  readonly bucket: number
  readonly deliveryId: string
  readonly alarmId: string
  readonly scheduledFor: Date
  readonly missedCount: number
  readonly attempts: number
  readonly status: 'taken' | 'failed' | 'retrying'
  readonly error: string | null
}

const NAME_MAX = 120

/** The name goes from the alarm's row into the record: the parent of an extra wake outlives it. */
const RECORD = statement(
  {
    i: rows({
      bucket: 'smallint',
      deliveryId: 'uuid',
      alarmId: 'uuid',
      scheduledFor: 'timestamptz',
      missedCount: 'int',
      attempts: 'int',
      status: 'text',
      error: 'text?',
    }),
  },
  ({
    i,
  }) => `insert into wakeful.alarm_wakes (bucket, delivery_id, alarm_id, user_id, name, scheduled_for, missed_count, attempts, status, error,
      created_at, finished_at)
    select i.bucket, i.delivery_id, i.alarm_id, a.user_id, left(coalesce(nullif(a.label, ''), a.wake_message), ${NAME_MAX}), i.scheduled_for,
      i.missed_count, i.attempts, i.status, i.error, ${NOW}, ${NOW}
    from ${i}
    join wakeful.alarms a on ${eqByKey('a.bucket', 'i.bucket')} and ${eqByKey('a.id', 'i.alarm_id')}
    on conflict (bucket, delivery_id) do update
      set missed_count = excluded.missed_count, attempts = excluded.attempts, status = excluded.status, error = excluded.error,
          finished_at = excluded.finished_at`,
)

export async function recordWakes(tx: Db, wakes: readonly WakeRecord[]): Promise<void> {
  if (wakes.length > 0) await RECORD.run(tx, { i: wakes })
}
