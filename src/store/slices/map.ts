/** The map of slices, kept in slice 0; and what each slice knows of itself. */
import type { SliceRange } from '../../core/slices/slices.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'
import { rows, statement } from '../db/statement.ts'

export interface KeptSlice extends SliceRange {
  /** Its buckets are on their way from there; nobody serves them. */
  readonly splitsFrom: number | null
}

/** Any fixed number; it names our lock among others in the same database. */
const LOCK = 7_105_128_332

/** By their numbers; none where there is one slice. */
export async function readSlices(home: Db): Promise<KeptSlice[]> {
  return home.query<KeptSlice>(
    `select number, first_bucket as first, last_bucket as last, splits_from as "splitsFrom"
     from wakeful.slices order by number`,
  )
}

/** One at a time changes the map. */
export async function holdMap(tx: Db): Promise<KeptSlice[]> {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
  return readSlices(tx)
}

const INSERT = statement(
  { s: rows({ number: 'int', first: 'smallint', last: 'smallint', splitsFrom: 'int?' }) },
  ({ s }) =>
    `insert into wakeful.slices (number, first_bucket, last_bucket, splits_from, created_at)
     select number, first, last, splits_from, ${NOW} from ${s}`,
)

export async function addSlices(tx: Db, slices: readonly KeptSlice[]): Promise<void> {
  await INSERT.run(tx, { s: slices })
}

export async function changeSlice(
  tx: Db,
  { number, first, last, splitsFrom }: KeptSlice,
): Promise<void> {
  await tx.query(
    'update wakeful.slices set first_bucket = $2, last_bucket = $3, splits_from = $4 where number = $1',
    [number, first, last, splitsFrom],
  )
}

/** Of nobody, to be dealt anew. */
export async function forgetSlices(tx: Db): Promise<void> {
  await tx.query('delete from wakeful.slices')
}

/** Whether anything of anybody is there. */
export async function holdsPeople(db: Db): Promise<boolean> {
  const [row] = await db.query<{ held: boolean }>(
    `select exists (select 1 from wakeful.sessions) or exists (select 1 from wakeful.alarms)
       or exists (select 1 from wakeful.scheduled_intents) or exists (select 1 from wakeful.work) as held`,
  )
  return row?.held ?? false
}
