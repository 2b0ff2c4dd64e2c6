/**
 * One suite, two stores. `eachStore` runs its body once for PGlite and, but for quick runs, once for a database of
 * its own on the PostgreSQL that the global setup started.
 */
import pg from 'pg'
import { afterAll, describe, inject } from 'vitest'
import { copyOfTemplate } from './postgres.ts'

export type StoreName = 'pglite' | 'postgres'

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

async function admin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: `${inject('postgres')}/postgres` })
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
  await admin(async (client) => {
    for (const name of made) await client.query(`drop database if exists ${name} with (force)`)
  })
}

export function eachStore(title: string, body: (store: StoreUnderTest) => void): void {
  describe.each(inject('stores'))(`${title} on %s`, (name) => {
    const made: string[] = []
    afterAll(() => dropDatabases(made))
    body({ name, database: async () => (name === 'pglite' ? 'memory:' : postgresDatabase(made)) })
  })
}
