/**
 * One real PostgreSQL for the whole run, started here and nowhere else, with a template database that
 * holds the schema. Test files copy the template (0.02 s) instead of migrating.
 */
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { newId } from '../../src/core/ids.ts'
import { migrateUp } from '../../src/store/db/migrate.ts'
import { openStore } from '../../src/store/db/open.ts'
import { startPostgres } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgres: string
  }
}

/** Nothing of it has to outlive a crash of the machine. */
export const SETTINGS = [
  ...['max_connections=200', 'shared_buffers=256MB', 'max_wal_size=256MB'],
  ...['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0'],
]

export async function makeTemplate(base: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${base}/postgres` })
  await client.connect()
  await client.query('drop database if exists template_wakeful')
  await client.query('create database template_wakeful')
  await client.end()
  const store = await openStore(`${base}/template_wakeful`, {
    now: () => null,
    onError: () => undefined,
  })
  await migrateUp(store.migrations)
  await store.close()
}

/** A fresh, migrated database; answers with its address. */
export async function copyOfTemplate(base: string): Promise<string> {
  const name = `t_${newId().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: `${base}/postgres` })
  await client.connect()
  await client.query(`create database ${name} template template_wakeful strategy file_copy`)
  await client.end()
  return `${base}/${name}`
}

/** `WAKEFUL_TEST_POSTGRES=postgres://user:password@host:port` takes a server of another version instead of our own. */
export default async function setup(project: TestProject) {
  const given = process.env.WAKEFUL_TEST_POSTGRES
  const server =
    given === undefined
      ? await startPostgres(SETTINGS)
      : { base: given, stop: async () => undefined }
  await makeTemplate(server.base)
  project.provide('postgres', server.base)
  return () => server.stop()
}
