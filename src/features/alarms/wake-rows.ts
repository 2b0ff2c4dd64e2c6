/** The record of wakes that were delivered by a call: one row for each slot, kept up to date by the settle of each attempt. */
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'

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
