/**
 * Splits a shard in two: the upper half of its buckets goes to a shard that has none yet. The people of the half that moves wait
 * (503) from the first step to the last, the others of that shard while its rows are copied, and everybody else not at all. Each step is one
 * transaction of one shard and may be taken again: a split that was killed goes on where it was when it is asked for again.
 */

import { agreeOnMap, agreeOnShard, firstMap, MAP_POLL_MS } from '../../../src/app/shards.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { ensureMigrated } from '../../../src/store/migrate.ts'
import type { Store } from '../../../src/store/open.ts'
import {
  addShards,
  changeShard,
  holdMap,
  type KeptShard,
  type PerShard,
  splitRange,
} from '../../../src/store/shards/ranges.ts'
import { bring, hasLetGo, holdShard, letGo, settleIn } from './move-rows.ts'

/** All processes have heard of it by then. */
const HEARD_MS = 3 * MAP_POLL_MS

export interface SplitHooks {
  wait(ms: number): Promise<void>
  /** Says how far it is. */
  told(step: string): void
}

export interface Split {
  readonly from: KeptShard
  readonly to: KeptShard
  readonly rows: number
}

export async function splitShard(
  stores: PerShard<Store>,
  number: number,
  { wait, told }: SplitHooks,
): Promise<Split> {
  const { all, home } = stores
  await firstMap(home, 1)
  await agreeOnMap(stores)
  const { from, to } = await begin(home, number, all.length)
  const [source, target] = [all[from.number], all[to.number]]
  if (source === undefined || target === undefined) throw new Error('a shard is missing')
  await ensureMigrated(target.migrations, 'auto')
  await agreeOnShard(stores, to.number)
  told(`buckets ${to.first} to ${to.last} of shard ${from.number} go to shard ${to.number}`)
  let rows = 0
  if (!(await hasLetGo(source.migrations, to.number))) {
    told('waiting until every process has heard of it')
    await wait(HEARD_MS)
    told('copying')
    rows = await source.migrations.tx(async (tx) => {
      await holdShard(tx)
      const brought = await bring(tx, target.migrations, to)
      told(`${brought} rows copied`)
      await letGo(tx, to, from, to.number)
      return brought
    })
  }
  told(`shard ${from.number} has let them go`)
  await settleIn(target.migrations, to)
  told('they have arrived')
  await home.migrations.tx(async (tx) => {
    await holdMap(tx)
    await changeShard(tx, { ...to, splitsFrom: null })
  })
  told(`shard ${to.number} serves them`)
  return { from, to, rows }
}

/** Writes into the map what is to be, or finds what was begun. */
async function begin(home: Store, number: number, known: number): Promise<Omit<Split, 'rows'>> {
  return home.migrations.tx(async (tx) => {
    const kept = await holdMap(tx)
    const from = kept.find((each) => each.number === number)
    if (from === undefined) throw new Refusal('not_found', `there is no shard ${number}`)
    const begun = kept.find(({ splitsFrom }) => splitsFrom !== null)
    if (begun?.splitsFrom === number) return { from, to: begun }
    if (begun !== undefined)
      throw new Refusal('conflict', `shard ${begun.splitsFrom} is being split: end that first`)
    if (kept.length >= known)
      throw new Refusal(
        'conflict',
        `WAKEFUL_SHARDS names ${known} shards and all of them have people: add one to it, start every process with it, and split then`,
      )
    const split = splitRange(from, kept.length)
    if (split === null) throw new Refusal('conflict', `shard ${number} has one bucket only`)
    const left = { ...split.kept, splitsFrom: null }
    const moved = { ...split.moved, splitsFrom: number }
    await changeShard(tx, left)
    await addShards(tx, [moved])
    return { from: left, to: moved }
  })
}
