/**
 * A `Db` that sees one owner's rows and no others, whatever its statements say: each transaction begins by giving up
 * the engine's rights and naming the owner, in the same round trip as `begin`. On the embedded store too, whose
 * own user would pass by every policy. With an agent it sees only the rows of that agent.
 */
import { type Db, isContention, retryContention, type TxOptions } from './db.ts'
import type { Owner } from './pipeline.ts'
import { rolesOf } from './roles.ts'

/** Null: everybody's rows. */
export function seenBy(
  db: Db,
  { userId, agentId }: { readonly userId: string | null; readonly agentId: string | null },
): Db {
  return userId === null ? db : new OwnedDb(db, userId, agentId)
}

export function ownedBy(db: Db, userId: string, agentId: string | null = null): Db {
  return new OwnedDb(db, userId, agentId)
}

class OwnedDb implements Db {
  readonly kind: Db['kind']
  readonly schema: string
  readonly home: Db | undefined
  readonly whole: Db
  readonly owner: Owner

  constructor(whole: Db, userId: string, agentId: string | null) {
    this.kind = whole.kind
    this.schema = whole.schema
    this.home = whole.home
    this.whole = whole
    this.owner = { userId, agentId: agentId ?? '' }
  }

  now(): Date | null {
    return this.whole.now()
  }

  time(): Promise<number> {
    return this.whole.time()
  }

  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]> {
    return this.tx((tx) => tx.query<R>(text, values))
  }

  exec(text: string): Promise<void> {
    return this.tx((tx) => tx.exec(text))
  }

  tx<T>(work: (tx: Db) => Promise<T>, { first }: TxOptions = {}): Promise<T> {
    const { userId, agentId } = this.owner
    const agent = agentId === '' ? '' : `; set local wakeful.agent = ${literal(agentId)}`
    const scope = `set local role ${rolesOf(this.schema).owner}; set local wakeful.owner = ${literal(userId)}${agent}`
    return this.whole.tx(work, { first: first === undefined ? scope : `${first}; ${scope}` })
  }
}

/** The same rows for who only reads: its statements share round trips. Null where they cannot. */
export function readingOf(db: Db): Db | null {
  const { whole, owner } = db instanceof OwnedDb ? db : { whole: db, owner: null }
  const reading = ({ pipeline }: Db, inOrder?: Db): Db | null =>
    pipeline === undefined
      ? null
      : {
          ...{ kind: db.kind, schema: db.schema, home: db.home, together: true, inOrder },
          ...(db.shards === undefined ? {} : { shards: db.shards }),
          now: () => db.now(),
          time: () => db.time(),
          query: <R extends object>(text: string, values: readonly unknown[] = []) =>
            pipeline.query<R>(text, values, owner).catch((error: unknown) => {
              if (!isContention(error)) throw error
              return retryContention(() => pipeline.query<R>(text, values, owner))
            }),
          exec: (text) => db.exec(text),
          tx: (work, options) => db.tx(work, options),
        }
  const { inOrder } = whole
  return reading(whole, inOrder && (reading(inOrder) ?? undefined))
}

/**
 * Runs `work` with the rights of the person instead of one agent of theirs: for what all their agents share, such as a limit
 * for the person or the session in which an executor runs work. `agentId` is the one the transaction is bound to; null: none.
 */
export async function asPerson<T>(
  tx: Db,
  agentId: string | null,
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  if (agentId === null) return work(tx)
  const bind = (agent: string) =>
    tx.query(`select set_config('wakeful.agent', $1::text, true)`, [agent])
  await bind('')
  const done = await work(tx)
  await bind(agentId)
  return done
}

/** `set` takes no parameters. Owners' names are plain by the time they get here; one that is not is quoted all the same. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
