/** What the database can tell about its own health. Cheap: nothing here reads more than it counts. */

import { stampedAheadMs } from '../../../src/store/ahead.ts'
import type { Db } from '../../../src/store/db.ts'
// All of it, so that a due table added there is looked after here without a word.
import * as due from '../../../src/store/due.ts'
import { migrationStatus } from '../../../src/store/migrate.ts'
import { type DatabaseFacts, KEYS_END_DAYS, LATE_MAX } from './facts.ts'

const { NOW } = due
const LATE = due.inMs('-60000')

/** Under what name a table is told, and which. */
const DUE_TABLES = Object.entries(due).flatMap(([name, table]) =>
  isDueTable(table) ? [{ name: name.toLowerCase().replaceAll('_', ' '), table }] : [],
)

function isDueTable(value: unknown): value is due.DueTable {
  return typeof value === 'object' && value !== null && 'due' in value && 'live' in value
}

/** Which rows hold a lease that has run out a while ago; each names the end of the lease. */
const LEASES: readonly { table: string; from: string; where: string; until: string }[] = [
  {
    table: 'sessions',
    from: 'wakeful.sessions',
    where: 'due_at is not null and claim_token is not null',
    until: 'leased_until',
  },
  {
    table: 'alarms',
    from: 'wakeful.alarms',
    where: 'due_at is not null and claim_token is not null',
    until: 'due_at',
  },
  {
    table: 'effects',
    from: 'wakeful.effects',
    where: `due_at is not null and status = 'executing'`,
    until: 'due_at',
  },
]

export async function examine(db: Db): Promise<DatabaseFacts> {
  const server = await serverFacts(db)
  const migrations = (await migrationStatus(db)).map(({ name, appliedAt }) => ({
    name,
    applied_at: appliedAt?.toISOString() ?? null,
  }))
  const whole = migrations.every(({ applied_at }) => applied_at !== null)
  return {
    ...server,
    migrations,
    clock_ahead_ms: whole ? await stampedAheadMs(db) : 0,
    due: whole ? await dueFacts(db) : [],
    stuck: whole ? await stuckFacts(db) : [],
    ending_keys: whole ? await endingKeys(db) : [],
    tables: await tableFacts(db),
  }
}

async function serverFacts(db: Db) {
  const [row] = await db.query<{
    version: string
    now: Date
    size: string
    autovacuum: string
    used: number
    max: number
    oldest: number | null
  }>(
    `select split_part(current_setting('server_version'), ' ', 1) as version, ${NOW} as now,
       pg_database_size(current_database())::text as size, current_setting('autovacuum') as autovacuum,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
       current_setting('max_connections')::int as max,
       (select extract(epoch from max(clock_timestamp() - xact_start))::float8 * 1000 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend') as oldest`,
    [db.now()],
  )
  if (row === undefined) throw new Error('the database did not answer')
  const { version, now, size, autovacuum, used, max, oldest } = row
  return {
    kind: db.kind,
    version,
    now: now.toISOString(),
    size_bytes: Number(size),
    autovacuum: autovacuum === 'on',
    connections: db.kind === 'postgres' ? { used, max } : null,
    oldest_transaction_ms: db.kind === 'postgres' ? Math.max(0, oldest ?? 0) : 0,
  }
}

async function dueFacts(db: Db): Promise<DatabaseFacts['due']> {
  const facts: DatabaseFacts['due'][number][] = []
  for (const { name, table } of DUE_TABLES) {
    const lag_ms = await due.dueLagMs(db, table)
    const [row] = await db.query<{ late: number }>(
      `select count(*)::int as late from (select 1 from ${table.name} t
       where t.${table.live} and t.${table.due} < ${LATE} limit ${LATE_MAX}) l`,
      [db.now()],
    )
    facts.push({ table: name, lag_ms, late: row?.late ?? 0 })
  }
  return facts
}

async function stuckFacts(db: Db): Promise<DatabaseFacts['stuck']> {
  const facts: DatabaseFacts['stuck'][number][] = []
  for (const { table, from, where, until } of LEASES) {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::int as count from (select 1 from ${from}
       where ${where} and ${until} < ${LATE} limit ${LATE_MAX}) s`,
      [db.now()],
    )
    facts.push({ table, count: row?.count ?? 0 })
  }
  return facts
}

/** Only keys in use: losing one that was never shown harms nobody. */
async function endingKeys(db: Db): Promise<DatabaseFacts['ending_keys']> {
  const rows = await db.query<{ id: string; role: string; ends_at: Date }>(
    `select id, role, expires_at as ends_at from wakeful.api_keys
     where parent_id is null and revoked_at is null and last_used_at is not null and expires_at > ${NOW}
       and expires_at <= ${due.inMs(String(KEYS_END_DAYS * 86_400_000))} order by expires_at limit 20`,
    [db.now()],
  )
  return rows.map((row) => ({ ...row, ends_at: row.ends_at.toISOString() }))
}

async function tableFacts(db: Db): Promise<DatabaseFacts['tables']> {
  const rows = await db.query<{ table: string; live: number; dead: number; at: Date | null }>(
    `select relname::text as table, n_live_tup::float8 as live, n_dead_tup::float8 as dead,
       greatest(last_vacuum, last_autovacuum) as at
     from pg_stat_user_tables where schemaname = $1 order by relname`,
    [db.schema],
  )
  return rows.map(({ table, live, dead, at }) => ({
    table,
    live_rows: live,
    dead_rows: dead,
    vacuumed_at: at?.toISOString() ?? null,
  }))
}
