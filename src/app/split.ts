/**
 * Splits a slice in two: the upper half of its buckets goes to a slice that has none yet. The people of the half that moves wait
 * (503) from the first step to the last, the others of that slice while its rows are copied, and everybody else not at all. Each step is one
 * transaction of one slice and may be taken again: a split that was killed goes on where it was when it is asked for again.
 */
import { Refusal } from '../core/errors.ts'
import { type Sliced, splitRange } from '../core/slices/slices.ts'
import { ensureMigrated } from '../store/db/migrate.ts'
import type { Store } from '../store/db/open.ts'
import { addSlices, changeSlice, holdMap, type KeptSlice } from '../store/slices/map.ts'
import { bring, hasLetGo, holdSlice, letGo, settleIn } from '../store/slices/move.ts'
import { agreeOnMap, agreeOnSlice, firstMap, MAP_POLL_MS } from './slices.ts'

/** All processes have heard of it by then. */
const HEARD_MS = 3 * MAP_POLL_MS

export interface SplitHooks {
  wait(ms: number): Promise<void>
  /** Says how far it is. */
  told(step: string): void
}

export interface Split {
  readonly from: KeptSlice
  readonly to: KeptSlice
  readonly rows: number
}

export async function splitSlice(
  stores: Sliced<Store>,
  number: number,
  { wait, told }: SplitHooks,
): Promise<Split> {
  const { all, home } = stores
  await firstMap(home, 1)
  await agreeOnMap(stores)
  const { from, to } = await begin(home, number, all.length)
  const [source, target] = [all[from.number], all[to.number]]
  if (source === undefined || target === undefined) throw new Error('a slice is missing')
  await ensureMigrated(target.migrations, 'auto')
  await agreeOnSlice(stores, to.number)
  told(`buckets ${to.first} to ${to.last} of slice ${from.number} go to slice ${to.number}`)
  let rows = 0
  if (!(await hasLetGo(source.migrations, to.number))) {
    told('waiting until every process has heard of it')
    await wait(HEARD_MS)
    told('copying')
    rows = await source.migrations.tx(async (tx) => {
      await holdSlice(tx)
      const brought = await bring(tx, target.migrations, to)
      told(`${brought} rows copied`)
      await letGo(tx, to, from, to.number)
      return brought
    })
  }
  told(`slice ${from.number} has let them go`)
  await settleIn(target.migrations, to)
  told('they have arrived')
  await home.migrations.tx(async (tx) => {
    await holdMap(tx)
    await changeSlice(tx, { ...to, splitsFrom: null })
  })
  told(`slice ${to.number} serves them`)
  return { from, to, rows }
}

/** Writes into the map what is to be, or finds what was begun. */
async function begin(home: Store, number: number, known: number): Promise<Omit<Split, 'rows'>> {
  return home.migrations.tx(async (tx) => {
    const kept = await holdMap(tx)
    const from = kept.find((each) => each.number === number)
    if (from === undefined) throw new Refusal('not_found', `there is no slice ${number}`)
    const begun = kept.find(({ splitsFrom }) => splitsFrom !== null)
    if (begun?.splitsFrom === number) return { from, to: begun }
    if (begun !== undefined)
      throw new Refusal('conflict', `slice ${begun.splitsFrom} is being split: end that first`)
    if (kept.length >= known)
      throw new Refusal(
        'conflict',
        `WAKEFUL_SLICES names ${known} slices and all of them have people: add one to it, start every process with it, and split then`,
      )
    const split = splitRange(from, kept.length)
    if (split === null) throw new Refusal('conflict', `slice ${number} has one bucket only`)
    const left = { ...split.kept, splitsFrom: null }
    const moved = { ...split.moved, splitsFrom: number }
    await changeSlice(tx, left)
    await addSlices(tx, [moved])
    return { from: left, to: moved }
  })
}
