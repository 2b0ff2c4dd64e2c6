/** How statements are planned and commits wait, as settings of a connection or of a transaction. */
import type { Db, Reading } from './db.ts'
import type { DueTable } from './due.ts'

/**
 * Statistics of a hot table are always old, so how it is read is not left to the planner. A claim analysed
 * while the table was empty would sort everything due instead of reading the first rows of the index
 * (seen: a burst of 0.7 s became 45 s); a write that names its rows by key would read the whole table.
 * Before PostgreSQL 18 a path that is off counts as very dear, which would have every statement compiled (jit).
 */
const BY_KEY = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}
const IN_ORDER = { ...BY_KEY, enable_sort: 'off', enable_bitmapscan: 'off' }
const NO_WAIT = { synchronous_commit: 'off' }
/** Since there is one way to read, what a plan costs is not worth asking again each time: it took as long as a batch of a hundred. */
const ONE_PLAN = { plan_cache_mode: 'force_generic_plan' }

/**
 * How values are written and read, whatever the server, the database or the role has as its default. PgBouncer keeps these for each
 * client, also in transaction mode.
 */
const TEXTS = {
  datestyle: `'ISO, MDY'`,
  intervalstyle: 'postgres',
  timezone: `'UTC'`,
  standard_conforming_strings: 'on',
}
const FORMAT = { ...TEXTS, client_encoding: `'UTF8'` }
const VALUES = { ...TEXTS, extra_float_digits: '1', bytea_output: 'hex', array_nulls: 'on' }
/** The same for settings that a pooler would leave to the next user of the connection. */
const OWN_FORMAT = {
  ...FORMAT,
  ...VALUES,
  default_transaction_isolation: `'read committed'`,
}

function said(settings: Readonly<Record<string, string>>, how: 'set' | 'set local'): string {
  return Object.entries(settings)
    .map(([name, value]) => `${how} ${name} = ${value}`)
    .join('; ')
}

/**
 * Said for each transaction where a connection cannot be made for it: behind a pooler, which keeps no plan anyway, and on Citus, which
 * cannot make one of statements like ours without their values.
 */
export const LOCAL = {
  'by key': said(BY_KEY, 'set local'),
  'in order': said(IN_ORDER, 'set local'),
  'no wait': said({ ...IN_ORDER, ...NO_WAIT }, 'set local'),
}

/** The same for a connection that does nothing else. */
export const CONNECTION: Record<Reading, string> = {
  'by key': said({ ...BY_KEY, ...ONE_PLAN }, 'set'),
  'in order': said({ ...IN_ORDER, ...ONE_PLAN, ...NO_WAIT }, 'set'),
}

/** Formats, said once for each connection. `shared`: through a pooler in transaction mode. */
export const FORMATS = { own: said(OWN_FORMAT, 'set'), shared: said(FORMAT, 'set') }

/** What a connection of somebody else's has to be told before it can be used as one of ours. */
export const VALUE_FORMATS = {
  names: Object.keys(VALUES),
  values: Object.values(VALUES).map((value) => value.replaceAll("'", '')),
}

/**
 * For a connection that all share: settings for reading in order, and back, each as a statement to be prepared, since they change
 * hundreds of times a second. Commits are not left waiting there: an embedded database has nobody who would write out later what
 * one did not, and a process that dies would forget its claims, and with them that it died.
 */
export const SHARED = {
  'in order': { name: 'in_order', text: configured(([, value]) => value) },
  'as planned': {
    name: 'as_planned',
    text: configured(([name]) => (name === 'plan_cache_mode' ? 'auto' : 'on')),
  },
}

function configured(to: (setting: [name: string, value: string]) => string): string {
  const calls = Object.entries({ ...IN_ORDER, ...ONE_PLAN }).map(
    (setting) => `set_config('${setting[0]}', '${to(setting)}', false)`,
  )
  return `select ${calls.join(', ')}`
}

// When something is due at all, in one question: for a clock that is moved from one such instant to the next.

/** Of each table the soonest instant a row wants attention, also where it has passed; null where none does. */
export async function soonestDue(db: Db, tables: readonly DueTable[]): Promise<(Date | null)[]> {
  const columns = tables.map(
    ({ name, live, due }, place) =>
      `(select n.${due} from ${name} n where ${live} order by n.${due} limit 1) as d${place}`,
  )
  const [row] = await db.query<Record<string, Date | null>>(`select ${columns}`)
  return tables.map((_, place) => row?.[`d${place}`] ?? null)
}
