/** State of our subscriptions at other servers. */
import { newWebhookSecret } from '../../../src/core/calls/signature.ts'
import type { Db } from '../../../src/store/db.ts'
import { NOW } from '../../../src/store/due.ts'
import { statement } from '../../../src/store/statement.ts'

export interface McpSource {
  readonly key: string
  readonly secret: string
  readonly subscription_id: string | null
  readonly cursor: string | null
  readonly renew_at: Date | null
  readonly ended: string | null
}

const ROW = 'key, secret, subscription_id, cursor, renew_at, ended'

export async function findMcpSource(db: Db, key: string): Promise<McpSource | null> {
  const [row] = await db.query<McpSource>(
    `select ${ROW} from wakeful.mcp_sources where key = $1::text`,
    [key],
  )
  return row ?? null
}

const ENSURE = statement(
  { key: 'text', secret: 'text' },
  ({ key, secret }) => `insert into wakeful.mcp_sources (key, secret, created_at, updated_at)
    values (${key}, ${secret}, ${NOW}, ${NOW}) on conflict (key) do nothing`,
)

/** Stored with its secret before the other server is called. */
export async function ensureMcpSource(db: Db, key: string): Promise<McpSource> {
  await ENSURE.run(db, { key, secret: newWebhookSecret() })
  const row = await findMcpSource(db, key)
  if (row === null) throw new Error(`the state of ${key} was not written`)
  return row
}

const RENEW = statement(
  { key: 'text', id: 'text', cursor: 'text?', renewAt: 'timestamptz?' },
  (p) => `update wakeful.mcp_sources
    set subscription_id = ${p.id}, cursor = coalesce(cursor, ${p.cursor}), renew_at = ${p.renewAt}, updated_at = ${NOW}
    where key = ${p.key}`,
)

/** Stores their answer. An existing cursor of ours takes precedence over theirs. */
export async function renewMcpSource(
  db: Db,
  renewed: { key: string; id: string; cursor: string | null; renewAt: Date | null },
): Promise<void> {
  await RENEW.run(db, renewed)
}

export async function moveMcpSource(db: Db, key: string, cursor: string): Promise<void> {
  await db.query(
    `update wakeful.mcp_sources set cursor = $3::text, updated_at = ${NOW} where key = $2::text`,
    [db.now(), key, cursor],
  )
}

export async function endMcpSource(db: Db, key: string, why: string): Promise<void> {
  await db.query(
    `update wakeful.mcp_sources set ended = $3::text, updated_at = ${NOW} where key = $2::text`,
    [db.now(), key, why],
  )
}
