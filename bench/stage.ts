/** What all benchmarks share: a durable PostgreSQL of their own, an app on it, and how figures are printed. */
import pg from 'pg'
import { pino } from 'pino'
import type { Agent } from '../src/agents/agent.ts'
import { App } from '../src/app/app.ts'
import { readConfig } from '../src/app/packs.ts'
import type { PushChannel } from '../src/kernel/channel.ts'
import { type RunningServer, startPostgres } from '../test/setup/server.ts'

/** Durable: fsync and synchronous_commit stay on, as a careful operator would run it. */
const SETTINGS = ['shared_buffers=512MB', 'max_wal_size=4GB', 'fsync=on', 'synchronous_commit=on']

/** A server without a database: the one that `BENCH_SERVER` names (`postgres://user:password@host:port`), else a fresh one. */
export async function postgresServer(): Promise<Pick<RunningServer, 'base' | 'stop'>> {
  const given = process.env.BENCH_SERVER
  return given === undefined ? startPostgres(SETTINGS) : { base: given, stop: async () => {} }
}

export async function postgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await postgresServer()
  const name = `wakeful_bench_${process.pid}`
  const admin = async (sql: string) => {
    const client = new pg.Client({ connectionString: `${server.base}/postgres` })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  await admin(`create database ${name}`)
  const stop = async () => {
    await admin(`drop database ${name} with (force)`)
    await server.stop()
  }
  return { url: `${server.base}/${name}`, stop }
}

export async function openBenchApp(
  url: string,
  agents: Record<string, Agent>,
  env: Record<string, string> = {},
  channels: readonly PushChannel[] = [],
): Promise<App> {
  const config = readConfig({ DATABASE_URL: url, PORT: '0', LOG_LEVEL: 'error', ...env })
  return App.open({
    config,
    agents: new Map(Object.entries(agents)),
    channels,
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

export function flag(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
