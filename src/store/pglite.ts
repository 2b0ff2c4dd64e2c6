/**
 * The embedded store: PGlite behind a pool of one. The directory is locked before it is opened, a
 * first start unpacks a prepared directory instead of running initdb (1 s instead of 5 s), marked as
 * unfinished until it is done, so that a start killed half-way leaves nothing that looks finished.
 */

import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { brotliDecompress, createBrotliDecompress } from 'node:zlib'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import pg from 'pg'
import { errorText } from '../core/errors.ts'
import { ROOT } from '../root.ts'
import { SCHEMA } from './db.ts'
import { lockDirectory } from './lock.ts'
import { ConnectionHealth, type OpenOptions, type Store } from './open.ts'
import { columnTypes, poolDb, surviveBreaks } from './pool.ts'
import { StoreTime } from './query.ts'
import { CONNECTION, FORMATS, SHARED } from './reading.ts'
import { unpackTar } from './tar.ts'

/** The PostgreSQL major version inside the pinned PGlite. */
const MAJOR = '18'
/** Beyond this wait for the one connection, somebody used the pool inside a transaction. */
const CONNECT_TIMEOUT_MS = 60_000
/** Held in memory from the start, all of it, where PostgreSQL's own default is 128 MB. What is not there is read from the system's cache. */
const BUFFERS = '32MB'
/**
 * How much a function of WebAssembly runs before V8 compiles it once more, with all its art: far more than in Node 20, where
 * a start spent almost half of its CPU time on functions that it needs a few times. Under load the same ones are compiled some seconds later.
 */
const COMPILED_ONCE_MORE = 300_000_000
/** The same for who has much to do at once and nothing to do later. */
export const COMPILED_SOON = 100_000
/**
 * From this V8 on (Node 24) compiling one function of PostgreSQL once more takes 600 MB, 25 in Node 22, and it is among the first. There
 * all are compiled once: a process under load has 430 MB at most instead of 860, and takes 7 % more CPU time for each message.
 */
const V8_COMPILES_ONCE = 13

export async function openPglite(directory: string | null, options: OpenOptions): Promise<Store> {
  const path = directory === null ? null : realPath(resolve(directory))
  const unlock = path === null ? () => {} : lockDirectory(path)
  try {
    const lite = path === null ? await openMemory() : await openDirectory(path)
    const end = async () => {
      await lite.close()
      unlock()
    }
    return embeddedStore(
      { wire: () => new PgliteSocket((bytes) => answered(lite, bytes)) },
      end,
      options,
    )
  } catch (error) {
    unlock()
    throw error
  }
}

/** As it comes: asked for as a whole, PGlite would read the answer, too. There is nothing to write out: its files are the system's. */
export async function answered(lite: PGlite, bytes: Uint8Array): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  const onRawData = (part: Uint8Array) => void parts.push(part.slice())
  await lite.execProtocolRawStream(bytes, { syncToFs: false, onRawData })
  const [only] = parts
  return parts.length === 1 && only ? only : Buffer.concat(parts)
}

/** One directory has one lock, whatever link leads to it; nor does PGlite follow links. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

/** The one session of an embedded database, shared by all connections. */
export interface Session {
  wire(): PgliteSocket
  readonly onClient?: (client: pg.Client) => void
}

export interface EmbeddedOptions extends OpenOptions {
  /** Nobody reads otherwise than the engine, and nothing outlasts the process, so that no commit need be written out. */
  readonly ordered?: boolean
  /** Another client has opened this session, and what it has prepared stays. */
  readonly joins?: boolean
}

