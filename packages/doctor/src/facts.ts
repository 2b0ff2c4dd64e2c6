/** What is wrong with an installation, and what to do about it: a pure judgement of facts. */

import { PG_MAJOR_MIN, SHARED, SHARED_ADVICE } from '../../../src/store/postgres.ts'

export type Health = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly check: string
  readonly health: Health
  readonly text: string
  /** What to do; only where something is wrong. */
  readonly advice?: string
}

/** What the database knows of itself. Names as they travel over HTTP. */
export interface DatabaseFacts {
  readonly kind: 'pglite' | 'postgres'
  readonly version: string
  readonly now: string
  readonly size_bytes: number
  readonly autovacuum: boolean
  readonly connections: { readonly used: number; readonly max: number } | null
  /** The oldest transaction still open, which keeps vacuum from cleaning up. */
  readonly oldest_transaction_ms: number
  /** How far the newest stamp of a row is ahead of the clock of the database. */
  readonly clock_ahead_ms: number
  readonly migrations: readonly {
    readonly name: string
    readonly applied_at: string | null
  }[]
  /** For each table with due rows: how long the oldest has waited, and how many wait for more than a minute. */
  readonly due: readonly {
    readonly table: string
    readonly lag_ms: number
    readonly late: number
  }[]
  /** Rows whose lease ended more than a minute ago and that nobody took up. */
  readonly stuck: readonly { readonly table: string; readonly count: number }[]
  /** Keys in use that end within two weeks. */
  readonly ending_keys: readonly {
    readonly id: string
    readonly role: string
    readonly ends_at: string
  }[]
  readonly tables: readonly {
    readonly table: string
    readonly live_rows: number
    readonly dead_rows: number
    readonly vacuumed_at: string | null
  }[]
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const SKEW_WARN_MS = SECOND_MS
const SKEW_FAIL_MS = MINUTE_MS
const LAG_WARN_MS = 5 * SECOND_MS
const LAG_FAIL_MS = MINUTE_MS
/** Waiting rows are counted up to this many. */
export const LATE_MAX = 10_000
const DEAD_ROWS_MIN = 10_000
const DEAD_SHARE_MAX = 0.5
const CONNECTIONS_SHARE_MAX = 0.9
export const KEYS_END_DAYS = 14
const TRANSACTION_MAX_MS = 10 * MINUTE_MS
const DISK_FREE_WARN = 1024 ** 3
const DISK_FREE_FAIL = 100 * 1024 ** 2

export function judgeDatabase(facts: DatabaseFacts): Finding[] {
  return [
    versionFinding(facts),
    migrationsFinding(facts.migrations),
    ...(facts.migrations.some((each) => each.applied_at === null) ? [] : rowFindings(facts)),
    ...connectionFindings(facts),
  ]
}

/** Two clients at once on one connection of the database: what one of them sets there, the other gets. */
export function judgePooling(seen: 'own' | 'shared' | 'told'): Finding {
  if (seen === 'shared') return finding('pooling', 'fail', SHARED, SHARED_ADVICE)
  const text =
    seen === 'own'
      ? 'every connection is our own'
      : 'through a pooler in transaction mode, as DATABASE_URL says: processes hear of each other by polling'
  return finding('pooling', 'ok', text)
}

function finding(check: string, health: Health, text: string, advice?: string): Finding {
  return { check, health, text, ...(health === 'ok' || advice === undefined ? {} : { advice }) }
}

function versionFinding({ kind, version, size_bytes }: DatabaseFacts): Finding {
  const major = Number.parseInt(version, 10)
  const name = kind === 'pglite' ? 'embedded PostgreSQL (PGlite)' : 'PostgreSQL'
  return finding(
    'database',
    kind === 'postgres' && major < PG_MAJOR_MIN ? 'fail' : 'ok',
    `${name} ${version}, ${bytesText(size_bytes)}`,
    `use PostgreSQL ${PG_MAJOR_MIN} or newer`,
  )
}

function migrationsFinding(migrations: DatabaseFacts['migrations']): Finding {
  const missing = migrations.filter(({ applied_at }) => applied_at === null).map(({ name }) => name)
  if (missing.length === 0)
    return finding('migrations', 'ok', `all ${migrations.length} are applied`)
  const text = `${missing.length} of ${migrations.length} are not applied: ${missing.join(', ')}`
  return finding('migrations', 'fail', text, 'run wakeful migrate up, or start the server')
}

function rowFindings(facts: DatabaseFacts): Finding[] {
  const { kind, due, stuck, tables, autovacuum, ending_keys } = facts
  return [
    aheadFinding(facts.clock_ahead_ms),
    ...due.map(dueFinding),
    stuckFinding(stuck),
    vacuumFinding(kind, autovacuum, tables),
    keysFinding(ending_keys),
  ]
}

function aheadFinding(aheadMs: number): Finding {
  return finding(
    'stamps',
    aheadMs === 0 ? 'ok' : 'warn',
    aheadMs === 0
      ? 'no row is stamped ahead of the clock'
      : `the newest row is stamped ${Math.round(aheadMs / SECOND_MS)} s ahead of the clock: the clock was ahead and was set back`,
    'set the clock of the database by NTP; a running server pulls back leases and due times within a lease, and what happened meanwhile keeps its stamps',
  )
}

function keysFinding(ending: DatabaseFacts['ending_keys']): Finding {
  if (ending.length === 0) return finding('keys', 'ok', 'none ends within two weeks')
  const text = ending
    .map(({ id, role, ends_at }) => `${role} key ${id} ends at ${ends_at}`)
    .join(', ')
  return finding('keys', 'warn', text, 'make new ones with wakeful keys create, and hand them out')
}

function dueFinding({ table, lag_ms, late }: DatabaseFacts['due'][number]): Finding {
  const check = `due ${table}`
  if (lag_ms < LAG_WARN_MS) return finding(check, 'ok', 'nothing waits')
  const count = late >= LATE_MAX ? `more than ${LATE_MAX}` : String(late)
  const more = late > 0 ? `, ${count} for more than a minute` : ''
  return finding(
    check,
    lag_ms < LAG_FAIL_MS ? 'warn' : 'fail',
    `the oldest waits for ${Math.round(lag_ms / SECOND_MS)} s${more}`,
    'see that a server runs with WAKEFUL_SERVICES=all (or clock,turns,outbox) and AUTONOMY_ENABLED=true, and look for errors in its log; if it is only busy, start another one on the same PostgreSQL',
  )
}

function stuckFinding(stuck: DatabaseFacts['stuck']): Finding {
  const some = stuck.filter(({ count }) => count > 0)
  if (some.length === 0) return finding('leases', 'ok', 'none is stuck')
  const text = some.map(({ table, count }) => `${count} of ${table}`).join(', ')
  return finding(
    'leases',
    'fail',
    `${text}: the lease ended more than a minute ago and nobody took it up`,
    'no server takes over what another left: start one, or look for errors in the log of the one that runs',
  )
}

function vacuumFinding(
  kind: DatabaseFacts['kind'],
  autovacuum: boolean,
  tables: DatabaseFacts['tables'],
): Finding {
  if (kind === 'postgres' && !autovacuum)
    return finding(
      'vacuum',
      'fail',
      'autovacuum is off',
      'set autovacuum = on: hot tables would only ever grow',
    )
  const bloated = tables.filter(
    ({ live_rows, dead_rows }) =>
      dead_rows > DEAD_ROWS_MIN && dead_rows > (live_rows + dead_rows) * DEAD_SHARE_MAX,
  )
  const dead = tables.reduce((sum, { dead_rows }) => sum + dead_rows, 0)
  if (bloated.length === 0) return finding('vacuum', 'ok', `${dead} dead rows`)
  const text = bloated.map((each) => `${each.table} has ${each.dead_rows} dead rows`).join(', ')
  const names = bloated.map((each) => `wakeful.${each.table}`).join(', ')
  return finding('vacuum', 'warn', text, `run vacuum ${names}, and see why autovacuum lags`)
}

function connectionFindings(facts: DatabaseFacts): Finding[] {
  const found: Finding[] = []
  if (facts.connections !== null) {
    const { used, max } = facts.connections
    const crowded = used > max * CONNECTIONS_SHARE_MAX
    found.push(
      finding(
        'connections',
        crowded ? 'warn' : 'ok',
        `${used} of ${max} are used`,
        'raise max_connections, or put a pooler before the database',
      ),
    )
  }
  const { oldest_transaction_ms: ms } = facts
  if (ms > TRANSACTION_MAX_MS)
    found.push(
      finding(
        'transactions',
        'warn',
        `one has been open for ${Math.round(ms / MINUTE_MS)} min, so dead rows cannot be cleaned up`,
        'find it in pg_stat_activity (xact_start) and end it',
      ),
    )
  return found
}

/** The database owns the time of day; this machine's only matters to people who compare the two. */
export function judgeSkew(skewMs: number, uncertaintyMs: number): Finding {
  const off = Math.max(0, Math.abs(skewMs) - uncertaintyMs)
  const health = off > SKEW_FAIL_MS ? 'fail' : off > SKEW_WARN_MS ? 'warn' : 'ok'
  const way = skewMs > 0 ? 'ahead of' : 'behind'
  const text =
    health === 'ok'
      ? `the database and this machine agree within ${Math.max(1, Math.ceil(Math.abs(skewMs) + uncertaintyMs))} ms`
      : `the database is ${(off / SECOND_MS).toFixed(1)} s ${way} this machine`
  const advice = 'set both clocks by NTP: everything fires by the clock of the database'
  return finding('clock', health, text, advice)
}

export function judgeZones(here: string, server: string | null): Finding {
  if (here === '')
    return finding(
      'time zones',
      'fail',
      'this Node has no time zone data',
      'use a Node with full ICU',
    )
  if (server === null || server === here)
    return finding('time zones', 'ok', `tz data ${here}${server === null ? '' : ', as the server'}`)
  return finding(
    'time zones',
    'warn',
    `tz data ${here} here, ${server} on the server`,
    'local times told here may differ from those of the server: use the same Node on both',
  )
}

export function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const old = major < 20 || (major === 20 && minor < 19)
  return finding('node', old ? 'fail' : 'ok', version, 'use Node 20.19 or newer')
}

export function judgeDisk(path: string, usedBytes: number, freeBytes: number): Finding {
  const health = freeBytes < DISK_FREE_FAIL ? 'fail' : freeBytes < DISK_FREE_WARN ? 'warn' : 'ok'
  const text = `${path} takes ${bytesText(usedBytes)}, ${bytesText(freeBytes)} are free`
  const advice =
    'free some space, or set WAKEFUL_KEEP_DAYS so that what is done is deleted after a while'
  return finding('disk', health, text, advice)
}

export function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** step
  return `${step === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[step]}`
}

/** As bad as the worst of them. */
export function worst(findings: readonly Finding[]): Health {
  if (findings.some(({ health }) => health === 'fail')) return 'fail'
  return findings.some(({ health }) => health === 'warn') ? 'warn' : 'ok'
}
