/** What makes a database server unusable, checked before anything is written to it. */
import type { Store } from './open.ts'

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
