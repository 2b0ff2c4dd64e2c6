/** What is so on Citus alone: each schema of ours is on one node, and moves from one to another while it works. */
import type { Db } from '../db/db.ts'
import { OWNER_ROLE } from '../db/roles.ts'

/** For the transaction: a schema is made as on any server, and spread once its tables are there (`spread`). */
export const MADE_WHOLE = 'set local citus.enable_schema_based_sharding = off'
/** For the transaction: its commands change several tables, one after the other. */
export const IN_SEQUENCE = `set local citus.multi_shard_modify_mode = 'sequential'`

/** Tables of other nodes are changed one command at a time. */
export function commandsOf(sql: string): string[] {
  const said = sql.replace(/('(?:[^']|'')*')|--[^\n]*/g, (_, quoted?: string) => quoted ?? '')
  const commands = said.match(/(?:'(?:[^']|'')*'|[^;'])+/g) ?? []
  return commands.map((command) => command.trim()).filter((command) => command !== '')
}

const MARKS = /'(?:[^']|'')*'|[()]|\binsert into\b|\breturning\b|$/gi

/**
 * Citus brings rows that are inserted from a SELECT to their node by COPY, which row-level security refuses, unless the statement wants
 * something back: so each does. And one at the top of a statement forgets parameters on the way: so it becomes a part.
 */
export function onItsNode(text: string): string {
  let written = ''
  let from = 0
  let top = -1
  /** Of each parenthesis that is open: whether an INSERT in it has not said yet what it gives back. */
  const silent = [false]
  for (const { 0: mark, index } of text.matchAll(MARKS)) {
    if (mark === '(') silent.push(false)
    else if (mark === ')' || mark === '') {
      if (silent.pop()) {
        written += `${text.slice(from, index)} returning 1`
        from = index
      }
    } else if (!mark.startsWith("'")) {
      silent[silent.length - 1] = /^insert/i.test(mark)
      if (silent.length === 1 && silent[0]) top = index + written.length - from
    }
  }
  written += text.slice(from)
  const insert = written.slice(top)
  if (top === -1) return written
  if (!/\bselect\b/i.test(insert)) return text
  const before = written.slice(0, top).trim()
  return `${before === '' ? 'with' : `${before},`} put as (${insert}) select * from put`
}

/**
 * Hands the schema over to Citus. A table that forces row-level security on its owner could never move: what copies it acts as the
 * owner. Whoever connects has the engine's rights to all rows either way, and an owner's statements run as a role that owns nothing:
 * as which this node must be able to reach the others.
 */
export async function spread(tx: Db): Promise<void> {
  const forced = await tx.query<{ name: string }>(
    `select relname::text as name from pg_class
     where relnamespace = to_regnamespace($1) and relkind = 'r' and relforcerowsecurity order by relname`,
    [tx.schema],
  )
  for (const { name } of forced)
    await tx.exec(`alter table wakeful.${name} no force row level security`)
  const barred = await tx.query(`select 1 from pg_roles where rolname = $1 and not rolcanlogin`, [
    OWNER_ROLE,
  ])
  if (barred.length > 0) await tx.exec(`alter role ${OWNER_ROLE} login`)
  const known = await tx.query(
    'select 1 from pg_dist_schema where schemaid = to_regnamespace($1)',
    [tx.schema],
  )
  if (known.length === 0)
    await tx.query('select citus_schema_distribute($1::regnamespace)', [tx.schema])
}

export async function moveSchema(db: Db, host: string, port: number): Promise<void> {
  const [citus] = await db.query(`select 1 from pg_extension where extname = 'citus'`)
  if (citus === undefined)
    throw new Error(
      'this PostgreSQL is no Citus: move a slice with the means of PostgreSQL (a replica, or pg_dump of its schema), and name its new place in WAKEFUL_SLICES',
    )
  await db.query('select citus_schema_move($1::regnamespace, $2, $3::int)', [db.schema, host, port])
}
