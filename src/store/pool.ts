/** A `Db` over a `pg.Pool`: statement names, the schema, the time, transactions, and what happens to a broken client. */
import pg from 'pg'
import {
  CommitUnknownError,
  type Db,
  installationOf,
  isUnavailable,
  type Reading,
  retryContention,
  SCHEMA,
  type StoreKind,
  type TxOptions,
} from './db.ts'
import { NOW } from './due.ts'
import { ConnectionHealth } from './open.ts'
import { Pipeline } from './pipeline.ts'
import {
  ASK_TIME,
  type Bound,
  instantText,
  parameter,
  Query,
  type StoreTime,
  utcInstant,
} from './query.ts'
import { rolesOf } from './roles.ts'
import { commandsOf, onItsNode } from './shards/citus.ts'

const { builtins } = pg.types

const timestamptz = pg.types.getTypeParser(builtins.TIMESTAMPTZ, 'text') as (text: string) => Date

/** JSON stays text (payloads are verbatim), bigint counters are numbers. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [builtins.JSON, (text) => text],
  [builtins.JSONB, (text) => text],
  [builtins.INT8, Number],
  [builtins.TIMESTAMPTZ, (text) => utcInstant(text) ?? timestamptz(text)],
])

const parserOf = (oid: number): ((text: string) => unknown) =>
  PARSERS.get(oid) ?? pg.types.getTypeParser(oid, 'text')

/** Asked for every column of every answer to a statement without a name. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: parserOf,
} as pg.CustomTypesConfig

/** A statement as a connection gets it. */
interface Prepared {
  readonly text: string
  /** The same text always has the same name, so that a connection parses and plans it once. */
  readonly name?: string
  /** Its first parameter is the time. */
  readonly timed: boolean
}

type Statements = Map<string, Prepared>
const prepared = new Map<string, Statements>()
/** The server and the process of a forecast share the session of an embedded store. */
const NAME = `w${process.pid}_`
let names = 0
const NAMES_MAX = 2000

/** A plan is kept with its name, so who reads otherwise over the same connection has names of its own. */
function statementsOf({
  schema,
  spread,
  reading,
}: Pick<Connected, 'schema' | 'spread' | 'reading'>): Statements {
  const place = `${schema} ${spread} ${reading ?? ''}`
  const known = prepared.get(place) ?? new Map<string, Prepared>()
  prepared.set(place, known)
  return known
}

function prepare({ schema, spread, known }: Connected, text: string): Prepared {
  const found = known.get(text)
  if (found !== undefined) return found
  const written = inSchema(schema, text)
  const made = { text: spread ? onItsNode(written) : written, timed: text.includes(NOW) }
  if (known.size >= NAMES_MAX) return made
  const kept = { ...made, name: `${NAME}${++names}` }
  known.set(text, kept)
  return kept
}

/** `wakeful.owner` and `wakeful.agent` are the settings that row-level security reads, the same in every schema. */
const OUR_SCHEMA =
  /\bwakeful(?=\.(?!(?:owner|agent)\b))|(?<=\bschema (?:if not exists )?)wakeful\b/g
const OUR_ROLES = /\bwakeful_(?=(?:owner|engine)\b)/g

/** Statements are written for the schema `wakeful` and its roles; this is the one place where other names enter. */
function inSchema(schema: string, text: string): string {
  if (schema === SCHEMA) return text
  const own = installationOf(schema)
  // Quoted, because the name may be an SQL keyword.
  const named = text.replace(OUR_SCHEMA, own === SCHEMA ? schema : `"${schema}"`)
  return own === SCHEMA ? named : named.replace(OUR_ROLES, `${own}_`)
}

