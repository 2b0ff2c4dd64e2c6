/** Finds a ledger entry by id. Event ids are not indexed; an event is found by the timestamp in its id. */
import { madeAt } from '../../core/ids.ts'
import type { Db } from '../../store/db.ts'
import { commitTx } from '../../store/due.ts'
import { type LedgerScope, ledgerWindows, type SlotRow } from './rows.ts'

const BUCKETS = Array.from({ length: 1024 }, (_, bucket) => bucket)
const of = (table: string, id: string, at: string, where = 'true') =>
  `select t.${at} as at from wakeful.${table} t where t.bucket = any($2::smallint[]) and t.${id} = $1::uuid and ${where}`
const INSTANT = [
  of('intent_executions', 'id', 'executed_at', 't.event_seq is null'),
  of('alarm_wakes', 'delivery_id', 'created_at'),
  of('missed', 'id', 'missed_at'),
  `select t.updated_at from wakeful.alarms t where t.id = $1::uuid and t.status = 'cancelled'`,
  `select t.updated_at from wakeful.questions t where t.id = $1::uuid and t.status in ('answered', 'cancelled')`,
  `select t.updated_at from wakeful.autonomy_timers t where t.id = $1::uuid and t.status = 'cancelled'`,
  // A timer's event has the id of the timer.
  `select t.created_at from wakeful.events t where t.trigger_id = $1::uuid and t.id = $1::uuid and t.scheduled_for is not null`,
].join(' union all ')

/** Maximum distance between the id's timestamp and the event, tried in turn: clocks step, and transactions take time. */
const AROUND_MS = [5_000, 600_000, 90_000_000]

export async function findSlotRow(
  db: Db,
  id: string,
  userId: string | null,
): Promise<SlotRow | null> {
  const found = await commitTx(db, (tx) => tx.query<{ at: Date }>(INSTANT, [id, BUCKETS]))
  for (const { at } of found) {
    const row = await within(db, id, userId, at.getTime(), 1)
    if (row !== null) return row
  }
  // Under a test clock ids and instants have nothing in common.
  if (db.now() !== null) return within(db, id, userId, null, 0)
  const made = madeAt(id)?.getTime()
  if (made === undefined) return null
  for (const around of AROUND_MS) {
    const row = await within(db, id, userId, made, around)
    if (row !== null) return row
  }
  return null
}

async function within(
  db: Db,
  id: string,
  userId: string | null,
  at: number | null,
  around: number,
): Promise<SlotRow | null> {
  const scope: LedgerScope = {
    ...{ id, userId, session: null, triggerId: null, after: null },
    from: at === null ? null : new Date(at - around),
    to: at === null ? null : new Date(at + around),
  }
  const windows = await ledgerWindows(db, scope, null, 1)
  return windows.flatMap(({ rows }) => rows).find(({ head }) => head) ?? null
}
