/**
 * Shards: whose rows are where. Each holds a range of buckets, so all rows of one person are in one, and a shard can be split in
 * two. Shard 0 is home to what belongs to nobody in particular.
 */
import { Refusal } from '../../core/errors.ts'
import { BUCKETS, bucketOf } from '../../core/session.ts'
import { type Db, installationOf, LOCKING, SCHEMA } from '../db.ts'
import { NOW } from '../due.ts'
import { rows, statement } from '../statement.ts'

export interface ShardRange {
  readonly number: number
  /** Buckets, both included. */
  readonly first: number
  readonly last: number
}

/** The ranges of so many shards: bucket b is in shard floor(b × shards / 1024). */
export function evenRanges(shards: number): ShardRange[] {
  return Array.from({ length: shards }, (_, number) => ({
    number,
    first: Math.ceil((number * BUCKETS) / shards),
    last: Math.ceil(((number + 1) * BUCKETS) / shards) - 1,
  }))
}

/** Halves a range: what stays, and what goes to the new shard. Null where there is nothing to halve. */
export function splitRange(
  range: ShardRange,
  number: number,
): { readonly kept: ShardRange; readonly moved: ShardRange } | null {
  if (range.first === range.last) return null
  const middle = Math.floor((range.first + range.last + 1) / 2)
  return {
    kept: { ...range, last: middle - 1 },
    moved: { number, first: middle, last: range.last },
  }
}

/** Why these are no map: null where they are, each bucket in one shard. */
export function mapError(ranges: readonly ShardRange[]): string | null {
  const numbers = ranges.map(({ number }) => number).sort((a, b) => a - b)
  if (numbers.some((number, index) => number !== index)) return 'a shard is missing in it'
  let next = 0
  for (const { number, first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    if (first !== next || last < first) return `the buckets of shard ${number} do not fit`
    next = last + 1
  }
  return next === BUCKETS ? null : `the buckets from ${next} on are in no shard`
}

/** A range on its way from one shard to another: nobody serves it before it has arrived. */
export interface Moving {
  readonly first: number
  readonly last: number
}

/** From a bucket to the number of its shard. It may change while a process runs: a shard is split. */
export class ShardMap {
  #numbers: readonly number[] = []

  constructor(ranges: readonly ShardRange[]) {
    this.change(ranges)
  }

  change(ranges: readonly ShardRange[], moving: readonly Moving[] = []): void {
    const error = mapError(ranges)
    if (error !== null) throw new Error(`the map of shards is wrong: ${error}`)
    const numbers: number[] = []
    for (const { number, first, last } of ranges)
      for (let bucket = first; bucket <= last; bucket++) numbers[bucket] = number
    for (const { first, last } of moving)
      for (let bucket = first; bucket <= last; bucket++) numbers[bucket] = ON_THE_WAY
    this.#numbers = numbers
  }

  ofBucket(bucket: number): number {
    const number = this.#numbers[bucket] ?? 0
    if (number === ON_THE_WAY) throw new Refusal('unavailable', MOVING, { retryAfterMs: 1_000 })
    return number
  }

  /** Also while its people move and no shard serves them. */
  holds(number: number, bucket: number): boolean {
    return this.#numbers[bucket] === number
  }
}

const ON_THE_WAY = -1
const MOVING = 'the rows of this person are being moved to another shard; try again soon'

/** Something of each shard, found by whose it is. */
export class PerShard<T> {
  readonly all: readonly T[]
  readonly map: ShardMap

  constructor(all: readonly T[], map: ShardMap) {
    this.all = all
    this.map = map
  }

  /** Where what belongs to nobody in particular is. */
  get home(): T {
    return this.all[0] as T
  }

  get several(): boolean {
    return this.all.length > 1
  }

  ofBucket(bucket: number): T {
    return this.several ? (this.all[this.map.ofBucket(bucket)] as T) : this.home
  }

  ofUser(userId: string): T {
    return this.several ? this.ofBucket(bucketOf(userId)) : this.home
  }

  each<U>(make: (each: T, number: number) => U): PerShard<U> {
    return new PerShard(this.all.map(make), this.map)
  }
}

/** The schema of a shard: that of the first is the installation's own, so that one shard is what it always was. */
export function schemaOf(number: number, own: string = SCHEMA): string {
  return number === 0 ? own : `${own}_${number}`
}

// The map of shards, kept in shard 0; and what each shard knows of itself.
export interface KeptShard extends ShardRange {
  /** The shard its buckets are being moved from; no process serves them meanwhile. */
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
  await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
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
