/**
 * A PostgreSQL server as the store. Several pools, so that a flood of API calls can never take the
 * connections of the engine, and the commits of turns run beside the claims (measured: twice the
 * turns per second compared with one shared pool).
 */
import pg from 'pg'
import { type Db, type Reading, SCHEMA } from './db.ts'
import { joinOf } from './joined.ts'
import { ConnectionHealth, type OpenOptions, type Store } from './open.ts'
import { columnTypes, poolDb, surviveBreaks } from './pool.ts'
import { StoreTime } from './query.ts'
import { CONNECTION, FORMATS } from './reading.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A half-open connection is noticed when a statement has had no answer for this long. */
const QUERY_TIMEOUT_MS = 10_000
/** The server gives up sooner, so that a statement does not wait for a lock after its caller has left. */
const STATEMENT_TIMEOUT_MS = 9_000
const IDLE_TIMEOUT_MS = 60_000
const POOLS: readonly { name: string; max: number; reading?: Reading }[] = [
  { name: 'api', max: 8 },
  { name: 'lists', max: 4, reading: 'in order' },
  { name: 'engine', max: 6, reading: 'in order' },
  { name: 'commits', max: 4, reading: 'by key' },
  // Two, since a split writes into one shard while it holds another.
  { name: 'migrations', max: 2 },
]

/**
 * Set in the address where a pooler in transaction mode stands before the database, as for other clients. Then
 * nothing outlives its transaction on a connection, which the next one may belong to somebody else: no settings, no named statements,
 * no LISTEN. Everything said for the connection here is said in each transaction there (`due.ts`).
 */
const POOLED = /[?&]pgbouncer=true(?:&|$)/

/** Said in the address as Citus itself wants it said: our schemas are spread over its nodes. */
const SPREAD = /citus\.enable_schema_based_sharding(?:=|%3D)on\b/i
export const isSpread = (url: string): boolean => SPREAD.test(url)

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

/** One server, and the schemas on it that are stores of ours. */
export interface Server {
  /** `home`: shard 0, where this is another. The connections close with the last store. */
  store(schema: string, home?: Db): Store
}

export function openServer(url: string, options: OpenOptions): Server {
  const pulse = new ConnectionHealth()
  const time = new StoreTime(options.now)
  const pooled = POOLED.test(url)
  const spread = isSpread(url)
  const pools = POOLS.map(({ name, max, reading: wanted }) => {
    // What is said for a connection to the coordinator of Citus, its connections to the nodes do not hear.
    const reading = pooled || spread ? undefined : wanted
    // A migration may take its time; nothing else may.
    const patient = name === 'migrations'
    const settings = [
      FORMATS[pooled ? 'shared' : 'own'],
      ...(patient || pooled ? [] : [`set statement_timeout = ${STATEMENT_TIMEOUT_MS}`]),
      ...(reading === undefined ? [] : [CONNECTION[reading]]),
    ].join('; ')
    const onConnect = async (client: pg.ClientBase) => {
      await client.query(settings)
    }
    const pool = new pg.Pool({
      ...{ ...config(url), ...(patient ? { query_timeout: 0 } : {}), max, onConnect },
    } as pg.PoolConfig)
    surviveBreaks(pool)
    // An idle client that breaks is dropped by the pool; without a listener it would end the process.
    pool.on('error', (error) => {
      pulse.broke()
      options.onError(error)
    })
    return { name, reading, pool }
  })
  const close = async () => {
    await Promise.all(pools.map(({ pool }) => pool.end()))
  }
  let open = 0
  return {
    store(schema, home) {
      const dbs = pools.map(({ name, pool, reading }) =>
        poolDb(pool, {
          ...{ kind: 'postgres', time, schema, home, reading, named: !pooled, spread, pulse },
          // Behind a pooler a connection keeps no statement, and a node of Citus hears nothing of an owner.
          shares: (name === 'api' || name === 'lists') && !pooled && !spread,
        }),
      )
      // Who shares the connections of another does not tell of them a second time.
      const own = open++ === 0 ? pools : []
      return storeOf(schema, dbs, {
        pulse,
        join: joinOf(dbs[0] as Db, { time, schema, home, spread }),
        listen: pooled
          ? null
          : () =>
              new pg.Client({
                ...config(url),
                query_timeout: CONNECT_TIMEOUT_MS,
              } as pg.ClientConfig),
        pools: () =>
          own.map(({ name, pool }) => ({
            name,
            total: pool.totalCount,
            idle: pool.idleCount,
            waiting: pool.waitingCount,
          })),
        close: async () => {
          if (--open === 0) await close()
        },
      })
    },
  }
}

function storeOf(
  schema: string,
  dbs: readonly Db[],
  rest: Pick<Store, 'pulse' | 'join' | 'listen' | 'pools' | 'close'>,
): Store {
  const [api, lists, engine, commits, migrations] = dbs
  if (!api || !lists || !engine || !commits || !migrations) throw new Error('a pool is missing')
  let closing: Promise<void> | undefined
  return {
    kind: 'postgres',
    schema,
    db: lists.reading === undefined ? api : { ...api, inOrder: lists },
    engine,
    commits,
    migrations,
    ...rest,
    close: () => (closing ??= rest.close()),
  }
}

export function openPostgres(url: string, options: OpenOptions): Store {
  return openServer(url, options).store(options.schema ?? SCHEMA)
}

// What makes a database server unusable, checked before anything is written to it.
export const PG_MAJOR_MIN = 15

/** Why a server cannot be used, in one line; null where it can. */
export function refusedServer(server: {
  readonly version: string
  readonly version_num: number
  readonly encoding: string
}): string | null {
  const { version, version_num, encoding } = server
  if (version_num < PG_MAJOR_MIN * 10_000)
    return `DATABASE_URL: PostgreSQL ${PG_MAJOR_MIN} or newer is needed, found ${version}: upgrade the server, or leave DATABASE_URL out for the embedded database`
  if (encoding !== 'UTF8')
    return `DATABASE_URL: the encoding of the database must be UTF8, found ${encoding}: create one with "create database wakeful encoding 'UTF8' template template0"`
  return null
}

export const SHARED =
  'a pooler in transaction mode stands before the database, and the address does not say so'
export const SHARED_ADVICE =
  'add ?pgbouncer=true to DATABASE_URL, or, which is quicker, connect to PostgreSQL itself or through a pooler in session mode'

/** Refuses a database behind a pooler that nobody told of: commits that must wait for the disk might not. */
export async function refusePooler({ listen }: Pick<Store, 'listen'>): Promise<void> {
  if (listen !== null && (await sharesConnections(listen)))
    throw new Error(`DATABASE_URL: ${SHARED}: ${SHARED_ADVICE}`)
}

/** A pooler in transaction mode shares one database connection between clients; any other keeps them apart. */
export async function sharesConnections(listen: NonNullable<Store['listen']>): Promise<boolean> {
  const clients = [listen(), listen()]
  try {
    const seen = new Set<number>()
    for (const client of clients) {
      await client.connect()
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      for (const { pid } of rows) seen.add(pid)
    }
    return seen.size < clients.length
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}
