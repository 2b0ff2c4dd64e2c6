/** `wakeful shards status|add|split|move`: where people's rows are, and moving them. Works on the databases of WAKEFUL_SHARDS themselves. */
import { setTimeout as wait } from 'node:timers/promises'
import { Command } from 'commander'
import { readConfig } from '../../../src/app/packs.ts'
import { agreeOnShard, openStores } from '../../../src/app/shards.ts'
import { environment } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import { isUnavailable } from '../../../src/store/db.ts'
import { ensureMigrated } from '../../../src/store/migrate.ts'
import type { Store } from '../../../src/store/open.ts'
import { moveSchema } from '../../../src/store/shards/citus.ts'
import {
  addShards,
  evenRanges,
  forgetShards,
  holdMap,
  holdsPeople,
  type KeptShard,
  type PerShard,
  readShards,
} from '../../../src/store/shards/ranges.ts'
import { examine } from '../../doctor/src/rows.ts'
import { splitShard } from '../../shards/src/split.ts'
import { UsageError } from './exit.ts'

export function shardsCommand(): Command {
  const shards = new Command('shards').description('where the rows of people are, and moving them')
  shards
    .command('status')
    .description('each shard: its place, its buckets, and how it is')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withStores((stores, urls) => status(stores, urls, options)),
    )
  shards
    .command('add')
    .description(
      'take further shards of WAKEFUL_SHARDS in; with shares of their own while nobody is there',
    )
    .action(() => withStores(add))
  shards
    .command('split')
    .description(
      'move the upper half of a shard to the next one that has nobody; asked again, it goes on',
    )
    .argument('<shard>', 'its number')
    .action((number: string) => withStores((stores) => split(stores, numberOf(number))))
  shards
    .command('move')
    .description('on Citus: move a shard to another node while it works')
    .argument('<shard>', 'its number')
    .requiredOption('--to <host:port>', 'a node of the cluster')
    .action((number: string, { to }: { to: string }) =>
      withStores((stores) => move(stores, numberOf(number), to)),
    )
  return shards
}

function numberOf(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text)
  throw new UsageError(`a shard is a number as "wakeful shards status" shows it, got ${text}`)
}

interface Seen {
  readonly shard: number
  readonly place: string
  readonly buckets: string
  readonly state: string
}

async function status(
  { all, home }: PerShard<Store>,
  urls: readonly string[],
  { json }: { json?: boolean },
): Promise<void> {
  const kept = await readShards(home.db)
  const seen = await Promise.all(
    all.map(async (store, shard): Promise<Seen> => {
      const buckets = bucketsOf(kept, shard)
      return {
        shard,
        place: placeOf(urls[shard] ?? '', store),
        buckets,
        state: await stateOf(store),
      }
    }),
  )
  if (json) return say(JSON.stringify(seen))
  for (const { shard, place, buckets, state } of seen)
    say(`shard ${shard}  ${place}  ${buckets.padEnd(24)}  ${state}`)
}

/** Without whatever is secret in it. */
function placeOf(url: string, { schema }: Store): string {
  const { hostname, port, pathname } = new URL(url.replace(/^[a-z]+:/, 'http:'))
  return `${hostname}${port === '' ? '' : `:${port}`}${pathname} ${schema}`
}

function bucketsOf(kept: readonly KeptShard[], shard: number): string {
  if (kept.length === 0) return shard === 0 ? 'buckets 0 to 1023' : 'nobody yet'
  const own = kept.find(({ number }) => number === shard)
  if (own === undefined) return 'nobody yet'
  const range = `buckets ${own.first} to ${own.last}`
  return own.splitsFrom === null ? range : `${range}, on their way from shard ${own.splitsFrom}`
}

async function stateOf({ db }: Store): Promise<string> {
  try {
    const { size_bytes, migrations, due } = await examine(db)
    const missing = migrations.filter(({ applied_at }) => applied_at === null).length
    if (missing > 0) return `lacks ${missing} migrations: run "wakeful migrate up"`
    const lag = Math.max(0, ...due.map(({ lag_ms }) => lag_ms))
    return `${Math.round(size_bytes / 1e6)} MB, ${Math.round(lag)} ms behind`
  } catch (error) {
    return isUnavailable(error) ? 'away' : errorText(error, 200)
  }
}

/** Shares for all while nobody is there; else they wait to be split into. */
async function add(stores: PerShard<Store>): Promise<void> {
  const { all, home } = stores
  for (const [number, { migrations }] of all.entries()) {
    await ensureMigrated(migrations, 'auto')
    await agreeOnShard(stores, number)
  }
  const people = await Promise.all(all.map(({ migrations }) => holdsPeople(migrations)))
  if (people.includes(true))
    return say(
      `${all.length} shards are there; "wakeful shards split <shard>" moves people into the new ones`,
    )
  await home.migrations.tx(async (tx) => {
    await holdMap(tx)
    await forgetShards(tx)
    await addShards(
      tx,
      evenRanges(all.length).map((range) => ({ ...range, splitsFrom: null })),
    )
  })
  say(`${all.length} shards, each with its share of the buckets`)
}

async function split(stores: PerShard<Store>, number: number): Promise<void> {
  const began = performance.now()
  const { rows } = await splitShard(stores, number, { wait: (ms) => wait(ms), told: say })
  say(`done: ${rows} rows in ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

async function move(stores: PerShard<Store>, number: number, to: string): Promise<void> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(to) ?? []
  if (host === undefined || port === undefined) throw new UsageError('--to takes host:port')
  const store = stores.all[number]
  if (store === undefined) throw new UsageError(`WAKEFUL_SHARDS names no shard ${number}`)
  await moveSchema(store.migrations, host, Number(port), { wait: (ms) => wait(ms), told: say })
  say(`shard ${number} is on ${to}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function withStores(
  work: (stores: PerShard<Store>, urls: readonly string[]) => Promise<void>,
): Promise<void> {
  const { shards } = readConfig(environment())
  const stores = await openStores(shards, { now: () => null, onError: () => undefined })
  try {
    await work(stores, shards)
  } finally {
    await Promise.all(stores.all.map((store) => store.close()))
  }
}
