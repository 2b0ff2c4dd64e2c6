/** Pause, resume and run now: what becomes of the row of each kind. The caller holds the lock of its person. */
import { nextUnfired, type Schedule } from '../../../packages/schedule/src/index.ts'
import { newId } from '../../core/ids.ts'
import type { Db } from '../../store/db.ts'
import { NOW, NOW_MS } from '../../store/due.ts'
import { fireExtra } from '../alarms/rows.ts'
import type { ScheduleRow } from './schedule.ts'

type Row = Pick<ScheduleRow, 'bucket' | 'id'>

async function change(
  tx: Db,
  table: string,
  { bucket, id }: Row,
  set: string,
  more: unknown[] = [],
) {
  await tx.query(
    `update wakeful.${table} t set ${set}, updated_at = ${NOW} where t.bucket = $2 and t.id = $3::uuid`,
    [tx.now(), bucket, id, ...more],
  )
}

const UNCLAIMED = 'in_flight = null, claim_token = null, claimed_at = null'

export const pauseTimer = (tx: Db, row: Row) =>
  change(tx, 'autonomy_timers', row, `status = 'paused'`)

/** With the time it had: one that has passed fires at once. */
export const resumeTimer = (tx: Db, row: Row) =>
  change(tx, 'autonomy_timers', row, `status = 'pending'`)

export const runTimer = (tx: Db, row: Row) =>
  change(tx, 'autonomy_timers', row, `status = 'pending', fire_at = ${NOW}`)

/** `since`: of one that was paused already. */
export const pauseAlarm = (tx: Db, row: Row, since: Date | null = null) =>
  change(
    tx,
    'alarms',
    row,
    `status = 'paused', paused_at = coalesce($4::timestamptz, ${NOW}), due_at = null, ${UNCLAIMED}`,
    [since],
  )

/** `next`: null keeps the time it had, so that one that has passed fires at once. */
export const resumeAlarm = (tx: Db, row: Row, next: Date | null) =>
  change(
    tx,
    'alarms',
    row,
    `status = 'active', paused_at = null, due_at = coalesce($4, t.next_fire_at), next_fire_at = coalesce($4, t.next_fire_at),
     scheduled_for = coalesce($4, t.scheduled_for), delivery_id = $5::uuid, attempt = 0, failure_count = 0, missed_count = 0`,
    [next, newId()],
  )

/** A recurring one keeps its own times; any other is used up by it, and one that has ended begins again. */
export async function runAlarm(
  tx: Db,
  row: ScheduleRow,
  traceparent: string | null,
): Promise<void> {
  const standing = row.status === 'active' || row.status === 'paused'
  if (row.cron !== null && standing) return fireExtra(tx, row, traceparent)
  await change(
    tx,
    'alarms',
    row,
    `status = 'active', paused_at = null, due_at = ${NOW}, next_fire_at = ${NOW}, scheduled_for = ${NOW_MS},
     delivery_id = $4::uuid, attempt = 0, failure_count = 0, last_error = '', missed_count = 0, ${UNCLAIMED}`,
    [newId()],
  )
}

/** It fires at the next look, whatever its condition. */
export const runIntent = (tx: Db, row: Row) =>
  change(
    tx,
    'scheduled_intents',
    row,
    `enabled = true, paused_at = null, next_check = ${NOW}, again = '{"reason":"asked"}', in_flight = null,
     claim_token = null, claimed_until = null`,
  )

/** Where the schedule of a paused alarm or work goes on. */
export function firstAfterPause(
  schedule: Schedule,
  anchor: Date,
  now: Date,
  firedLocal: string | null = null,
): Date | null {
  const at = nextUnfired(schedule, now.getTime(), anchor.getTime(), firedLocal)
  return at === null ? null : new Date(at)
}
