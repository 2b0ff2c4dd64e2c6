/**
 * The two roles of row-level security of an installation. They belong to the whole server, not to one database, so they are made here
 * and not by a migration: several databases, and several processes, may want them at once.
 */
import { type Db, installationOf, sqlState } from './db.ts'

export interface Roles {
  /** Sees and writes the rows of the owner that `wakeful.owner` names, and nothing else. */
  readonly owner: string
  /** Sees and writes everything: the engine, and those who may reach every owner. */
  readonly engine: string
}

/** Each installation has its own roles. */
export function rolesOf(schema: string): Roles {
  const own = installationOf(schema)
  return { owner: `${own}_owner`, engine: `${own}_engine` }
}

const ATTEMPTS_MAX = 5
/** Somebody else has just done it: duplicate object, unique violation, or a catalog row changed under us. */
const BEATEN: ReadonlySet<string | undefined> = new Set(['42710', '23505', 'XX000'])
const NOT_ALLOWED = '42501'

interface State {
  readonly user: string
  readonly missing: string[]
  /** We act with the engine's rights, and may become the owner's role. */
  readonly member: boolean
}

/** Makes the roles and this connection's membership where they are missing, or says what an administrator must run. */
export async function ensureRoles(db: Db): Promise<void> {
  const roles = rolesOf(db.schema)
  for (let attempt = 1; ; attempt++) {
    const state = await stateOf(db, roles)
    if (state.missing.length === 0 && state.member) return
    if (attempt > ATTEMPTS_MAX) throw new Error(whatToRun(state, roles))
    try {
      for (const role of state.missing) await db.exec(`create role ${role} nologin`)
      if (!(await stateOf(db, roles)).member)
        await db.exec(`grant ${roles.owner}, ${roles.engine} to current_user`)
    } catch (error) {
      if (sqlState(error) === NOT_ALLOWED)
        throw new Error(whatToRun(state, roles), { cause: error })
      if (!BEATEN.has(sqlState(error))) throw error
    }
  }
}

async function stateOf(db: Db, { owner, engine }: Roles): Promise<State> {
  const [found] = await db.query<{ user: string; roles: string[]; version: number }>(
    `select current_user::text as user, current_setting('server_version_num')::int as version,
       array(select rolname::text from pg_roles where rolname in ('${owner}', '${engine}')) as roles`,
  )
  if (found === undefined) throw new Error('the database did not say who we are')
  const missing = [owner, engine].filter((role) => !found.roles.includes(role))
  if (missing.length > 0) return { user: found.user, missing, member: false }
  // Since PostgreSQL 16 a member may lack the right to become the role.
  const become = found.version >= 160_000 ? 'SET' : 'MEMBER'
  const [row] = await db.query<{ member: boolean }>(
    `select pg_has_role('${engine}', 'USAGE') and pg_has_role('${owner}', '${become}') as member`,
  )
  return { user: found.user, missing, member: row?.member ?? false }
}

function whatToRun({ user, missing }: State, { owner, engine }: Roles): string {
  const make = missing.map((role) => `create role ${role} nologin; `).join('')
  const name = `"${user.replaceAll('"', '""')}"`
  return (
    `the database user ${name} may not make the roles that keep owners apart. Let an administrator of the server run, once: ` +
    `${make}grant ${owner}, ${engine} to ${name};`
  )
}
