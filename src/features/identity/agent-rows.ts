/** Remote agents. Few rows: every process reads them all. A removed one keeps its name, and nothing else of use. */
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'

export interface AgentRow {
  readonly id: string
  readonly url: string
  /** `whsec_…` */
  readonly secret: string
  readonly timeout_ms: number
  /** Whose it is; null for everybody's. */
  readonly user_id: string | null
  readonly enabled: boolean
  readonly removed_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

const ROW =
  'id, url, secret, timeout_ms, user_id, enabled, removed_at, created_at, updated_at' as const

/** All of them, removed ones too, by name. */
export async function readAgents(db: Db): Promise<AgentRow[]> {
  return db.query<AgentRow>(`select ${ROW} from wakeful.agents order by id`)
}

/** For whom: null sees all; a user sees shared agents and their own, and changes their own. */
export interface AgentScope {
  readonly userId: string | null
}

const LIVE = 'removed_at is null and ($1::text is null or user_id is null or user_id = $1)'

export async function listAgents(
  db: Db,
  scope: AgentScope,
  page: { after: string | null; limit: number },
): Promise<AgentRow[]> {
  return db.query<AgentRow>(
    `select ${ROW} from wakeful.agents where ${LIVE} and ($2::text is null or id > $2) order by id limit $3`,
    [scope.userId, page.after, page.limit],
  )
}

export async function getAgent(db: Db, scope: AgentScope, id: string): Promise<AgentRow | null> {
  const [row] = await db.query<AgentRow>(
    `select ${ROW} from wakeful.agents where ${LIVE} and id = $2`,
    [scope.userId, id],
  )
  return row ?? null
}

export interface NewAgent {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly timeoutMs: number
  readonly userId: string | null
  readonly enabled: boolean
}

const INSERT = statement(
  {
    id: 'text',
    url: 'text',
    secret: 'text',
    timeoutMs: 'int',
    userId: 'text?',
    enabled: 'boolean',
  },
  (
    a,
  ) => `insert into wakeful.agents as a (id, url, secret, timeout_ms, user_id, enabled, created_at, updated_at)
    values (${a.id}, ${a.url}, ${a.secret}, ${a.timeoutMs}, ${a.userId}, ${a.enabled}, ${NOW}, ${NOW})
    on conflict (id) do update
      set url = excluded.url, secret = excluded.secret, timeout_ms = excluded.timeout_ms, user_id = excluded.user_id,
          enabled = excluded.enabled, removed_at = null, created_at = excluded.created_at, updated_at = excluded.updated_at
      where a.removed_at is not null
    returning ${ROW}`,
)

/** Null when the name is taken. A name that was removed may be taken again. */
export async function insertAgent(db: Db, agent: NewAgent): Promise<AgentRow | null> {
  const [row] = await INSERT.run<AgentRow>(db, agent)
  return row ?? null
}

export interface AgentChange {
  readonly url: string | null
  readonly secret: string | null
  readonly timeoutMs: number | null
  readonly enabled: boolean | null
}

const UPDATE = statement(
  {
    owner: 'text?',
    id: 'text',
    url: 'text?',
    secret: 'text?',
    timeoutMs: 'int?',
    enabled: 'boolean?',
  },
  ({ owner, id, url, secret, timeoutMs, enabled }) => `update wakeful.agents
    set url = coalesce(${url}, url), secret = coalesce(${secret}, secret), timeout_ms = coalesce(${timeoutMs}, timeout_ms),
        enabled = coalesce(${enabled}, enabled), updated_at = ${NOW}
    where removed_at is null and (${owner} is null or user_id = ${owner}) and id = ${id}
    returning ${ROW}`,
)

/** Null leaves a field as it is. */
export async function updateAgent(
  db: Db,
  scope: AgentScope,
  id: string,
  change: AgentChange,
): Promise<AgentRow | null> {
  const [row] = await UPDATE.run<AgentRow>(db, { owner: scope.userId, id, ...change })
  return row ?? null
}

/** The secret goes with it: nothing is signed in that name any more. */
export async function removeAgent(db: Db, scope: AgentScope, id: string): Promise<boolean> {
  const rows = await db.query(
    `update wakeful.agents set removed_at = ${NOW}, updated_at = ${NOW}, secret = ''
     where removed_at is null and ($2::text is null or user_id = $2) and id = $3 returning id`,
    [db.now(), scope.userId, id],
  )
  return rows.length > 0
}

/** These names run in a process now: that they once were somebody else's is forgotten. */
export async function forgetRemoved(db: Db, ids: readonly string[]): Promise<void> {
  await db.query(
    'delete from wakeful.agents where removed_at is not null and id = any($1::text[])',
    [ids],
  )
}
