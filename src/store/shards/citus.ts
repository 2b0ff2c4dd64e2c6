/** What is so on Citus alone: each schema of ours is on one node, and moves from one to another while it works. */
import { type Db, sqlState } from '../db.ts'
import { rolesOf } from '../roles.ts'

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
 * owner. The user of the connection has the engine's rights to all rows either way, and an owner's statements run as a role that owns nothing:
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
  const { owner } = rolesOf(tx.schema)
  const barred = await tx.query(`select 1 from pg_roles where rolname = $1 and not rolcanlogin`, [
    owner,
  ])
  if (barred.length > 0)
    await tx.exec(`alter role ${owner} login`).catch((error: unknown) => {
      if (sqlState(error) !== '42501') throw error
      throw new Error(
        `an administrator must run "alter role ${owner} login" once: the nodes of Citus are reached as it, too`,
        { cause: error },
      )
    })
  const known = await tx.query(
    'select 1 from pg_dist_schema where schemaid = to_regnamespace($1)',
    [tx.schema],
  )
  if (known.length === 0)
    await tx.query('select citus_schema_distribute($1::regnamespace)', [tx.schema])
}

/** What a move needs of its caller. */
export interface Moving {
  readonly wait: (ms: number) => Promise<unknown>
  readonly told: (line: string) => void
}

const LOOK_MS = 500
/** Half of what a statement of ours waits at most. */
const HOLDS_UP_MAX_MS = 4_500
const MOVES_MAX = 5
/** Ends when its caller goes away. */
const ENDS_WITH_CALLER = `set local client_connection_check_interval = '2s'`

/**
 * At its end a move takes a lock on each table, one after the other, while the engine's statements hold some and want others; and it
 * waits for a node by looking now and then, which no search for deadlocks sees. So somebody looks how long others wait for it, and
 * ends it: nothing has changed then, and it is tried again.
 */
export async function moveSchema(db: Db, host: string, port: number, at: Moving): Promise<void> {
  const [citus] = await db.query(`select 1 from pg_extension where extname = 'citus'`)
  if (citus === undefined)
    throw new Error(
      'this PostgreSQL is no Citus: move a shard with the means of PostgreSQL (a replica, or pg_dump of its schema), and name its new place in WAKEFUL_SHARDS',
    )
  for (let attempt = 1; ; attempt++) {
    const outcome = await moveOnce(db, host, port, at)
    if (outcome === 'moved') return
    if (attempt === MOVES_MAX)
      throw new Error(
        `not moved: each of ${MOVES_MAX} tries kept others waiting for ${HOLDS_UP_MAX_MS} ms. It is where it was; try again when less is due`,
      )
    at.told(
      `try ${attempt} of ${MOVES_MAX} was given up, since others waited for it; nothing has changed, trying again`,
    )
    await at.wait(HOLDS_UP_MAX_MS)
  }
}

async function moveOnce(
  db: Db,
  host: string,
  port: number,
  { wait }: Moving,
): Promise<'moved' | 'given up'> {
  const under = { way: false, givenUp: false }
  const look = async (pid: number) => {
    for (under.way = true; under.way; await wait(LOOK_MS)) {
      const held = await db.query(HELD_UP, [pid, HOLDS_UP_MAX_MS])
      if (held.length === 0 || !under.way) continue
      Object.assign(under, { way: false, givenUp: true })
      await db.query('select pg_cancel_backend($1::int)', [pid])
    }
  }
  try {
    await db.tx(
      async (tx) => {
        const [self] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
        const looking = look(self?.pid ?? 0)
        const values = [tx.schema, host, port]
        const moving = tx.query('select citus_schema_move($1::regnamespace, $2, $3::int)', values)
        const moved = moving.finally(() => {
          under.way = false
        })
        await Promise.all([moved, looking])
      },
      { first: ENDS_WITH_CALLER },
    )
    return 'moved'
  } catch (error) {
    if (under.givenUp && sqlState(error) === '57014') return 'given up'
    throw error
  }
}

/** Who has been waiting for it, behind it or for what it holds, for so long. */
const HELD_UP = `select 1 from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))
  and waitstart < clock_timestamp() - $2 * interval '1 millisecond' limit 1`
