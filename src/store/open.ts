/** Opens the store that `DATABASE_URL` names. */
import type pg from 'pg'
import { type Db, isUnavailable, type StoreKind } from './db.ts'
import type { Join } from './joined.ts'
import { isSpread, openPostgres, openServer, type Server } from './postgres.ts'
import { schemaOf } from './shards/ranges.ts'

export interface OpenOptions {
  /** Null in production; a test clock's instant in tests. */
  readonly now: () => Date | null
  /** Hears of broken idle connections; the store goes on by itself. */
  readonly onError: (error: Error) => void
  /** Of this installation. */
  readonly schema?: string | undefined
}

export interface Store {
  readonly kind: StoreKind
  readonly schema: string
  /** For requests. */
  readonly db: Db
  /** For the services' claims; never starved by requests. */
  readonly engine: Db
  /** For group commits. */
  readonly commits: Db
  /** For migrations, which may take longer than any other statement. */
  readonly migrations: Db
  /** Whether it has recently answered any statement. */
  readonly pulse: ConnectionHealth
  /** A client of its own for LISTEN, or null where one process is all there can be, or a pooler stands between. */
  readonly listen: (() => pg.Client) | null
  /** Writes in a transaction of somebody else's own connection, or null where there can be none. */
  readonly join: Join | null
  pools(): { name: string; total: number; idle: number; waiting: number }[]
  close(): Promise<void>
}

export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  const embedded = url === 'memory:' ? null : /^pglite:(.*)$/s.exec(url)?.[1]
  if (embedded === undefined) return openPostgres(url, options)
  // Loaded only here: a PostgreSQL needs neither the embedded database nor the native lock of its directory.
  const { openPglite } = await import('./pglite.ts')
  return openPglite(embedded, options)
}

/**
 * The shards, by their numbers. Those at one address share its connections, unless it is that of Citus: behind it each is on a node
 * that may be slow or away on its own, and nobody else is to wait for it.
 */
export async function openShards(urls: readonly string[], options: OpenOptions): Promise<Store[]> {
  const [first = ''] = urls
  if (urls.length === 1) return [await openStore(first, options)]
  const servers = new Map<string, Server>()
  const stores: Store[] = []
  for (const [number, url] of urls.entries()) {
    const home = stores[0]?.db
    const server = servers.get(url) ?? openServer(url, options)
    if (!isSpread(url)) servers.set(url, server)
    stores.push(server.store(schemaOf(number, options.schema), home))
  }
  return stores
}

// When the database last answered this process, and when it last did not: known without asking it anything.
export class ConnectionHealth {
  #answeredMs = Number.NEGATIVE_INFINITY
  #brokeMs = Number.NEGATIVE_INFINITY

  /** Takes note of how it ends. A refusal by the database is an answer, too. */
  async of<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked
      this.#answeredMs = performance.now()
      return answer
    } catch (error) {
      if (isUnavailable(error)) this.broke()
      else this.#answeredMs = performance.now()
      throw error
    }
  }

  broke(): void {
    this.#brokeMs = performance.now()
  }

  /** It has answered within `ms`, and nothing has broken since. */
  beats(ms: number): boolean {
    return this.#answeredMs > this.#brokeMs && performance.now() - this.#answeredMs < ms
  }
}
