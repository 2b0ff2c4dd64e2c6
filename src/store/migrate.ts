/**
 * Plain SQL migrations, up and down, the same files for both stores. Each runs in a transaction of
 * its own together with its mark, under an advisory lock: a killed migration leaves nothing, and two
 * processes starting at once do it once.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../root.ts'
import { type Db, installationOf, LOCKING } from './db.ts'
import { refusedServer } from './postgres.ts'
import { ensureRoles } from './roles.ts'
import { IN_SEQUENCE, MADE_WHOLE, spread } from './shards/citus.ts'

const DIRECTORY = `${ROOT}migrations/`
/** Any fixed number; it names our lock among others in the same database. */
const LOCK = 7_105_128_331

export interface Migration {
  readonly version: number
  readonly name: string
  readonly up: string
  readonly down: string
}
export interface MigrationState {
  readonly version: number
  readonly name: string
  readonly appliedAt: Date | null
}

export function readMigrations(directory = DIRECTORY): Migration[] {
  const ups = readdirSync(directory)
    .filter((file) => file.endsWith('.up.sql'))
    .sort()
  return ups.map((file) => {
    const name = file.slice(0, -'.up.sql'.length)
    const up = readFileSync(`${directory}${file}`, 'utf8')
    const down = readFileSync(`${directory}${name}.down.sql`, 'utf8')
    return { version: Number(name.slice(0, 4)), name, up, down }
  })
}

const checksum = (sql: string) => createHash('sha256').update(sql).digest('hex').slice(0, 16)

async function ensureHome(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
    if (db.spread) await tx.exec(MADE_WHOLE)
    await tx.exec(`create schema if not exists wakeful;
      create table if not exists wakeful.migrations (
        version int primary key, name text not null, checksum text not null,
        applied_at timestamptz not null default now());`)
  })
}

interface Mark {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly applied_at: Date
}

async function applied(db: Db): Promise<Map<number, Mark>> {
  const exists = await db.query(
    `select 1 from pg_tables where schemaname = $1 and tablename = 'migrations'`,
    [db.schema],
  )
  if (exists.length === 0) return new Map()
  const rows = await db.query<Mark>(
    'select version, name, checksum, applied_at from wakeful.migrations order by version',
  )
  return new Map(rows.map((row) => [row.version, row]))
}

export async function migrationStatus(db: Db, all = readMigrations()): Promise<MigrationState[]> {
  const marks = await applied(db)
  return all.map(({ version, name }) => ({
    version,
    name,
    appliedAt: marks.get(version)?.applied_at ?? null,
  }))
}

/** The names of what is missing. What was applied with other contents throws, as it would on the way up. */
async function missingMigrations(db: Db, all = readMigrations()): Promise<string[]> {
  const marks = await applied(db)
  return all
    .filter((migration) => !isApplied(migration, marks.get(migration.version)?.checksum))
    .map(({ name }) => name)
}

/** Of the marks of all 24 migrations that the baseline replaces: version, name and checksum, a line each. */
const REPLACED = '3eb63cbc04eb70bb'

/**
 * A database with exactly the migrations that the baseline replaces has its schema already: it gets the baseline's mark instead of
 * theirs. To be removed with 1.0.
 */
async function adoptBaseline(db: Db, all: readonly Migration[], mode: 'auto' | 'check') {
  const [baseline] = all
  if (baseline === undefined || (await replacedMarks(db)) === null) return
  if (mode === 'check')
    throw new Error(
      `WAKEFUL_MIGRATE is check, and the database lacks ${baseline.name}: run "wakeful migrate up" first`,
    )
  await db.tx(async (tx) => {
    await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
    const marks = await replacedMarks(tx)
    if (marks === null) return
    if (checksum(marks.join('\n')) !== REPLACED)
      throw new Error(
        `the database was last migrated by a development version (${marks.at(-1)}): run "wakeful migrate up" of the last version before 0001_baseline first`,
      )
    await tx.query('delete from wakeful.migrations')
    await tx.query('insert into wakeful.migrations (version, name, checksum) values ($1, $2, $3)', [
      baseline.version,
      baseline.name,
      checksum(baseline.up),
    ])
  })
}

/** Null where the schema did not begin with the first of them. */
async function replacedMarks(db: Db): Promise<string[] | null> {
  const marks = [...(await applied(db)).values()]
  if (marks[0]?.name !== '0001_foundation') return null
  return marks.map(({ version, name, checksum }) => `${version} ${name} ${checksum}`)
}

