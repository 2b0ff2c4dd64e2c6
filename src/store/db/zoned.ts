/** What waits for a time of day in some zone: read page by page, and moved where its time has moved. */
import type { Db } from './db.ts'
import { keyIs, NOW } from './due.ts'
import { rows, statement } from './statement.ts'

/** One that waits for its next regular slot. */
export interface ZonedRow {
  readonly bucket: number
  readonly id: string
  readonly cron_expr: string
  readonly timezone: string
  readonly slot: Date
  readonly now: Date
}

export const ZONED = ['alarms', 'scheduled_intents', 'work'] as const
type Zoned = (typeof ZONED)[number]

interface Shape {
  readonly cron: string
  readonly slot: string
  /** It waits for that slot, and not for another attempt or for what runs. */
  readonly waits: string
  readonly also: readonly string[]
}

const SHAPES: Record<Zoned, Shape> = {
  alarms: {
    cron: 't.cron_expr',
    slot: 'due_at',
    waits: `t.kind = 'cron' and t.status = 'active' and t.attempt = 0 and t.due_at = t.scheduled_for`,
    also: ['scheduled_for', 'next_fire_at'],
  },
  scheduled_intents: {
    cron: `t.trigger_schedule ->> 'cron'`,
    slot: 'next_check',
    waits: `t.trigger_type = 'cron' and t.enabled and t.in_flight is null and t.claim_token is null
      and coalesce(t.last_execution_status, '') not in ('failed', 'gate_blocked')`,
    also: [],
  },
  work: {
    cron: 't.frequency_cron',
    slot: 'next_run_at',
    waits: 't.is_active and t.in_flight is null and t.frequency_cron is not null',
    also: [],
  },
}

const statementsOf = ({ cron, slot, waits, also }: Shape, table: Zoned) => ({
  read: statement(
    { bucket: 'smallint', id: 'uuid', limit: 'int' },
    ({
      bucket,
      id,
      limit,
    }) => `select t.bucket, t.id, ${cron} as cron_expr, t.timezone, t.${slot} as slot, ${NOW} as now from wakeful.${table} t
      where (t.bucket, t.id) > (${bucket}, ${id}) and t.timezone <> 'UTC' and t.${slot} > ${NOW} and ${waits}
      order by t.bucket, t.id limit ${limit}`,
  ),
  move: statement(
    { i: rows({ bucket: 'smallint', id: 'uuid', was: 'timestamptz', at: 'timestamptz' }) },
    ({
      i,
    }) => `update wakeful.${table} t set ${[slot, ...also].map((column) => `${column} = i.at`)}, updated_at = ${NOW}
      from ${i} where ${keyIs('t.bucket', 'i.bucket')} and ${keyIs('t.id', 'i.id')} and t.${slot} = i.was and ${waits}
      returning t.id`,
  ),
})

const STATEMENTS = {
  alarms: statementsOf(SHAPES.alarms, 'alarms'),
  scheduled_intents: statementsOf(SHAPES.scheduled_intents, 'scheduled_intents'),
  work: statementsOf(SHAPES.work, 'work'),
}

/** The first page has no `after`. */
export function readZoned(
  db: Db,
  table: Zoned,
  after: Pick<ZonedRow, 'bucket' | 'id'> | undefined,
  limit: number,
): Promise<ZonedRow[]> {
  const { bucket, id } = after ?? { bucket: -1, id: '00000000-0000-0000-0000-000000000000' }
  return STATEMENTS[table].read.run<ZonedRow>(db, { bucket, id, limit })
}

/** Those that still wait for what was read; answers how many. */
export async function moveZoned(
  db: Db,
  table: Zoned,
  moved: readonly { bucket: number; id: string; was: Date; at: Date }[],
): Promise<number> {
  return (await STATEMENTS[table].move.run(db, { i: moved })).length
}
