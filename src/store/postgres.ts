/**
 * A PostgreSQL server as the store. Several pools, so that a flood of API calls can never take the
 * connections of the engine, and the commits of turns run beside the claims (measured: twice the
 * turns per second compared with one shared pool).
 */
import pg from 'pg'
import type { OpenOptions, Store } from './open.ts'
import { columnTypes, poolDb } from './pool.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A half-open connection is noticed when a statement has had no answer for this long. */
const QUERY_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 60_000
const POOL_MAX = { api: 8, engine: 4, commits: 4, migrations: 1 } as const

function config(url: string): pg.PoolConfig {
  return {
    connectionString: url,
    types: columnTypes,
    application_name: 'wakeful',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
  }
}

export function openPostgres(url: string, options: OpenOptions): Store {
  const pools = Object.entries(POOL_MAX).map(([name, max]) => {
    // A migration may take its time; nothing else may.
    const patience = name === 'migrations' ? { query_timeout: 0 } : {}
    const pool = new pg.Pool({ ...config(url), ...patience, max })
    // An idle client that breaks is dropped by the pool; without a listener it would end the process.
    pool.on('error', options.onError)
    return { name, pool }
  })
  const [api, engine, commits, migrations] = pools.map(({ pool }) =>
    poolDb(pool, 'postgres', options.now),
  )
  if (!api || !engine || !commits || !migrations) throw new Error('a pool is missing')
  let closing: Promise<void> | undefined
  return {
    kind: 'postgres',
    db: api,
    engine,
    commits,
    migrations,
    listen: () =>
      new pg.Client({ ...config(url), query_timeout: CONNECT_TIMEOUT_MS } as pg.ClientConfig),
    pools: () =>
      pools.map(({ name, pool }) => ({
        name,
        total: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      })),
    close: () => (closing ??= Promise.all(pools.map(({ pool }) => pool.end())).then(() => {})),
  }
}
