/**
 * A `Db` that sees one owner's rows and no others, whatever its statements say: each transaction begins by giving up
 * the engine's rights and naming the owner, in the same round trip as `begin`. On the embedded store too, whose
 * own user would pass by every policy.
 */
import type { Db, TxOptions } from './db.ts'
import { OWNER_ROLE } from './roles.ts'

export function ownedBy(db: Db, userId: string): Db {
  const scope = `set local role ${OWNER_ROLE}; set local wakeful.owner = ${literal(userId)}`
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

/** `set` takes no parameters. Owners' names are plain by the time they get here; one that is not is quoted all the same. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
