/**
 * The one door to SQL. Both stores are a `pg.Pool` behind this interface, so every statement in
 * `store/` is written once. A `Db` also carries the time: statements say `NOW` and pass `db.now()`; where that is null,
 * as always in production, the database's own time is put in its place (`time.ts`).
 */
import { randomInt } from 'node:crypto'
import type { Pipeline } from './pipeline.ts'
import type { PerShard } from './shards/ranges.ts'

export type StoreKind = 'pglite' | 'postgres'
export type Row = Record<string, unknown>

export interface TxOptions {
  /** Statements without parameters that follow `begin` in the same round trip, such as `set local …`. */
  readonly first?: string
}

/** How a connection's statements are planned, if not as the server likes: see `reading.ts`. */
export type Reading = 'by key' | 'in order'

/** What statements are written for. Another installation's or shard's own name takes its place where they are run. */
export const SCHEMA = 'wakeful'

/** The schema of the first shard. Other shards append `_<number>`, which no installation's own name may end with. */
export function installationOf(schema: string): string {
  return schema.replace(/_\d+$/, '')
}

/** An advisory lock until the end of the transaction. Parameters: the installation, the number of the lock. */
export const LOCKING = 'select pg_advisory_xact_lock(hashtextextended($1, $2))'

export interface Db {
  readonly kind: StoreKind
  readonly schema: string
  /** The schema is on some node of Citus: see `shards/citus.ts`. */
  readonly spread?: boolean
  /** Shard 0, where what belongs to nobody in particular is kept; left out where this is it. */
  readonly home?: Db | undefined
  /** All of them, for who reads and writes anybody's rows; left out where this is the only one. */
  readonly shards?: PerShard<Db>
  /** Set where all connections are so: then no transaction needs to say it. */
  readonly reading?: Reading
  /** Where reads share round trips; left out where they cannot. */
  readonly pipeline?: Pipeline | undefined
  /** Statements that are asked for together leave together: see `both`. */
  readonly together?: boolean
  /** The same rows over connections that read in order, for single statements that want it. */
  readonly inOrder?: Db | undefined
  /** The instant a test clock dictates, or null: then the database's own time of day counts. */
  now(): Date | null
  /** Milliseconds since 1970: of this transaction, or else right to a round trip. Seldom asks the database. */
  time(): Promise<number>
  /** One statement, prepared under a name of its own. Retried when the database asks for it. */
  query<R extends object = Row>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** All or nothing. Retried as a whole, bounded, after a serialization failure or a deadlock. */
  tx<T>(work: (tx: Db) => Promise<T>, options?: TxOptions): Promise<T>
  /** Several statements without parameters, in one round trip where the database takes them so. */
  exec(text: string): Promise<void>
}

/** The commit was sent and no answer came: nobody may assume either outcome, it must be re-read. */
export class CommitUnknownError extends Error {
  override readonly name = 'CommitUnknownError'
}

/** The constraint by which a shard refuses people who were moved to another: its caller has an old map. */
export const SHARD_FENCE = 'shard_holds'

const RETRIES_MAX = 6
const RETRY_BASE_MS = 5

export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Serialization failure or deadlock: the database rolled back and asks to be asked again. */
export function isContention(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** Somebody holds a lock for longer than the statement was to wait. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** A row with this key is there already. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/**
 * The database is away, read-only, full or shutting down: nothing about the request is wrong.
 * Errors without an SQLSTATE come from the driver or the socket.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof CommitUnknownError) return true
  if ((error as { constraint?: unknown } | null)?.constraint === SHARD_FENCE) return true
  const state = sqlState(error)
  if (state !== undefined) {
    return /^(08|53|57P|58)/.test(state) || state === '25006' || state === '57014'
  }
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string' && /^E(CONN|PIPE|HOST|NET|NOTFOUND|TIMEDOUT|AI_)/.test(code))
    return true
  const message = error instanceof Error ? error.message : ''
  return /Connection terminated|timeout exceeded|Query read timeout|Client has encountered|Client was closed|Cannot use a pool|connect timeout|database is away/i.test(
    message,
  )
}

/** Runs `work` again after contention, with a short growing random pause. */
export async function retryContention<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isContention(error) || attempt >= RETRIES_MAX) throw error
      await new Promise((done) => setTimeout(done, randomInt(1, RETRY_BASE_MS * 2 ** attempt + 1)))
    }
  }
}

/** Both reads in one round trip where that can be, else one after the other: a transaction has one connection. */
export async function both<A, B>(
  db: Db,
  first: (db: Db) => Promise<A>,
  second: (db: Db) => Promise<B>,
): Promise<[A, B]> {
  return db.together ? Promise.all([first(db), second(db)]) : [await first(db), await second(db)]
}
