/** The map of shards, kept in shard 0; and what each shard knows of itself. */

import type { Db } from '../db.ts'
import { NOW } from '../due.ts'
import { rows, statement } from '../statement.ts'
import type { ShardRange } from './ranges.ts'

export interface KeptShard extends ShardRange {
  /** Its buckets are on their way from there; nobody serves them. */
  readonly splitsFrom: number | null
}

/** Any fixed number; it names our lock among others in the same database. */
const LOCK = 7_105_128_332

/** By their numbers; none where there is one shard. */
export async function readShards(home: Db): Promise<KeptShard[]> {
  return home.query<KeptShard>(
    `select number, first_bucket as first, last_bucket as last, splits_from as "splitsFrom"
     from wakeful.shards order by number`,
  )
}

/** One at a time changes the map. */
export async function holdMap(tx: Db): Promise<KeptShard[]> {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
  return readShards(tx)
}

const INSERT = statement(
  { s: rows({ number: 'int', first: 'smallint', last: 'smallint', splitsFrom: 'int?' }) },
  ({ s }) =>
    `insert into wakeful.shards (number, first_bucket, last_bucket, splits_from, created_at)
     select number, first, last, splits_from, ${NOW} from ${s}`,
)

export async function addShards(tx: Db, shards: readonly KeptShard[]): Promise<void> {
  await INSERT.run(tx, { s: shards })
}

export async function changeShard(
  tx: Db,
  { number, first, last, splitsFrom }: KeptShard,
): Promise<void> {
  await tx.query(
    'update wakeful.shards set first_bucket = $2, last_bucket = $3, splits_from = $4 where number = $1',
    [number, first, last, splitsFrom],
  )
}

/** Of nobody, to be dealt again. */
export async function forgetShards(tx: Db): Promise<void> {
  await tx.query('delete from wakeful.shards')
}

/** Whether anything of anybody is there. */
export async function holdsPeople(db: Db): Promise<boolean> {
  const [row] = await db.query<{ held: boolean }>(
    `select exists (select 1 from wakeful.sessions) or exists (select 1 from wakeful.alarms)
       or exists (select 1 from wakeful.scheduled_intents) or exists (select 1 from wakeful.work) as held`,
  )
  return row?.held ?? false
}
