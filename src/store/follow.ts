/** What follows a person's zone: reckoned again when that changes, in the transaction that writes it. */
import {
  cronSchedule,
  firedMark,
  nextUnfired,
  sameLocalTime,
} from '../../packages/schedule/src/index.ts'
import type { Db } from './db.ts'
import { eqByKey, NOW } from './due.ts'
import { rows, statement } from './statement.ts'
import { INTENT_CRON } from './zoned.ts'

interface Following {
  readonly bucket: number
  readonly id: string
  /** Null: it has no rhythm. */
  readonly cron_expr: string | null
  /** It has one time, said by the clock. */
  readonly once: boolean
  readonly timezone: string
  readonly anchor_at: Date
  readonly fired_local: string | null
  /** The slot it waits for, or whose time has come. */
  readonly slot: Date | null
  /** Nothing of that slot has begun. */
  readonly waits: boolean
  readonly now: Date
}

interface Shape {
  readonly cron: string
  readonly once: string
  readonly slot: string
  readonly waits: string
  /** What the new slot `i.at` is written to. */
  readonly set: string
}

const moved = (column: string) => `${column} = case when i.moves then i.at else t.${column} end`

const SHAPES = {
  alarms: {
    cron: `nullif(t.cron_expr, '')`,
    once: `t.kind = 'once'`,
    slot: `case when t.status = 'active' or (t.status = 'paused' and t.kind = 'once') then t.scheduled_for end`,
    waits: `t.attempt = 0 and t.in_flight is null and t.claim_token is null`,
    set: `scheduled_for = coalesce(case when i.moves then i.at end, t.scheduled_for),
      next_fire_at = coalesce(case when i.moves then i.at end, t.next_fire_at),
      due_at = case when i.moves and t.status = 'active' then i.at else t.due_at end,
      fire_at = case when i.moves and t.kind = 'once' then i.at else t.fire_at end,
      status = case when i.moves and i.at is null then 'fired' else t.status end`,
  },
  scheduled_intents: {
    cron: INTENT_CRON,
    // A text with an offset means the same everywhere.
    once: `t.trigger_type = 'once'
      and coalesce(t.trigger_schedule ->> 'datetime', t.trigger_schedule ->> 'trigger_at') !~ '([Zz]|[+-][0-9]{2}:?[0-9]{2})$'`,
    slot: 'case when t.enabled then coalesce(t.scheduled_for, t.next_check) end',
    waits: `t.scheduled_for is null and t.in_flight is null and t.claim_token is null
      and coalesce(t.last_execution_status, '') not in ('failed', 'gate_blocked')`,
    set: `${moved('next_check')}, enabled = t.enabled and not (i.moves and i.at is null)`,
  },
  work: {
    cron: 't.frequency_cron',
    once: 't.frequency_cron is null',
    slot: 't.next_run_at',
    waits: 'true',
    set: `${moved('next_run_at')}, is_active = t.is_active and not (i.moves and i.at is null),
      anchor_at = case when i.moves and t.frequency_cron is null then i.at else t.anchor_at end`,
  },
} as const satisfies Record<string, Shape>

const STATEMENTS = Object.entries(SHAPES).map(([table, { cron, once, slot, waits, set }]) => ({
  read: statement(
    { bucket: 'smallint', user: 'text', zone: 'text' },
    ({
      bucket,
      user,
      zone,
    }) => `select t.bucket, t.id, ${cron} as cron_expr, ${once} as once, t.timezone, t.anchor_at,
        t.fired_local, ${slot} as slot, ${waits} as waits, ${NOW} as now
      from wakeful.${table} t
      where t.bucket = ${bucket} and t.user_id = ${user} and t.follows_zone and t.timezone <> ${zone}
      order by t.id for update of t`,
  ),
  write: statement(
    {
      i: rows({
        bucket: 'smallint',
        id: 'uuid',
        timezone: 'text',
        fired_local: 'text?',
        moves: 'boolean',
        at: 'timestamptz?',
      }),
    },
    ({ i }) => `update wakeful.${table} t set timezone = i.timezone, fired_local = i.fired_local,
        ${set}, updated_at = ${NOW}
      from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')}`,
  ),
}))

/** Of the locked person. The next slot of each is the first one after now on the new clock that has not fired on another. */
export async function followPerson(
  tx: Db,
  { bucket, userId }: { readonly bucket: number; readonly userId: string },
  timezone: string,
): Promise<void> {
  for (const { read, write } of STATEMENTS) {
    const found = await read.run<Following>(tx, { bucket, user: userId, zone: timezone })
    if (found.length > 0) await write.run(tx, { i: found.map((row) => followed(row, timezone)) })
  }
}

function followed(row: Following, timezone: string) {
  const { bucket, id, cron_expr, slot, now, anchor_at } = row
  const scheduleIn = (zone: string) =>
    cron_expr === null ? null : cronSchedule({ cron_expr, timezone: zone })
  // What has begun, or whose time has come, fires as it is.
  const isAhead = row.waits && slot !== null && slot > now
  const mark =
    slot === null || isAhead ? null : firedMark(scheduleIn(row.timezone), slot, row.fired_local)
  const fired_local = mark ?? row.fired_local
  const kept = { bucket, id, timezone, fired_local, moves: false, at: null }
  if (!isAhead) return kept
  if (row.once) return { ...kept, moves: true, at: sameLocalTime(slot, row.timezone, timezone) }
  const schedule = scheduleIn(timezone)
  if (schedule?.kind !== 'cron') return kept
  const at = nextUnfired(schedule, now.getTime(), anchor_at.getTime(), fired_local)
  return { ...kept, moves: true, at: at === null ? null : new Date(at) }
}
