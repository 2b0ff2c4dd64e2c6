/** The slices of a process: where each is, whose rows are where, and that all processes agree on it. */
import { newId } from '../core/ids.ts'
import { BUCKETS } from '../core/sessions/session.ts'
import { evenRanges, Sliced, SliceMap, type SliceRange } from '../core/slices/slices.ts'
import type { ExtraService } from '../engine/engine.ts'
import { IDLE } from '../engine/service.ts'
import { type OpenOptions, openSlices, type Store } from '../store/db/open.ts'
import { keepSetting, readSetting } from '../store/db/settings.ts'
import { addSlices, holdMap, holdsPeople, type KeptSlice, readSlices } from '../store/slices/map.ts'

/** How long a process may not know that people are on their way to another slice. */
export const MAP_POLL_MS = 2_000

const EVERYTHING: SliceRange = { number: 0, first: 0, last: BUCKETS - 1 }

/** Connects to nothing yet that is not embedded. */
export async function openStores(
  urls: readonly string[],
  options: OpenOptions,
): Promise<Sliced<Store>> {
  return new Sliced(await openSlices(urls, options), new SliceMap([EVERYTHING]))
}

export function onlyStore(store: Store): Sliced<Store> {
  return new Sliced([store], new SliceMap([EVERYTHING]))
}

/** What the map becomes where there is none yet: shares for all where nobody is there, else all stay where they are. */
export async function firstMap(home: Store, count: number): Promise<readonly KeptSlice[]> {
  return home.migrations.tx(async (tx) => {
    const kept = await holdMap(tx)
    if (kept.length > 0) return kept
    const ranges = (await holdsPeople(tx)) ? [EVERYTHING] : evenRanges(count)
    const made = ranges.map((range) => ({ ...range, splitsFrom: null }))
    await addSlices(tx, made)
    return made
  })
}

/** Reads the map that all processes share; refuses where it is another one than the settings say. */
export async function agreeOnMap({ all, home, map }: Sliced<Store>): Promise<void> {
  const found = await readSlices(home.db)
  const kept = found.length > 0 || all.length === 1 ? found : await firstMap(home, all.length)
  if (kept.length > Math.max(1, all.length))
    throw new Error(
      `the map in the database has ${kept.length} slices, and WAKEFUL_SLICES names ${all.length}: name all of them, in their order`,
    )
  const other = await readSetting(home.db, 'slice')
  if (other !== null) throw new Error(`slice 0 of WAKEFUL_SLICES is ${wordsFor(other)}`)
  take(map, kept, all.length)
}

/** A slice knows which it is, and of whom: a list in another order would find nobody's rows. */
export async function agreeOnSlice({ all, home }: Sliced<Store>, number: number): Promise<void> {
  const store = all[number]
  if (store === undefined || number === 0) return
  const installation = await keepSetting(home.db, 'installation', newId())
  const wanted = `${installation} ${number}`
  const found = await keepSetting(store.db, 'slice', wanted)
  if (found === wanted) return
  const own = found.startsWith(`${installation} `)
  const is = own
    ? `slice ${found.slice(installation.length + 1)} of this installation`
    : wordsFor('')
  throw new Error(`slice ${number} of WAKEFUL_SLICES is ${is}: name all of them, in their order`)
}

function wordsFor(slice: string): string {
  return slice === '' ? 'of another installation' : `no first slice but ${slice.split(' ')[1]}`
}

/** Buckets on their way, or in a slice that this process was not told of, are not served here. */
function take(map: SliceMap, kept: readonly KeptSlice[], known: number): void {
  if (kept.length === 0) return
  map.change(
    kept,
    kept.filter(({ number, splitsFrom }) => splitsFrom !== null || number >= known),
  )
}

/** Follows the map while slices are split. */
export function mapService({ all, home, map }: Sliced<Store>): ExtraService {
  const tick = async () => {
    take(map, await readSlices(home.engine), all.length)
    return IDLE
  }
  return { service: { name: 'slices', tick }, pollMs: MAP_POLL_MS }
}
