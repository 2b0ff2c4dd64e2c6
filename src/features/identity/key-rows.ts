/** Keys, and the tokens that stand for them. Only hashes are here; the secrets were shown once. */

import type { Db } from '../../store/db.ts'
import { inMs, NOW } from '../../store/due.ts'
import type { Table } from '../../store/page.ts'
import { rows, statement } from '../../store/statement.ts'
import type { Role } from './key.ts'

export interface KeyRow {
  readonly id: string
  readonly role: Role
  readonly user_id: string | null
  readonly agent_id: string | null
  readonly owner_did: string | null
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
  readonly created_at: Date
}

const ROW =
  'id, role, user_id, agent_id, owner_did, expires_at, revoked_at, last_used_at, created_at'

export interface NewKey {
  readonly id: string
  readonly hash: Buffer
  readonly role: Role
  readonly userId: string | null
  readonly agentId: string | null
  readonly ownerDid: string | null
  readonly expiresAt: Date | null
}

const INSERT = statement(
  {
    id: 'uuid',
    hash: 'bytea',
    role: 'text',
    userId: 'text?',
    agentId: 'text?',
    ownerDid: 'text?',
    expiresAt: 'timestamptz?',
  },
  (
    k,
  ) => `insert into wakeful.api_keys (id, hash, role, user_id, agent_id, owner_did, expires_at, created_at)
    select ${k.id}, ${k.hash}, ${k.role}, ${k.userId}, ${k.agentId}, ${k.ownerDid}, ${k.expiresAt}, ${NOW}
    where ${k.expiresAt} is null or ${k.expiresAt} > ${NOW}
    returning ${ROW}`,
)

/** Null, and nothing written, when it would have ended already. */
export async function insertKey(db: Db, key: NewKey): Promise<KeyRow | null> {
  const [row] = await INSERT.run<KeyRow>(db, key)
  return row ?? null
}

/** Tokens are not listed: they come and go with their key. */
export const KEYS: Table<KeyRow> = {
  from: 'wakeful.api_keys',
  columns: ROW,
  where: 'parent_id is null',
}

/** Null when there is no such key. One that was revoked before keeps its first instant. */
export async function revokeKey(db: Db, id: string): Promise<KeyRow | null> {
  const [row] = await db.query<KeyRow>(
    `update wakeful.api_keys set revoked_at = coalesce(revoked_at, ${NOW})
     where id = $2::uuid and parent_id is null returning ${ROW}`,
    [db.now(), id],
  )
  return row ?? null
}

/** A key that is valid now, as the door needs it. */
export interface LiveKey {
  readonly id: string
  /** The key that a token was made from; it ends with it. */
  readonly parent_id: string | null
  readonly hash: Buffer
  readonly role: Role
  readonly user_id: string | null
  readonly agent_id: string | null
  readonly owner_did: string | null
  /** How long it will stay valid unless it is revoked; null: without end. */
  readonly left_ms: number | null
  /** Nobody has noted its use for a while. */
  readonly use_unnoted: boolean
}

const LIVE = (key: string) =>
  `${key}.revoked_at is null and (${key}.expires_at is null or ${key}.expires_at > ${NOW})`

/** Those of `ids` that are valid now: what is unknown, revoked or expired, or whose parent is, is left out. */
export async function liveKeys(
  db: Db,
  ids: readonly string[],
  notedMs: number,
): Promise<LiveKey[]> {
  return db.query<LiveKey>(
    `select k.id, k.parent_id, k.hash, k.role, k.user_id, k.agent_id, k.owner_did,
       (extract(epoch from least(k.expires_at, p.expires_at) - ${NOW}) * 1000)::float8 as left_ms,
       coalesce(k.last_used_at, '-infinity') <= ${inMs('-$3::float8')} as use_unnoted
     from wakeful.api_keys k left join wakeful.api_keys p on p.id = k.parent_id
     where k.id = any($2::uuid[]) and ${LIVE('k')} and (k.parent_id is null or (p.id is not null and ${LIVE('p')}))`,
    [db.now(), ids, notedMs],
  )
}

/** One write for all keys used lately. A token's use is its key's use, too. */
export async function noteUse(db: Db, ids: readonly string[]): Promise<void> {
  await db.query(
    `update wakeful.api_keys set last_used_at = ${NOW}
     where id = any($2::uuid[]) or id in (select parent_id from wakeful.api_keys where id = any($2::uuid[]))`,
    [db.now(), ids],
  )
}

export async function hasAdminKey(db: Db): Promise<boolean> {
  const rows = await db.query(
    `select 1 from wakeful.api_keys k where k.role = 'admin' and ${LIVE('k')} limit 1`,
    [db.now()],
  )
  return rows.length > 0
}

const INSERT_TOKEN = statement(
  { id: 'uuid', hash: 'bytea', did: 'text', seconds: 'int' },
  ({ id, hash, did, seconds }) => `insert into wakeful.api_keys
      (id, hash, role, user_id, agent_id, owner_did, parent_id, expires_at, created_at)
    select ${id}, ${hash}, 'agent', k.user_id, k.agent_id, k.owner_did, k.id, ${inMs(`${seconds} * 1000`)}, ${NOW}
    from (select * from wakeful.api_keys k
          where k.owner_did = ${did} and k.role = 'agent' and k.parent_id is null and ${LIVE('k')}
          order by k.created_at desc limit 1) k
    returning parent_id, user_id`,
)

/** A token with the rights of the newest valid agent key made for this DID; null without one. */
export async function insertToken(
  db: Db,
  token: { id: string; hash: Buffer; did: string; seconds: number },
): Promise<{ parent_id: string; user_id: string } | null> {
  const [row] = await INSERT_TOKEN.run<{ parent_id: string; user_id: string }>(db, token)
  return row ?? null
}

/** An agent of a user's, as a session's key names both. */
interface AgentOfUser {
  readonly userId: string
  readonly agentId: string | null
}

export const agentOf = ({ userId, agentId }: AgentOfUser) => `${userId}:${agentId}`

const DIDS = statement(
  { a: rows({ userId: 'text', agentId: 'text?' }) },
  ({ a }) => `select a.user_id, a.agent_id, d.owner_did
    from (select distinct user_id, agent_id from ${a}) a
    cross join lateral (select k.owner_did from wakeful.api_keys k
      -- Written so that no index of all keys fits: only this agent's are wanted.
      where k.user_id = a.user_id and k.agent_id = a.agent_id and k.role || '' = 'agent' and coalesce(k.parent_id, k.id) = k.id and ${LIVE('k')}
      order by k.created_at desc, k.id desc limit 1) d`,
)

/** By which names these agents' newest valid keys act; left out are those without a key of their own. */
export async function agentDids(
  db: Db,
  agents: readonly AgentOfUser[],
): Promise<Map<string, string>> {
  const found = await DIDS.run<{ user_id: string; agent_id: string; owner_did: string }>(db, {
    a: agents,
  })
  return new Map(
    found.map(({ user_id: userId, agent_id: agentId, owner_did: did }) => [
      agentOf({ userId, agentId }),
      did,
    ]),
  )
}
