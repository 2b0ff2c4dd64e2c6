/** A `Db` over a `pg.Pool`: statement names, transactions, and what happens to a broken client. */
import pg from 'pg'
import {
  CommitUnknownError,
  type Db,
  isUnavailable,
  type Reading,
  retryContention,
  type StoreKind,
  type TxOptions,
} from './db.ts'
import { Pulse } from './pulse.ts'
import { parameter, utcInstant } from './values.ts'

const { builtins } = pg.types

const timestamptz = pg.types.getTypeParser(builtins.TIMESTAMPTZ, 'text') as (text: string) => Date

/** JSON stays text (payloads are verbatim), bigint counters are numbers. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === builtins.JSON || oid === builtins.JSONB) return (text: string) => text
    if (oid === builtins.INT8) return (text: string) => Number(text)
    if (oid === builtins.TIMESTAMPTZ) return (text: string) => utcInstant(text) ?? timestamptz(text)
    return pg.types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

/** The same text always has the same name, so that a connection parses and plans it once. */
const names = new Map<string, string>()
const NAMES_MAX = 2000

function statementName(text: string): string | undefined {
  let name = names.get(text)
  if (name === undefined && names.size < NAMES_MAX) {
    name = `w${names.size + 1}`
    names.set(text, name)
  }
  return name
}

async function run<R extends object>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  const name = statementName(text)
  const config = { text, values: values.map(parameter), ...(name === undefined ? {} : { name }) }
  const result = await client.query<R & pg.QueryResultRow>(config)
  return result.rows
}

export function poolDb(
  pool: pg.Pool,
  kind: StoreKind,
  now: () => Date | null,
  { reading, pulse = new Pulse() }: { reading?: Reading | undefined; pulse?: Pulse } = {},
): Db {
  // The pool listens to idle clients only: one that breaks inside a transaction would end the process.
  // Whoever uses it hears of it from the statement that fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return {
    kind,
    now,
    ...(reading === undefined ? {} : { reading }),
    query: (text, values = []) =>
      retryContention(() =>
        pulse.of(withClient(pool, kind, (client) => run(client, text, values))),
      ),
    exec: (text) =>
      pulse.of(
        withClient(pool, kind, async (client) => {
          await client.query(text)
        }),
      ),
    tx: (work, options) =>
      retryContention(() => pulse.of(transact(pool, kind, now, work, options))),
  }
}

/**
 * After any connection error the client is destroyed, never reused. The embedded store has no connection
 * to lose: what looks like it must not leave a transaction open there, which the next one would commit.
 */
function brokenBy(kind: StoreKind, error: unknown): Error | undefined {
  return kind === 'postgres' && isUnavailable(error) ? (error as Error) : undefined
}

/** As `pool.query`, which however destroys its client after every error; the embedded store then hangs. */
async function withClient<T>(
  pool: pg.Pool,
  kind: StoreKind,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await work(client)
  } catch (error) {
    broken = brokenBy(kind, error)
    throw error
  } finally {
    client.release(broken)
  }
}

async function transact<T>(
  pool: pg.Pool,
  kind: StoreKind,
  now: () => Date | null,
  work: (tx: Db) => Promise<T>,
  options: TxOptions = {},
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(options.first === undefined ? 'begin' : `begin; ${options.first}`)
    const result = await work(clientDb(client, kind, now))
    await commit(client)
    return result
  } catch (error) {
    broken = brokenBy(kind, error)
    if (broken === undefined) await client.query('rollback').catch((e: Error) => (broken = e))
    throw error
  } finally {
    client.release(broken)
  }
}

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('commit').catch((error: unknown) => {
    if (!isUnavailable(error)) throw error
    throw new CommitUnknownError('the connection broke while committing', { cause: error })
  })
  // PostgreSQL answers a commit after a failed statement with a rollback, and calls it success.
  if (command === 'ROLLBACK')
    throw new Error('nothing was committed: a statement of this transaction had failed')
}

/** Inside a transaction a nested `tx` joins it: there are no savepoints on our paths. */
function clientDb(client: pg.PoolClient, kind: StoreKind, now: () => Date | null): Db {
  const db: Db = {
    kind,
    now,
    query: (text, values = []) => run(client, text, values),
    exec: async (text) => {
      await client.query(text)
    },
    tx: (work) => work(db),
  }
  return db
}
