/**
 * One suite, several stores. `eachStore` runs its body once for PGlite and, but for quick runs, once for a database of
 * its own on the PostgreSQL that the global setup started; a part of the suite, or all of it on request, also on three shards.
 */
import pg from 'pg'
import { afterAll, describe, inject } from 'vitest'
import type { App } from '../../src/app/app.ts'
import { newId } from '../../src/core/ids.ts'
import { emptyCitus } from './citus.ts'
import { copyOfTemplate } from './postgres.ts'

export type StoreName = 'pglite' | 'postgres' | 'shards' | 'citus'

declare module 'vitest' {
  interface ProvidedContext {
    /** Which of them this run is about, by its configuration. */
    stores: StoreName[]
  }
}

export interface StoreUnderTest {
  readonly name: StoreName
  /** A fresh, migrated database; dropped when the suite ends. */
  database(): Promise<string>
}

async function admin<T>(
  work: (client: pg.Client) => Promise<T>,
  server = inject('postgres'),
): Promise<T> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A copy of the migrated template; what is made inside a suite is dropped with it. */
export async function postgresDatabase(made: string[] = []): Promise<string> {
  const url = await copyOfTemplate(inject('postgres'))
  made.push(url.slice(url.lastIndexOf('/') + 1))
  return url
}

export async function dropDatabases(made: readonly string[]): Promise<void> {
  if (made.length === 0) return
  const drop = async (client: pg.Client) => {
    for (const name of made) await client.query(`drop database if exists ${name} with (force)`)
  }
  await admin(drop)
  if (inject('stores').includes('shards')) await admin(drop, inject('otherServer'))
}

/** By the address of the first: where each shard is. */
const sharded = new Map<string, readonly string[]>()

/** Three shards, two of them on one server. Answers with the address of the first. */
export async function shardedDatabase(made: string[] = []): Promise<string> {
  const name = `t_${newId().replaceAll('-', '')}`
  const copy = (client: pg.Client) =>
    client.query(`create database ${name} template template_shards strategy file_copy`)
  await Promise.all([admin(copy), admin(copy, inject('otherServer'))])
  made.push(name)
  const [here, there] = [inject('postgres'), inject('otherServer')].map((at) => `${at}/${name}`)
  sharded.set(String(here), [String(here), String(here), String(there)])
  return String(here)
}

/** Four shards behind the coordinator, spread over its nodes. There is one such database: a new one ends the last. */
async function citusDatabase(): Promise<string> {
  const url = await emptyCitus()
  sharded.set(url, [url, url, url, url])
  return url
}

/** The settings by which an app finds this database, with all of its shards. */
export function databaseEnv(database: string): Record<string, string> {
  const shards = sharded.get(database)
  return {
    DATABASE_URL: database,
    ...(shards === undefined ? {} : { WAKEFUL_SHARDS: shards.join(' ') }),
  }
}

const MAKERS: Record<StoreName, (made: string[]) => Promise<string>> = {
  pglite: async () => 'memory:',
  postgres: postgresDatabase,
  shards: shardedDatabase,
  citus: citusDatabase,
}

const INSERTS = /^\s*(?:with\b[\s\S]*)?\binsert into\b/i

/** Asks every shard. Where each has one row of numbers, as a count has, these are added up. Rows are put into the first. */
export async function queryAll<R extends object>(
  { stores }: Pick<App, 'stores'>,
  text: string,
  values?: readonly unknown[],
): Promise<R[]> {
  if (INSERTS.test(text)) return stores.home.db.query<R>(text, values)
  const answers = await Promise.all(stores.all.map(({ db }) => db.query<R>(text, values)))
  const counts = stores.several && answers.every((rows) => rows.length === 1 && isCount(rows[0]))
  if (!counts) return answers.flat()
  return [answers.flat().reduce((sum, row) => added(sum, row))]
}

function isCount(row: object | undefined): boolean {
  return Object.values(row ?? {}).every((value) => typeof value === 'number')
}

function added<R extends object>(a: R, b: R): R {
  const other = b as Record<string, number>
  const sums = Object.entries(a).map(([name, value]) => [name, value + (other[name] ?? 0)])
  return Object.fromEntries(sums) as R
}

export async function execAll({ stores }: Pick<App, 'stores'>, text: string): Promise<void> {
  await Promise.all(stores.all.map(({ db }) => db.exec(text)))
}

export function eachStore(title: string, body: (store: StoreUnderTest) => void): void {
  onStores(inject('stores'), title, body)
}

/** For what takes long and is the same whatever the store. */
export function oneStore(title: string, body: (store: StoreUnderTest) => void): void {
  onStores(inject('stores').slice(0, 1), title, body)
}

function onStores(
  names: readonly StoreName[],
  title: string,
  body: (store: StoreUnderTest) => void,
): void {
  describe.each(names)(`${title} on %s`, (name) => {
    const made: string[] = []
    afterAll(() => dropDatabases(made))
    body({ name, database: () => MAKERS[name](made) })
  })
}
