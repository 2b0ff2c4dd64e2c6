/**
 * A `Db` that sees one owner's rows and no others, whatever its statements say: each transaction begins by giving up
 * the engine's rights and naming the owner, in the same round trip as `begin`. On the embedded store too, whose
 * own user would pass by every policy. With an agent it sees only the rows of that agent.
 */
import type { Db, TxOptions } from './db.ts'
import { OWNER_ROLE } from './roles.ts'

export function ownedBy(db: Db, userId: string, agentId: string | null = null): Db {
  const agent = agentId === null ? '' : `; set local wakeful.agent = ${literal(agentId)}`
  const scope = `set local role ${OWNER_ROLE}; set local wakeful.owner = ${literal(userId)}${agent}`
  const beginning = (options?: TxOptions) =>
    options?.first === undefined ? { first: scope } : { first: `${options.first}; ${scope}` }
  return {
    kind: db.kind,
    schema: db.schema,
    ...(db.home === undefined ? {} : { home: db.home }),
    now: () => db.now(),
    time: () => db.time(),
    query: (text, values) => db.tx((tx) => tx.query(text, values), { first: scope }),
    exec: (text) => db.tx((tx) => tx.exec(text), { first: scope }),
    tx: (work, options) => db.tx(work, beginning(options)),
  }
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
