/** The audit log: every change an operation made, written in the transaction of the change. */

import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import type { Table } from '../../store/page.ts'
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

export const AUDIT: Table<AuditRow> = {
  from: 'wakeful.audit_log',
  columns:
    'id, at, actor_key, actor_role, actor_user, acted_for, operation, object_id, owner, request_id, summary',
  at: 'at',
}