/** `instant`: to say where a statement wants to know it. */
async function run<R extends object>(
  pooled: Connected,
  client: pg.PoolClient,
  instant: () => string | Promise<string>,
  written: string,
  values: readonly unknown[],
): Promise<R[]> {
  const { text, name, timed } = prepare(pooled, written)
  const given = values.map(parameter)
  if (timed && given[0] === null) given[0] = await instant()
  if (!pooled.named || name === undefined)
    return (await client.query<R & pg.QueryResultRow>({ text, values: given })).rows
  try {
    const query = await submitted<R>(client, [{ name, text, values: given }])
    if (query.unread.size > 0) throw query.unread.get(0)
    return query.rows[0] ?? []
  } catch (error) {
    // As `pg` does: where the answer was read says nothing, who asked says all.
    if (error instanceof Error) Error.captureStackTrace(error)
    throw error
  }
}

/** Resolves when all have ended, rejects with the first error. */
function submitted<R extends object>(
  client: pg.PoolClient,
  statements: readonly Bound[],
): Promise<Query<R>> {
  return new Promise((resolve, reject) => {
    const done = (error: unknown) => (error ? reject(error) : resolve(query))
    const query = new Query<R>(statements, parserOf, done)
    client.query(query)
  })
}

async function execute({ schema, spread }: Connected, client: pg.PoolClient, text: string) {
  const commands = spread ? commandsOf(text) : [text]
  for (const command of commands) await client.query(inSchema(schema, command))
}

export interface PoolDbOptions {
  readonly kind: StoreKind
  readonly time: StoreTime
  readonly schema?: string
  readonly home?: Db | undefined
  readonly reading?: Reading | undefined
  /** Statements are kept under names. Not where the next one may be run on another connection. */
  readonly named?: boolean
  /** The schema is on some node of Citus. */
  readonly spread?: boolean
  /** Reads may share a round trip: see `pipeline.ts`. */
  readonly shares?: boolean
  readonly pulse?: ConnectionHealth
  /** Comes before a statement or a transaction, where others use the same connection with other settings. */
  readonly settle?: (client: pg.PoolClient) => Promise<void>
}

/** What a `Db` over a client works with. */
interface Connected {
  readonly kind: StoreKind
  readonly time: StoreTime
  readonly schema: string
  readonly named: boolean
  readonly spread: boolean
  readonly reading: Reading | undefined
  readonly known: Statements
  /** What every `Db` over it says of itself. */
  readonly self: Pick<Db, 'kind' | 'schema' | 'spread' | 'home'>
}

interface Pooled extends Connected {
  readonly pool: pg.Pool
  readonly settle: ((client: pg.PoolClient) => Promise<void>) | undefined
}

/** A client of `pg` that the caller of the library has made. */
export interface SqlClient {
  query(query: {
    text: string
    values?: unknown[]
    types?: pg.CustomTypesConfig
  }): Promise<{ rows: unknown[] }>
}

type BorrowedOptions = Pick<PoolDbOptions, 'time' | 'schema' | 'home' | 'spread'>

/** The transaction that is open on such a client. Nothing is prepared there under a name. */
export function borrowedDb(client: SqlClient, options: BorrowedOptions, atMs: number): Db {
  const { time, schema = SCHEMA, home, spread = false } = options
  const self = {
    kind: 'postgres',
    schema,
    spread,
    ...(home === undefined ? {} : { home }),
  } as const
  const about = { ...self, time, reading: undefined, named: false, self }
  const query = (asked: string | { text: string; values?: unknown[] }) =>
    client.query({ ...(typeof asked === 'string' ? { text: asked } : asked), types: columnTypes })
  const connected = { ...about, known: statementsOf(about) }
  return clientDb(connected, { query } as unknown as pg.PoolClient, atMs)
}

