/** The shards of a process: where each is, whose rows are where, and that all processes agree on it. */
import { tzDataVersion } from '../../packages/schedule/src/index.ts'
import { errorText } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { BUCKETS } from '../core/session.ts'
import type { ExtraService } from '../kernel/engine.ts'
import { IDLE } from '../kernel/service.ts'
import { isUnavailable } from '../store/db.ts'
import { ensureMigrated } from '../store/migrate.ts'
import { type OpenOptions, openShards, type Store } from '../store/open.ts'
import { refusePooler } from '../store/postgres.ts'
import { expireLeases, keepSetting, readSetting } from '../store/settings.ts'
import {
  addShards,
  evenRanges,
  holdMap,
  holdsPeople,
  type KeptShard,
  PerShard,
  readShards,
  ShardMap,
  type ShardRange,
} from '../store/shards/ranges.ts'
import { followRules } from '../store/zoned.ts'
import type { App } from './app.ts'

/** How long a process may not know that people are on their way to another shard. */
export const MAP_POLL_MS = 2_000

const EVERYTHING: ShardRange = { number: 0, first: 0, last: BUCKETS - 1 }

/** Connects to nothing yet that is not embedded. */
export async function openStores(
  urls: readonly string[],
  options: OpenOptions,
): Promise<PerShard<Store>> {
  return new PerShard(await openShards(urls, options), new ShardMap([EVERYTHING]))
}

export function onlyStore(store: Store): PerShard<Store> {
  return new PerShard([store], new ShardMap([EVERYTHING]))
}

/** The first map: equal shares without people, else everything stays in the first shard. */
export async function firstMap(home: Store, count: number): Promise<readonly KeptShard[]> {
  return home.migrations.tx(async (tx) => {
    const kept = await holdMap(tx)
    if (kept.length > 0) return kept
    const ranges = (await holdsPeople(tx)) ? [EVERYTHING] : evenRanges(count)
    const made = ranges.map((range) => ({ ...range, splitsFrom: null }))
    await addShards(tx, made)
    return made
  })
}

/** Reads the map that all processes share; refuses where it is another one than the settings say. */
export async function agreeOnMap({ all, home, map }: PerShard<Store>): Promise<void> {
  const found = await readShards(home.db)
  const kept = found.length > 0 || all.length === 1 ? found : await firstMap(home, all.length)
  if (kept.length > Math.max(1, all.length))
    throw new Error(
      `the map in the database has ${kept.length} shards, and WAKEFUL_SHARDS names ${all.length}: name all of them, in their order`,
    )
  const other = await readSetting(home.db, 'shard')
  if (other !== null) throw new Error(`shard 0 of WAKEFUL_SHARDS is ${wordsFor(other)}`)
  take(map, kept, all.length)
}

/** A shard knows its number and installation: with a list in another order, rows would not be found. */
export async function agreeOnShard({ all, home }: PerShard<Store>, number: number): Promise<void> {
  const store = all[number]
  if (store === undefined || number === 0) return
  const installation = await keepSetting(home.db, 'installation', newId())
  const wanted = `${installation} ${number}`
  const found = await keepSetting(store.db, 'shard', wanted)
  if (found === wanted) return
  const own = found.startsWith(`${installation} `)
  const is = own
    ? `shard ${found.slice(installation.length + 1)} of this installation`
    : wordsFor('')
  throw new Error(`shard ${number} of WAKEFUL_SHARDS is ${is}: name all of them, in their order`)
}

function wordsFor(shard: string): string {
  return shard === '' ? 'of another installation' : `no first shard but ${shard.split(' ')[1]}`
}

/** Buckets on their way, or in a shard that this process was not told of, are not served here. */
function take(map: ShardMap, kept: readonly KeptShard[], known: number): void {
  if (kept.length === 0) return
  map.change(
    kept,
    kept.filter(({ number, splitsFrom }) => splitsFrom !== null || number >= known),
  )
}

/** Follows the map while shards are split. */
export function mapService({ all, home, map }: PerShard<Store>): ExtraService {
  const tick = async () => {
    take(map, await readShards(home.engine), all.length)
    return IDLE
  }
  return { service: { name: 'shards', tick }, pollMs: MAP_POLL_MS }
}

/** Migrates a shard and checks that it belongs to this installation. False while its database is unreachable. */
export async function prepareShard(app: App, number: number): Promise<boolean> {
  const { stores, options } = app
  const { config, log } = options
  const store = stores.all[number] as Store
  const shard = stores.several ? { shard: number } : {}
  try {
    await refusePooler(store)
    const applied = await ensureMigrated(store.migrations, config.migrate)
    if (applied.length > 0) log.info({ ...shard, applied }, 'migrated')
    if (number === 0) await agreeOnMap(stores)
    else await agreeOnShard(stores, number)
    await store.join?.learnPlace()
    // Only this process can have the embedded store open, so the holder of every lease in it has died.
    if (store.kind === 'pglite' && options.store === undefined) await expireLeases(store.engine)
    const tzData = tzDataVersion()
    const moved = await followRules(store.engine, tzData)
    if (moved !== null)
      log.info(
        { ...shard, tzData, moved },
        'time zone rules changed: waiting slots were recomputed',
      )
    return true
  } catch (error) {
    if (!isUnavailable(error)) {
      if (!stores.several) throw error
      throw new Error(`shard ${number}: ${errorText(error)}`, { cause: error })
    }
    log.warn({ ...shard, error: (error as Error).message }, 'waiting for the database')
    return false
  }
}
