/** Bare stores, without an engine around them, closed when their test ends. */
import pg from 'pg'
import { inject } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { type OpenOptions, openStore, type Store } from '../../src/store/open.ts'
import { afterEachFile, afterEachTest } from '../setup/ends.ts'
import { dropDatabases, type StoreUnderTest } from '../setup/stores.ts'

const open = new Set<Store>()
const made: string[] = []
afterEachTest(async () => {
  await Promise.all([...open].map((store) => store.close()))
  open.clear()
  await dropDatabases(made.splice(0))
})

interface Shared {
  readonly store: Store
  now: () => Date | null
}
const shared = new Map<string, Shared>()
afterEachFile(async () => {
  await Promise.all([...shared.values()].map(({ store }) => store.close()))
  shared.clear()
})

/** One store for the whole file, emptied for each test: opening an embedded one costs a second. */
export async function emptiedStore(
  under: StoreUnderTest,
  now: () => Date | null = () => null,
): Promise<Store> {
  const known = shared.get(under.name) ?? (await openShared(under))
  known.now = now
  const { db } = known.store
  const tables = await db.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'wakeful' and tablename <> 'migrations'`,
  )
  if (tables.length > 0)
    await db.exec(`truncate ${tables.map(({ name }) => `wakeful.${name}`).join(', ')}`)
  return known.store
}

async function openShared(under: StoreUnderTest): Promise<Shared> {
  const made: Shared = {
    now: () => null,
    store: await openStore(await under.database(), {
      now: () => made.now(),
      onError: () => undefined,
    }),
  }
  await migrateUp(made.store.db)
  shared.set(under.name, made)
  return made
}

/** Migrated, and without a voice unless the test brings one. */
export async function bareStore(url: string, options: Partial<OpenOptions> = {}): Promise<Store> {
  const store = await rawStore(url, options)
  await migrateUp(store.db)
  return store
}

/** As it is found: perhaps not migrated, perhaps away. */
export async function rawStore(url: string, options: Partial<OpenOptions> = {}): Promise<Store> {
  const store = await openStore(url, { now: () => null, onError: () => undefined, ...options })
  open.add(store)
  return store
}

/** A PostgreSQL database with nothing in it. */
export async function emptyDatabase(how = ''): Promise<string> {
  const name = `t_${newId().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: `${inject('postgres')}/postgres` })
  await client.connect()
  await client.query(`create database ${name} ${how} template template0`)
  await client.end()
  made.push(name)
  return `${inject('postgres')}/${name}`
}

/** A connection of the test's own, beside those of the store. */
export async function beside<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