export function poolDb(pool: pg.Pool, options: PoolDbOptions): Db {
  const {
    kind,
    time,
    reading,
    home,
    schema = SCHEMA,
    named = true,
    pulse = new ConnectionHealth(),
  } = options
  const { spread = false, settle, shares = false } = options
  const self = { kind, schema, spread, ...(home === undefined ? {} : { home }) }
  const about = { pool, kind, time, schema, named, spread, reading, settle, self }
  const pooled: Pooled = { ...about, known: statementsOf(about) }
  const ask = <R extends object>(client: pg.PoolClient, text: string, values: readonly unknown[]) =>
    run<R>(pooled, client, async () => instantText(await timeOf(time, client)), text, values)
  return {
    ...self,
    ...(shares ? { pipeline: pipelineOf(pooled, pulse) } : {}),
    now: () => time.dictated(),
    time: async () => {
      const known = time.dictated()?.getTime() ?? time.reckoned()
      return known ?? pulse.of(withClient(pooled, (client) => timeOf(time, client)))
    },
    ...(reading === undefined ? {} : { reading }),
    query: (text, values = []) =>
      retryContention(() => pulse.of(withClient(pooled, (client) => ask(client, text, values)))),
    exec: (text) => pulse.of(withClient(pooled, (client) => execute(pooled, client, text))),
    tx: (work, options) => retryContention(() => pulse.of(transact(pooled, work, options))),
  }
}

function pipelineOf(pooled: Pooled, pulse: ConnectionHealth): Pipeline {
  const { time } = pooled
  // A statement is planned for one role: for the other it has another name.
  const owned = { ...pooled, known: new Map<string, Prepared>() }
  return new Pipeline({
    ownerRole: rolesOf(pooled.schema).owner,
    connected: (work) => pulse.of(withClient(pooled, work)),
    instant(client) {
      const reckoned = time.reckoned()
      return reckoned === null ? timeOf(time, client).then(instantText) : instantText(reckoned)
    },
    bound({ text: written, values, owner }, instant) {
      const { text, name, timed } = prepare(owner === null ? pooled : owned, written)
      const given = values.map(parameter)
      if (timed && given[0] === null) given[0] = instant
      return { text, name, values: given }
    },
    parserOf,
  })
}

async function timeOf(time: StoreTime, client: pg.PoolClient): Promise<number> {
  const reckoned = time.reckoned()
  if (reckoned !== null) return reckoned
  return heardFrom(time, await client.query<{ now: string }>(ASK_TIME))
}

function heardFrom(time: StoreTime, { rows }: { rows: { now: string }[] }): number {
  const [row] = rows
  if (row === undefined) throw new Error('the database did not tell the time')
  return time.heard(row.now)
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
  { pool, kind, settle }: Pooled,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await settle?.(client)
    return await work(client)
  } catch (error) {
    broken = brokenBy(kind, error)
    throw error
  } finally {
    client.release(broken)
  }
}

async function transact<T>(
  pooled: Pooled,
  work: (tx: Db) => Promise<T>,
  options: TxOptions = {},
): Promise<T> {
  const { pool, kind, settle } = pooled
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await settle?.(client)
    const at = await begin(pooled, client, options)
    const result = await work(clientDb(pooled, client, at))
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

/** One round trip: begins, hears the time of this transaction, and does what is to be done first. */
async function begin({ time }: Pooled, client: pg.PoolClient, { first }: TxOptions) {
  const dictated = time.dictated()
  const steps = ['begin', ...(dictated === null ? [ASK_TIME] : []), ...(first ? [first] : [])]
  const answers: unknown = await client.query(steps.join('; '))
  if (dictated !== null) return dictated.getTime()
  const [, asked] = answers as [unknown, { rows: { now: string }[] }]
  return heardFrom(time, asked)
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
function clientDb(pooled: Connected, client: pg.PoolClient, atMs: number): Db {
  const { time, self } = pooled
  let at: string | undefined
  const instant = () => (at ??= instantText(atMs))
  const db: Db = {
    ...self,
    now: () => time.dictated(),
    time: async () => time.dictated()?.getTime() ?? atMs,
    query: (text, values = []) => run(pooled, client, instant, text, values),
    exec: (text) => execute(pooled, client, text),
    tx: (work) => work(db),
  }
  return db
}

/** The pool listens to idle clients only: one that breaks inside a transaction would end the process. */
export function surviveBreaks(pool: pg.Pool): void {
  // The user of the connection gets the error from its statement.
  pool.on('connect', (client) => client.on('error', () => undefined))
}
