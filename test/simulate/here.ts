/**
 * The embedded store of all lives, in memory and in this thread, over a wire that takes a whole question at once: a life asks
 * more than a thousand small ones.
 */
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import type { Store } from '../../src/store/open.ts'
import { answered, embeddedStore, PgliteSocket, preparedBlob } from '../../src/store/pglite.ts'
import { Memory } from './memory.ts'

/** Enough for all tables of a life, and little to put back. */
const PARAMS = ['-c', 'shared_buffers=16MB', '-c', 'wal_buffers=1MB']

/** Functions are compiled with all art soon: whoever lives a thousand lives runs them all often. */
const COMPILED_ONCE_MORE = 100_000

export interface House {
  readonly store: Store
  /** From now on `restore` puts everything back to how it is now. */
  keep(): void
  restore(): void
}

export async function openHere(now: () => Date | null): Promise<House> {
  const loadDataDir = await preparedBlob()
  setFlagsFromString(`--wasm-tiering-budget=${COMPILED_ONCE_MORE}`)
  const lite = await PGlite.create({
    startParams: [...PGlite.defaultStartParams, ...PARAMS],
    ...(loadDataDir === null ? {} : { loadDataDir }),
  })
  const clients: Client[] = []
  const session = {
    wire: () => new PgliteSocket((bytes) => answered(lite, bytes)),
    onClient: (client: pg.Client) => void clients.push(client as Client),
  }
  const onError = (error: Error) => {
    throw error
  }
  let kept: { memory: Memory; statements: object } | null = null
  return {
    // How a statement is planned must not depend on how often it ran before: unordered rows would change their places.
    store: embeddedStore(session, () => lite.close(), { now, onError, ordered: true }),
    keep: () => {
      kept = {
        memory: new Memory(lite),
        statements: { ...clients[0]?.connection.parsedStatements },
      }
    },
    restore: () => {
      const [client] = clients
      if (kept === null || client === undefined) throw new Error('nothing was kept')
      kept.memory.restore()
      client.connection.parsedStatements = { ...kept.statements }
    },
  }
}

/** With what it remembers of the statements that were parsed. */
type Client = pg.Client & { readonly connection: { parsedStatements: object } }
