/** What waits for its next regular slot: read page by page, and moved where that slot has moved. */
import { CLOCK_STEP_MS } from '../../packages/schedule/src/count.ts'
import { movedSlot } from '../../packages/schedule/src/moved.ts'
import type { Db } from './db.ts'
import { eqByKey, inMs, NOW, NOW_MS } from './due.ts'
import { keepSetting, putSetting } from './settings.ts'
import { rows, statement } from './statement.ts'

/** One that waits for its next regular slot. */
export interface ZonedRow {
  readonly bucket: number
  readonly id: string
  readonly cron_expr: string
  readonly timezone: string
  readonly anchor_at: Date
  readonly slot: Date
  readonly now: Date
}

const ZONED = ['alarms', 'scheduled_intents', 'work'] as const
type Zoned = (typeof ZONED)[number]

interface Shape {
  readonly cron: string
  readonly slot: string
  /** It waits for that slot, and not for another attempt or for what runs. */
  readonly waits: string
  readonly also: readonly string[]
}

/** `zoned`: waits for a time of day in some zone. `ahead`: was written by a clock that was ahead of now. */
const WHICH = {
  zoned: `t.timezone <> 'UTC'`,
  ahead: `t.updated_at > ${inMs(String(CLOCK_STEP_MS))}`,
} as const
type Which = keyof typeof WHICH

/** The times of an intent `t` that has times of its own, as a cron expression. */
export const INTENT_CRON = `coalesce(t.trigger_schedule ->> 'cron', '@every ' || (t.trigger_schedule ->> 'interval_minutes') || 'm')`

const SHAPES: Record<Zoned, Shape> = {
  alarms: {
    cron: 't.cron_expr',
    slot: 'due_at',
    waits: `t.kind = 'cron' and t.status = 'active' and t.attempt = 0 and t.due_at = t.scheduled_for`,
    also: ['scheduled_for', 'next_fire_at'],
  },
  scheduled_intents: {
    cron: INTENT_CRON,
    slot: 'next_check',
    waits: `t.trigger_type in ('cron', 'interval') and t.enabled and t.in_flight is null and t.claim_token is null
      and coalesce(t.last_execution_status, '') not in ('failed', 'gate_blocked')`,
    also: [],
  },
  work: {
    cron: 't.frequency_cron',
    slot: 'next_run_at',
    // Also while it runs: the slot after the one in hand was computed when that was taken.
    waits: 't.is_active and t.frequency_cron is not null',
    also: [],
  },
}

const statementsOf = ({ cron, slot, waits, also }: Shape, table: Zoned) => {
  const reading = (which: Which) =>
    statement(
      { bucket: 'smallint', id: 'uuid', limit: 'int' },
      ({
        bucket,
        id,
        limit,
      }) => `select t.bucket, t.id, ${cron} as cron_expr, t.timezone, t.anchor_at, t.${slot} as slot, ${NOW} as now from wakeful.${table} t
      where (t.bucket, t.id) > (${bucket}, ${id}) and ${WHICH[which]} and t.${slot} > ${NOW} and ${waits}
      order by t.bucket, t.id limit ${limit}`,
    )
  return {
    zoned: reading('zoned'),
    ahead: reading('ahead'),
    move: statement(
      { i: rows({ bucket: 'smallint', id: 'uuid', was: 'timestamptz', at: 'timestamptz' }) },
      ({
        i,
      }) => `update wakeful.${table} t set ${[slot, ...also].map((column) => `${column} = i.at`)}, anchor_at = least(t.anchor_at, ${NOW_MS}), updated_at = ${NOW}
      from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')} and t.${slot} = i.was and ${waits}
      returning t.id`,
    ),
  }
}

const STATEMENTS = {
  alarms: statementsOf(SHAPES.alarms, 'alarms'),
  scheduled_intents: statementsOf(SHAPES.scheduled_intents, 'scheduled_intents'),
  work: statementsOf(SHAPES.work, 'work'),
}

const PAGE = 500
const FIRST = { bucket: -1, id: '00000000-0000-0000-0000-000000000000' }

/** Moves the rows for which `slotOf` has another slot, unless they changed since they were read. Answers how many, by table. */
export async function moveSlots(
  db: Db,
  which: Which,
  slotOf: (row: ZonedRow) => Date | null,
): Promise<Readonly<Record<Zoned, number>>> {
  const moved = { alarms: 0, scheduled_intents: 0, work: 0 }
  for (const table of ZONED)
    for (let last: Pick<ZonedRow, 'bucket' | 'id'> | undefined = FIRST; last !== undefined; ) {
      const { bucket, id } = last
      const page: ZonedRow[] = await STATEMENTS[table][which].run<ZonedRow>(db, {
        bucket,
        id,
        limit: PAGE,
      })
      const moves = page.flatMap((row) => {
        const at = slotOf(row)
        return at === null ? [] : [{ bucket: row.bucket, id: row.id, was: row.slot, at }]
      })
      moved[table] += (await STATEMENTS[table].move.run(db, { i: moves })).length
      last = page.length < PAGE ? undefined : page.at(-1)
    }
  return moved
}

// Time zone rules change with the version of Node. When they do, waiting slots are recomputed before the store is served.
const KEY = 'tz_data'

/** Answers how many were moved, by table; null where the rules are those of last time. */
export async function followRules(
  db: Db,
  version: string,
): Promise<Readonly<Record<string, number>> | null> {
  if ((await keepSetting(db, KEY, version)) === version) return null
  const moved = await moveSlots(db, 'zoned', (row) => movedSlot(row, row.slot, row.now))
  await putSetting(db, KEY, version)
  return moved
}
