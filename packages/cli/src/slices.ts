/** `wakeful slices status|add|split|move`: where people's rows are, and moving them. Works on the databases of WAKEFUL_SLICES themselves. */
import { setTimeout as wait } from 'node:timers/promises'
import { Command } from 'commander'
import { readConfig } from '../../../src/app/packs.ts'
import { agreeOnSlice, openStores } from '../../../src/app/slices.ts'
import { splitSlice } from '../../../src/app/split.ts'
import { environment } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import { evenRanges, type Sliced } from '../../../src/core/slices/slices.ts'
import { isUnavailable } from '../../../src/store/db/db.ts'
import { examine } from '../../../src/store/db/doctor.ts'
import { ensureMigrated } from '../../../src/store/db/migrate.ts'
import type { Store } from '../../../src/store/db/open.ts'
import { moveSchema } from '../../../src/store/slices/citus.ts'
import {
  addSlices,
  forgetSlices,
  holdMap,
  holdsPeople,
  type KeptSlice,
  readSlices,
} from '../../../src/store/slices/map.ts'
import { UsageError } from './exit.ts'

export function slicesCommand(): Command {
  const slices = new Command('slices').description('where the rows of people are, and moving them')
  slices
    .command('status')
    .description('each slice: its place, its buckets, and how it is')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      withStores((stores, urls) => status(stores, urls, options)),
    )
  slices
    .command('add')
    .description(
      'take further slices of WAKEFUL_SLICES in; with shares of their own while nobody is there',
    )
    .action(() => withStores(add))
  slices
    .command('split')
    .description(
      'move the upper half of a slice to the next one that has nobody; asked again, it goes on',
    )
    .argument('<slice>', 'its number')
    .action((number: string) => withStores((stores) => split(stores, numberOf(number))))
  slices
    .command('move')
    .description('on Citus: move a slice to another node while it works')
    .argument('<slice>', 'its number')
    .requiredOption('--to <host:port>', 'a node of the cluster')
    .action((number: string, { to }: { to: string }) =>
      withStores((stores) => move(stores, numberOf(number), to)),
    )
  return slices
}

function numberOf(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text)
  throw new UsageError(`a slice is a number as "wakeful slices status" shows it, got ${text}`)
}

interface Seen {
  readonly slice: number
  readonly place: string
  readonly buckets: string
  readonly state: string
}

async function status(
  { all, home }: Sliced<Store>,
  urls: readonly string[],
  { json }: { json?: boolean },
): Promise<void> {
  const kept = await readSlices(home.db)
  const seen = await Promise.all(
    all.map(async (store, slice): Promise<Seen> => {
      const buckets = bucketsOf(kept, slice)
      return {
        slice,
        place: placeOf(urls[slice] ?? '', store),
        buckets,
        state: await stateOf(store),
      }
    }),
  )
  if (json) return say(JSON.stringify(seen))
  for (const { slice, place, buckets, state } of seen)
    say(`slice ${slice}  ${place}  ${buckets.padEnd(24)}  ${state}`)
}

/** Without whatever is secret in it. */
function placeOf(url: string, { schema }: Store): string {
  const { hostname, port, pathname } = new URL(url.replace(/^[a-z]+:/, 'http:'))
  return `${hostname}${port === '' ? '' : `:${port}`}${pathname} ${schema}`
}

function bucketsOf(kept: readonly KeptSlice[], slice: number): string {
  if (kept.length === 0) return slice === 0 ? 'buckets 0 to 1023' : 'nobody yet'
  const own = kept.find(({ number }) => number === slice)
  if (own === undefined) return 'nobody yet'
  const range = `buckets ${own.first} to ${own.last}`
  return own.splitsFrom === null ? range : `${range}, on their way from slice ${own.splitsFrom}`
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
async function add(stores: Sliced<Store>): Promise<void> {
  const { all, home } = stores
  for (const [number, { migrations }] of all.entries()) {
    await ensureMigrated(migrations, 'auto')
    await agreeOnSlice(stores, number)
  }
  const people = await Promise.all(all.map(({ migrations }) => holdsPeople(migrations)))
  if (people.includes(true))
    return say(
      `${all.length} slices are there; "wakeful slices split <slice>" moves people into the new ones`,
    )
  await home.migrations.tx(async (tx) => {
    await holdMap(tx)
    await forgetSlices(tx)
    await addSlices(
      tx,
      evenRanges(all.length).map((range) => ({ ...range, splitsFrom: null })),
    )
  })
  say(`${all.length} slices, each with its share of the buckets`)
}

async function split(stores: Sliced<Store>, number: number): Promise<void> {
  const began = performance.now()
  const { rows } = await splitSlice(stores, number, { wait: (ms) => wait(ms), told: say })
  say(`done: ${rows} rows in ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

async function move(stores: Sliced<Store>, number: number, to: string): Promise<void> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(to) ?? []
  if (host === undefined || port === undefined) throw new UsageError('--to takes host:port')
  const store = stores.all[number]
  if (store === undefined) throw new UsageError(`WAKEFUL_SLICES names no slice ${number}`)
  await moveSchema(store.migrations, host, Number(port), { wait: (ms) => wait(ms), told: say })
  say(`slice ${number} is on ${to}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function withStores(
  work: (stores: Sliced<Store>, urls: readonly string[]) => Promise<void>,
): Promise<void> {
  const { slices } = readConfig(environment())
  const stores = await openStores(slices, { now: () => null, onError: () => undefined })
  try {
    await work(stores, slices)
  } finally {
    await Promise.all(stores.all.map((store) => store.close()))
  }
}
