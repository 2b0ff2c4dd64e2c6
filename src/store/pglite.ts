/**
 * The embedded store: PGlite behind a pool of one. The directory is locked before it is opened, a
 * first start unpacks a prepared directory instead of running initdb (1 s instead of 5 s), and that
 * happens beside the final place, so that a start killed half-way leaves nothing that looks finished.
 */
import { existsSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { createPgConfig } from '@electric-sql/pglite/node-postgres'
import pg from 'pg'
import { lockDirectory } from './lock.ts'
import type { OpenOptions, Store } from './open.ts'
import { columnTypes, poolDb } from './pool.ts'

/** The PostgreSQL major version inside the pinned PGlite. */
const MAJOR = '18'
/** Beyond this wait for the one connection, somebody used the pool inside a transaction. */
const CONNECT_TIMEOUT_MS = 60_000
const PREPARED = fileURLToPath(new URL('../../dist/prepared.tar.gz', import.meta.url))

export async function openPglite(directory: string | null, options: OpenOptions): Promise<Store> {
  const path = directory === null ? null : realPath(resolve(directory))
  const unlock = path === null ? () => {} : lockDirectory(path)
  try {
    if (path !== null) await settleDirectory(path)
    const lite = path === null ? await unpack(undefined) : await PGlite.create({ dataDir: path })
    return pgliteStore(lite, unlock, options)
  } catch (error) {
    unlock()
    throw error
  }
}

/** One directory has one lock, whatever link leads to it; nor does PGlite follow links. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

function pgliteStore(lite: PGlite, unlock: () => void, options: OpenOptions): Store {
  const pool = new pg.Pool({
    ...createPgConfig(lite),
    types: columnTypes,
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  } as unknown as pg.PoolConfig)
  pool.on('error', options.onError)
  const db = poolDb(pool, 'pglite', options.now)
  let closing: Promise<void> | undefined
  const close = async () => {
    await pool.query('checkpoint').catch(options.onError)
    await pool.end()
    await lite.close()
    unlock()
  }
  return {
    kind: 'pglite',
    db,
    engine: db,
    commits: db,
    migrations: db,
    // One process and one connection: in-process hints reach everybody there is.
    listen: null,
    pools: () => [
      { name: 'store', total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount },
    ],
    close: () => (closing ??= close()),
  }
}

/** Leaves `path` either absent-and-then-prepared or holding a directory this PGlite can open. */
async function settleDirectory(path: string): Promise<void> {
  sweepUnfinished(path)
  const version = `${path}/PG_VERSION`
  if (existsSync(version)) {
    const found = readFileSync(version, 'utf8').trim()
    if (found !== MAJOR) throw new Error(otherVersion(path, found))
    return
  }
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new Error(
      `${path} is not empty and holds no database: choose an empty or new directory with DATABASE_URL=pglite:<dir>`,
    )
  }
  await mkdir(dirname(path), { recursive: true })
  const unfinished = `${path}.unfinished-${process.pid}`
  await (await unpack(unfinished)).close()
  rmSync(path, { recursive: true, force: true })
  renameSync(unfinished, path)
}

/** What a killed first start left behind; we hold the lock, so nobody is still at it. */
function sweepUnfinished(path: string): void {
  const parent = dirname(path)
  if (!existsSync(parent)) return
  for (const name of readdirSync(parent)) {
    const full = `${parent}/${name}`
    if (full.startsWith(`${path}.unfinished-`)) rmSync(full, { recursive: true, force: true })
  }
}

async function unpack(dataDir: string | undefined): Promise<PGlite> {
  const prepared = existsSync(PREPARED) ? new Blob([readFileSync(PREPARED)]) : undefined
  return PGlite.create({
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(prepared === undefined ? {} : { loadDataDir: prepared }),
  })
}

function otherVersion(path: string, found: string): string {
  return (
    `${path} was written by PostgreSQL ${found}, this version of Wakeful embeds ${MAJOR}: ` +
    `open it with the Wakeful version that wrote it, export with pg_dump to a PostgreSQL server, ` +
    `and start with DATABASE_URL=postgres://… or an empty directory`
  )
}