/** A store over the one connection there is to an embedded database; `end` closes that. */
export function embeddedStore(
  session: Session,
  end: () => Promise<unknown>,
  { now, onError, ordered = false, joins = false, schema = SCHEMA }: EmbeddedOptions,
): Store {
  const mode = new ConnectionMode()
  const pool = new pg.Pool({
    stream: () => session.wire(),
    ssl: false,
    user: 'postgres',
    database: 'postgres',
    onConnect: async (client: pg.Client) => {
      // Statements that a client before this one has prepared are still there.
      if (!joins) await client.query('discard all')
      await client.query(FORMATS.own)
      if (ordered) await client.query(CONNECTION['in order'])
      mode.begin(ordered)
      session.onClient?.(client)
    },
    types: columnTypes,
    max: 1,
    // There is nothing to free: it would be the same connection again.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  } as unknown as pg.PoolConfig)
  pool.on('error', onError)
  surviveBreaks(pool)
  const pulse = new ConnectionHealth()
  const time = new StoreTime(now)
  const view = (ordered: boolean) =>
    poolDb(pool, {
      ...{ kind: 'pglite', time, schema, pulse, reading: ordered ? 'in order' : undefined },
      settle: (client) => mode.become(ordered, client),
    })
  const [db, engine] = [view(ordered), view(true)]
  let closing: Promise<void> | undefined
  const close = async () => {
    await pool.query('checkpoint').catch(onError)
    await pool.end()
    await end()
  }
  return {
    kind: 'pglite',
    schema,
    db: { ...db, inOrder: engine },
    engine,
    commits: engine,
    migrations: db,
    pulse,
    // One process and one connection: in-process hints reach everybody there is.
    listen: null,
    join: null,
    pools: () => [
      { name: 'store', total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount },
    ],
    close: () => (closing ??= close()),
  }
}

/**
 * How the one connection reads now. On a server requests, claims and commits have connections of their own, each planned for what it
 * does; here the next user sets how it reads, if that differs. The engine's statements are thus planned once:
 * with a plan again for each, a message took half as much CPU time again.
 */
class ConnectionMode {
  #ordered = false

  begin(ordered: boolean): void {
    this.#ordered = ordered
  }

  async become(ordered: boolean, client: pg.PoolClient): Promise<void> {
    if (ordered === this.#ordered) return
    await client.query(SHARED[ordered ? 'in order' : 'as planned'])
    this.#ordered = ordered
  }
}

/**
 * Opens what is there, or prepares it. While a first start is unpacking, a file beside the directory says so:
 * a start that finds that file begins again. Nothing is lost, since nothing was accepted before the file was removed.
 */
async function openDirectory(path: string): Promise<PGlite> {
  const unfinished = `${path}.unfinished`
  if (existsSync(unfinished)) rmSync(path, { recursive: true, force: true })
  const version = `${path}/PG_VERSION`
  if (existsSync(version)) {
    const found = readFileSync(version, 'utf8').trim()
    if (found !== MAJOR) throw new Error(otherVersion(path, found))
    return openLite({ dataDir: path }).catch((error: unknown) => {
      // What the database itself says there is a line for those who built it.
      throw new Error(
        `${path} could not be opened, its files may be damaged: keep a copy of it, and restore a backup (${errorText(error, 200)})`,
        { cause: error },
      )
    })
  }
  if (existsSync(path) && readdirSync(path).length > 0) {
    throw new Error(
      `${path} is not empty and holds no database: choose an empty or new directory with DATABASE_URL=pglite:<dir>`,
    )
  }
  await mkdir(dirname(path), { recursive: true })
  writeFileSync(unfinished, '')
  // Unpacked by us and then opened as any other, instead of file by file through the file system of PGlite.
  const parts = await preparedParts()
  if (parts !== null) await unpackTar(parts, path)
  const lite = await openLite({ dataDir: path })
  rmSync(unfinished)
  return lite
}

export async function openMemory(buffers?: string, budget?: number): Promise<PGlite> {
  const loadDataDir = await preparedBlob()
  return openLite(loadDataDir === null ? {} : { loadDataDir }, buffers, budget)
}

function openLite(
  options: PGliteOptions,
  buffers = BUFFERS,
  budget = COMPILED_ONCE_MORE,
): Promise<PGlite> {
  const startParams = [...PGlite.defaultStartParams, '-c', `shared_buffers=${buffers}`]
  return sparingly(() => PGlite.create({ ...options, startParams }), budget)
}

/** Has V8 compile the embedded database as the figures above say, in whatever thread `open` does it. */
async function sparingly<T>(open: () => Promise<T>, budget: number): Promise<T> {
  const once = Number.parseInt(process.versions.v8, 10) >= V8_COMPILES_ONCE
  setFlagsFromString(`--wasm-tiering-budget=${budget}`)
  if (once) setFlagsFromString('--no-wasm-tier-up')
  if (once) setFlagsFromString('--no-wasm-dynamic-tiering')
  try {
    return await open()
  } finally {
    // Read when a module is made: those of others in this process are compiled as ever.
    if (once) setFlagsFromString('--wasm-dynamic-tiering')
    setFlagsFromString(`--wasm-tiering-budget=${COMPILED_ONCE_MORE}`)
  }
}

function otherVersion(path: string, found: string): string {
  return (
    `${path} was written by PostgreSQL ${found}, this version of Wakeful embeds ${MAJOR}: ` +
    `open it with the Wakeful version that wrote it, export with pg_dump to a PostgreSQL server, ` +
    `and start with DATABASE_URL=postgres://… or an empty directory`
  )
}

// As a socket to `pg`: bytes of PostgreSQL's protocol go to an embedded database and back, one write at a time.

/** The first byte of the message that ends a connection. */
const GOODBYE = 'X'.charCodeAt(0)

export class PgliteSocket extends Duplex {
  readonly #ask: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>

  /** `ask` answers what was written, all of it. */
  constructor(ask: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>) {
    super()
    this.#ask = ask
  }

  connect(): void {
    process.nextTick(() => this.emit('connect'))
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _: string, written: (error?: Error | null) => void): void {
    // Closing the socket does not close the database.
    if (chunk[0] === GOODBYE) {
      written()
      return
    }
    this.#ask(new Uint8Array(chunk)).then(
      ({ buffer, byteOffset, byteLength }) => {
        this.push(Buffer.from(buffer, byteOffset, byteLength))
        written()
      },
      (error: Error) => written(error),
    )
  }

  override _writev(chunks: { chunk: Buffer }[], written: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), '', written)
  }
}

// The directory of a database that was prepared when we were built, as a tar: what a first start begins with. Null without one.
const PREPARED = `${ROOT}dist/prepared.tar.br`
const PART_BYTES = 1 << 20
const decompressed = promisify(brotliDecompress)

/** One after the other: all of it at once is more than a small server has to spare. */
export async function preparedParts(): Promise<AsyncIterable<Buffer> | null> {
  if (!existsSync(PREPARED)) return null
  const parts = createBrotliDecompress({ chunkSize: PART_BYTES })
  parts.end(await readFile(PREPARED))
  return parts
}

export async function preparedBlob(): Promise<Blob | null> {
  if (!existsSync(PREPARED)) return null
  return new Blob([await decompressed(await readFile(PREPARED))])
}
