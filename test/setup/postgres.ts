/**
 * One real PostgreSQL for the whole run, started here and nowhere else, with a template database that
 * holds the schema. Test files copy the template (0.02 s) instead of migrating.
 */
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { newId } from '../../src/core/ids.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openServer } from '../../src/store/postgres.ts'
import { schemaOf } from '../../src/store/shards/ranges.ts'
import { startPostgres } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgres: string
    /** Where some of the shards are. */
    otherServer: string
  }
}

/** Nothing of it has to outlive a crash of the machine. */
export const SETTINGS = [
  ...['max_connections=200', 'shared_buffers=256MB', 'max_wal_size=256MB'],
  // On, as a careful operator has it, and hardly ever: it would visit hundreds of databases that live for seconds.
  'autovacuum_naptime=1h',
  ...['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0'],
]

/** A database that holds these schemas, to be copied. */
export async function makeTemplate(
  base: string,
  name = 'template_wakeful',
  shards: readonly number[] = [0],
): Promise<void> {
  const client = new pg.Client({ connectionString: `${base}/postgres` })
  await client.connect()
  await client.query(`drop database if exists ${name}`)
  await client.query(`create database ${name}`)
  await client.end()
  const server = openServer(`${base}/${name}`, { now: () => null, onError: () => undefined })
  const stores = shards.map((number) => server.store(schemaOf(number)))
  for (const { migrations } of stores) await migrateUp(migrations)
  await Promise.all(stores.map((store) => store.close()))
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
  if (!project.vitest.projects.some(({ name }) => name === 'shards')) return () => server.stop()
  const other = await startPostgres(SETTINGS)
  await makeTemplate(server.base, 'template_shards', [0, 1])
  await makeTemplate(other.base, 'template_shards', [2])
  project.provide('otherServer', other.base)
  return async () => {
    await Promise.all([server.stop(), other.stop()])
  }
}
