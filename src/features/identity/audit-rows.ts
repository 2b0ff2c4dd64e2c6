/** The audit log: every change an operation made, written in the transaction of the change. */

import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import { rowsOf, statement } from '../../store/statement.ts'
import type { AuditEntry } from './audit.ts'

const INSERT = statement(
  {
    i: rowsOf<AuditEntry>({
      bucket: ['smallint', (e) => bucketOf(e.owner ?? '')],
      id: ['uuid', () => newId()],
      actor_key: ['text?', (e) => e.keyId],
      actor_role: ['text', (e) => e.role],
      actor_user: ['text?', (e) => e.userId],
      acted_for: ['boolean', (e) => e.actedFor],
      operation: ['text', (e) => e.operation],
      object_id: ['text?', (e) => e.objectId],
      owner: ['text?', (e) => e.owner],
      request_id: ['text', (e) => e.requestId],
      summary: ['text', (e) => e.summary],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.audit_log (at, bucket, id, actor_key, actor_role, actor_user, acted_for, operation, object_id,
      owner, request_id, summary)
    select ${NOW}, bucket, id, actor_key, actor_role, actor_user, acted_for, operation, object_id, owner, request_id, summary from ${i}`,
)

/** All of them in one statement. `tx` is the transaction of what they tell of. */
export async function writeAudit(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length > 0) await INSERT.run(tx, { i: entries })
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
