/**
 * What fired in each hour and how late, what was held back in it, and which work runs: for plots. Every hour is a walk along an
 * index with an end, so that a busy server is not felt; an hour that reached it says so.
 */

import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx, NOW } from '../../store/due.ts'
import type { TriggerKind } from './rules.ts'

/** Of one hour. */
export const SLOTS_LOOKED_AT = 5_000
export const TURNS_LOOKED_AT = 500
const RUNS_MAX = 50
const TASK_MAX = 200

export interface Hours {
  /** Null: everybody's. */
  readonly userId: string | null
  /** The beginning of each, and its end. */
  readonly from: readonly Date[]
  readonly to: readonly Date[]
}

export interface SlotsOfHour {
  readonly at: Date
  readonly kind: TriggerKind
  readonly slots: number
  /** Of those: taken up more than a second after they were due. */
  readonly late: number
  readonly worst_ms: number
}

export interface HeldOfHour {
  readonly at: Date
  readonly rule: string
  readonly messages: number
}

/** The slots of an hour that became events, newest first; an attempt after the first is not late but tried again. */
const inHour = (columns: string, owned: boolean, limit: number) => `(
  select ${columns} from wakeful.events t
  where t.scheduled_for is not null and t.created_at >= h.from_at and t.created_at < h.to_at
    and ${owned ? `t.bucket = $3 and split_part(t.session_key, ':', 1) = $4` : 't.seq >= 1'}
  order by t.created_at desc, t.id desc limit ${limit})`

const HOURS = 'unnest($1::timestamptz[], $2::timestamptz[]) h(from_at, to_at)'
const valuesOf = ({ userId, from, to }: Hours) => [
  ...[from, to],
  ...(userId === null ? [] : [bucketOf(userId), userId]),
]

export async function slotsByHour(db: Db, hours: Hours): Promise<SlotsOfHour[]> {
  const read = inHour(
    't.type, t.payload, t.created_at, t.scheduled_for',
    hours.userId !== null,
    SLOTS_LOOKED_AT,
  )
  return commitTx(db, (tx) =>
    tx.query<SlotsOfHour>(
      `select at, kind, count(*)::int as slots, count(*) filter (where late_ms > 1000)::int as late,
         coalesce(max(late_ms), 0)::float8 as worst_ms
       from (select h.from_at as at, e.type as kind,
               greatest(0, extract(epoch from e.created_at - e.scheduled_for) * 1000) as late_ms
             from ${HOURS} cross join lateral ${read} e
             where coalesce(e.payload ->> 'attempt', '1') = '1') s
       group by at, kind order by at, kind`,
      valuesOf(hours),
    ),
  )
}

/** Messages that the newest attempt at an event wanted to send and was not let, by rule. */
export async function heldByHour(db: Db, hours: Hours): Promise<HeldOfHour[]> {
  const read = inHour('t.bucket, t.session_key, t.seq', hours.userId !== null, TURNS_LOOKED_AT)
  return commitTx(db, (tx) =>
    tx.query<HeldOfHour>(
      `select h.from_at as at, v.verdict ->> 'rule' as rule, count(*)::int as messages
       from ${HOURS} cross join lateral ${read} e
       cross join lateral (select t.verdicts from wakeful.turns t
         where t.bucket = e.bucket and t.session_key = e.session_key and t.event_seq = e.seq order by t.attempt desc limit 1) t
       cross join lateral json_array_elements(t.verdicts) v(verdict)
       where v.verdict ->> 'allowed' = 'false' group by 1, 2 order by 1, 2`,
      valuesOf(hours),
    ),
  )
}

export interface RunUnderWay {
  readonly work_id: string
  readonly task: string
  readonly user_id: string
  readonly run_number: number
  readonly status: 'pending' | 'running'
  readonly progress: number | null
  readonly progress_note: string | null
  readonly started_at: Date | null
}

/** The runs that wait or go on, the oldest first, and what the time is. */
export async function runsUnderWay(
  db: Db,
  userId: string | null,
): Promise<{ now: Date; runs: RunUnderWay[] }> {
  const own = userId === null ? 'true' : 'w.bucket = $1 and w.user_id = $2'
  const runs = await db.query<RunUnderWay>(
    `select o.work_id, left(w.task, ${TASK_MAX}) as task, w.user_id, o.run_number, o.status, o.progress, o.progress_note, o.started_at
     from wakeful.work_outputs o join wakeful.work w on w.bucket = o.bucket and w.id = o.work_id
     where o.status in ('pending', 'running') and ${own} order by o.created_at, o.id limit ${RUNS_MAX}`,
    userId === null ? [] : [bucketOf(userId), userId],
  )
  const [row] = await db.query<{ now: Date }>(`select ${NOW} as now`, [db.now()])
  if (row === undefined) throw new Error('the database did not tell the time')
  return { now: row.now, runs }
}