/** Brings the schema up; or, for those who do that in a step of its own (`check`), refuses where something is missing. */
export async function ensureMigrated(
  db: Db,
  mode: 'auto' | 'check',
  all = readMigrations(),
): Promise<string[]> {
  await refuseServer(db)
  await adoptBaseline(db, all, mode)
  await refuseNewer(db, all)
  const missing = mode === 'check' ? await missingMigrations(db, all) : []
  if (missing.length === 0) return migrateUp(db, all)
  throw new Error(
    `WAKEFUL_MIGRATE is check, and the database lacks ${missing.join(', ')}: run "wakeful migrate up" first`,
  )
}

/** Before the first statement of a migration: half of them would be applied when one fails. */
async function refuseServer(db: Db): Promise<void> {
  const [server] = await db.query<Parameters<typeof refusedServer>[0]>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as version_num,
       current_setting('server_encoding') as encoding`,
  )
  const refused = server === undefined ? null : refusedServer(server)
  if (refused !== null) throw new Error(refused)
}

/** An older version would write rows that the newer schema was not made for, and read those it does not know. */
async function refuseNewer(db: Db, all: readonly Migration[]): Promise<void> {
  const known = new Set(all.map(({ version }) => version))
  const newer = [...(await applied(db))].filter(([version]) => !known.has(version))
  if (newer.length === 0) return
  throw new Error(
    `the database was migrated by a newer version of Wakeful (${newer.map(([, { name }]) => name).join(', ')}): start that one, or take it back there with "wakeful migrate down --steps ${newer.length} --yes"`,
  )
}

/** A new embedded store has the schema from the start: for those who check, a directory without one is a mistake in its name. */
export function refuseFresh(url: string, mode: 'auto' | 'check'): void {
  const directory = /^pglite:(.*)$/s.exec(url)?.[1]
  if (mode === 'auto' || directory === undefined || existsSync(join(directory, 'PG_VERSION')))
    return
  throw new Error(
    `WAKEFUL_MIGRATE is check, and there is no store in ${directory}: run "wakeful migrate up" first, or set DATABASE_URL to where it is`,
  )
}

/** Applies what is missing, in order. Returns the names of what it applied. */
export async function migrateUp(db: Db, all = readMigrations()): Promise<string[]> {
  await adoptBaseline(db, all, 'auto')
  // Most starts find everything there: then a look is enough, without a lock.
  if ((await missingMigrations(db, all)).length === 0) {
    await ensureRoles(db)
    if (db.spread) await handOver(db)
    return []
  }
  await ensureHome(db)
  await ensureRoles(db)
  const done: string[] = []
  for (const migration of all) {
    const fresh = await db.tx(async (tx) => {
      await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
      const mark = (await applied(tx)).get(migration.version)
      if (isApplied(migration, mark?.checksum)) return false
      await change(tx, migration.up)
      await tx.query(
        'insert into wakeful.migrations (version, name, checksum) values ($1, $2, $3)',
        [migration.version, migration.name, checksum(migration.up)],
      )
      return true
    })
    if (fresh) done.push(migration.name)
  }
  if (db.spread) await handOver(db)
  return done
}

async function change(tx: Db, sql: string): Promise<void> {
  if (tx.spread) await tx.exec(IN_SEQUENCE)
  await tx.exec(sql)
}

async function handOver(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
    await tx.exec(IN_SEQUENCE)
    await spread(tx)
  })
}

function isApplied(migration: Migration, found: string | undefined): boolean {
  if (found === undefined) return false
  if (found === checksum(migration.up)) return true
  throw new Error(
    `migration ${migration.name} was applied with other contents: restore the file, and put the change into a new migration`,
  )
}

/** Takes back the newest `steps` of the applied migrations; taking back all of them removes the schema too. */
export async function migrateDown(
  db: Db,
  steps = Number.MAX_SAFE_INTEGER,
  all = readMigrations(),
): Promise<string[]> {
  const undone: string[] = []
  const marks = await applied(db)
  const newest = all.filter(({ version }) => marks.has(version)).reverse()
  for (const migration of newest.slice(0, Math.max(0, steps))) {
    const ran = await db.tx(async (tx) => {
      await tx.query(LOCKING, [installationOf(tx.schema), LOCK])
      if (!(await applied(tx)).has(migration.version)) return false
      await change(tx, migration.down)
      await tx.query('delete from wakeful.migrations where version = $1', [migration.version])
      return true
    })
    if (ran) undone.push(migration.name)
  }
  // Without `cascade`: a table that a down file forgot stops us here instead of vanishing silently.
  const exists = await db.query('select 1 from pg_namespace where nspname = $1', [db.schema])
  if (exists.length > 0 && (await applied(db)).size === 0) {
    await db.exec('drop table if exists wakeful.migrations; drop schema wakeful;')
  }
  return undone
}
