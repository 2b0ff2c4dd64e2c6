/** Rows of crons. An enabled cron has an alarm, which runs it; the row keeps the cron's own fields. */
import { listOf, type RowOf, typesOf, visible } from '../../../../src/core/columns.ts'
import { type AlarmScope, within } from '../../../../src/features/alarms/rows.ts'
import type { Db } from '../../../../src/store/db.ts'
import { eqByKey, NOW } from '../../../../src/store/due.ts'
import { rows, statement } from '../../../../src/store/statement.ts'

const CRON = {
  bucket: visible('smallint'),
  id: visible('uuid'),
  owner_did: visible('text'),
  user_id: visible('text'),
  assistant_id: visible('text'),
  thread_id: visible('text?'),
  schedule: visible('text'),
  timezone: visible('text?'),
  end_time: visible('timestamptz?'),
  payload: visible('json'),
  metadata: visible('json'),
  alarm_id: visible('uuid?'),
  created_at: visible('timestamptz'),
  updated_at: visible('timestamptz'),
}

export interface CronRow extends RowOf<typeof CRON> {
  /** The next time of its alarm; null without an active alarm. */
  readonly next_run_date: Date | null
}
/** As it is written. */
export type KeptCron = Omit<CronRow, 'created_at' | 'updated_at' | 'next_run_date'>

const GIVEN = typesOf(CRON, ['created_at', 'updated_at'])
const NAMES = Object.keys(GIVEN)
const CHANGED = NAMES.filter((name) => name !== 'bucket' && name !== 'id')

const KEEP = statement(
  { c: rows(GIVEN) },
  ({ c }) => `insert into wakeful.langgraph_crons (${NAMES}, created_at, updated_at)
  select ${NAMES}, ${NOW}, ${NOW} from ${c}
  returning created_at, updated_at`,
)

const CHANGE = statement(
  { c: rows(GIVEN) },
  ({ c }) => `update wakeful.langgraph_crons o
  set ${CHANGED.map((name) => `${name} = c.${name}`)}, updated_at = ${NOW}
  from ${c} where ${eqByKey('o.bucket', 'c.bucket')} and ${eqByKey('o.id', 'c.id')}
  returning o.created_at, o.updated_at`,
)

type Written = Pick<CronRow, 'created_at' | 'updated_at'>

/** Inserts a cron, or updates it with `change`. */
export async function keepCron(db: Db, cron: KeptCron, change = false): Promise<Written> {
  const [written] = await (change ? CHANGE : KEEP).run<Written>(db, { c: [cron] })
  if (written === undefined) throw new Error(`cron ${cron.id} was not written`)
  return written
}

export interface CronFilter {
  readonly scope: AlarmScope
  readonly assistantId: string | null
  readonly threadId: string | null
  readonly enabled: boolean | null
  /** JSON text that the cron's metadata must contain. */
  readonly metadata: string | null
}

export const SORTS = {
  cron_id: 'c.id',
  assistant_id: 'c.assistant_id',
  thread_id: 'c.thread_id',
  next_run_date: 'a.next_fire_at',
  created_at: 'c.created_at',
  updated_at: 'c.updated_at',
} as const

export interface CronsPage {
  readonly sortBy: keyof typeof SORTS
  readonly ascending: boolean
  readonly limit: number
  readonly offset: number
}

/** From `wakeful.langgraph_crons c` with its alarm `a`, where that is active. */
function found(filter: CronFilter): { text: string; values: unknown[] } {
  const { where, values } = within(filter.scope, 1)
  const wanted = ['true']
  const say = (value: unknown) => `$${values.push(value)}`
  if (filter.assistantId !== null) wanted.push(`c.assistant_id = ${say(filter.assistantId)}`)
  if (filter.threadId !== null) wanted.push(`c.thread_id = ${say(filter.threadId)}`)
  if (filter.enabled !== null) wanted.push(`(a.id is not null) = ${say(filter.enabled)}`)
  if (filter.metadata !== null)
    wanted.push(`c.metadata::jsonb @> ${say(filter.metadata)}::text::jsonb`)
  const text = `(select * from wakeful.langgraph_crons where ${where}) c
    left join wakeful.alarms a on a.bucket = c.bucket and a.id = c.alarm_id and a.status = 'active'
    where ${wanted.join(' and ')}`
  return { text, values }
}

const SHOWN = `${Object.keys(CRON).map((name) => `c.${name}`)}, a.next_fire_at as next_run_date`

export async function searchCrons(db: Db, filter: CronFilter, page: CronsPage): Promise<CronRow[]> {
  const { text, values } = found(filter)
  const order = page.ascending ? 'asc' : 'desc'
  return db.query<CronRow>(
    `select ${SHOWN} from ${text}
     order by ${SORTS[page.sortBy]} ${order} nulls last, c.id ${order}
     limit $${values.push(page.limit)} offset $${values.push(page.offset)}`,
    values,
  )
}

export async function countCrons(db: Db, filter: CronFilter): Promise<number> {
  const { text, values } = found(filter)
  const [row] = await db.query<{ n: number }>(`select count(*)::int as n from ${text}`, values)
  return row?.n ?? 0
}

/** Locks the row until the transaction ends. */
export async function lockCron(
  tx: Db,
  scope: AlarmScope,
  id: string,
): Promise<Omit<CronRow, 'next_run_date'> | null> {
  const { where, values } = within(scope, 2)
  const [row] = await tx.query<Omit<CronRow, 'next_run_date'>>(
    `select ${listOf(CRON)} from wakeful.langgraph_crons where id = $1::uuid and ${where} for update`,
    [id, ...values],
  )
  return row ?? null
}

export async function deleteCron(tx: Db, cron: Pick<CronRow, 'bucket' | 'id'>): Promise<void> {
  await tx.query('delete from wakeful.langgraph_crons where bucket = $1 and id = $2::uuid', [
    cron.bucket,
    cron.id,
  ])
}
