/** The audit log: every change an operation made, written in the transaction of the change. */
import type { AuditEntry } from '../../core/identity/audit.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'

const INSERT = `insert into wakeful.audit_log (at, bucket, id, actor_key, actor_role, actor_user, acted_for, operation, object_id,
    owner, request_id, summary)
  select ${NOW}, * from unnest($2::smallint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[])`

/** All of them in one statement. `tx` is the transaction of what they tell of. */
export async function writeAudit(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await tx.query(INSERT, [
    tx.now(),
    entries.map((e) => bucketOf(e.owner ?? '')),
    entries.map(() => newId()),
    entries.map((e) => e.keyId),
    entries.map((e) => e.role),
    entries.map((e) => e.userId),
    entries.map((e) => e.actedFor),
    entries.map((e) => e.operation),
    entries.map((e) => e.objectId),
    entries.map((e) => e.owner),
    entries.map((e) => e.requestId),
    entries.map((e) => e.summary),
  ])
}

export interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly at_text: string
  readonly actor_key: string | null
  readonly actor_role: string
  readonly actor_user: string | null
  readonly acted_for: boolean
  readonly operation: string
  readonly object_id: string | null
  readonly owner: string | null
  readonly request_id: string
  readonly summary: string
}

export interface AuditPage {
  readonly where: Readonly<
    Partial<Record<'owner' | 'operation' | 'actor_key' | 'object_id', string>>
  >
  readonly limit: number
  readonly after: readonly [string, string] | null
}

/** Newest first. */
export async function listAudit(db: Db, page: AuditPage): Promise<AuditRow[]> {
  const values: unknown[] = [page.limit]
  const conditions = Object.entries(page.where).map(
    ([column, value]) => `${column} = $${values.push(value)}`,
  )
  if (page.where.owner !== undefined)
    conditions.push(`bucket = $${values.push(bucketOf(page.where.owner))}`)
  if (page.after !== null) {
    const [at, id] = page.after
    conditions.push(`(at, id) < ($${values.push(at)}::timestamptz, $${values.push(id)}::uuid)`)
  }
  return db.query<AuditRow>(
    `select id, at, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at_text, actor_key, actor_role,
       actor_user, acted_for, operation, object_id, owner, request_id, summary
     from wakeful.audit_log ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by at desc, id desc limit $1`,
    values,
  )
}
