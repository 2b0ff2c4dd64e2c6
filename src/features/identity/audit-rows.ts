/** The audit log: every change an operation made, written in the transaction of the change. */

import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import type { Table } from '../../store/page.ts'
import { type Columns, rowsOf, statement } from '../../store/statement.ts'
import type { AuditEntry } from './audit.ts'

const ENTRY: Columns<AuditEntry> = {
  actor_key: ['text?', (e) => e.keyId],
  actor_role: ['text', (e) => e.role],
  actor_user: ['text?', (e) => e.userId],
  acted_for: ['boolean', (e) => e.actedFor],
  operation: ['text', (e) => e.operation],
  object_id: ['text?', (e) => e.objectId],
  owner: ['text?', (e) => e.owner],
  request_id: ['text', (e) => e.requestId],
  summary: ['text', (e) => e.summary],
}

/** What a statement takes for the entries that it writes with the rows they tell of; null without one. */
export function auditColumns<S>(entryOf: (source: S) => AuditEntry | null): Columns<S> {
  const columns = Object.entries(ENTRY).map(([name, [type, of]]) => {
    const read = of as (entry: AuditEntry) => unknown
    const from = (source: S) => {
      const entry = entryOf(source)
      return entry === null ? null : read(entry)
    }
    return [name, [type, from]]
  })
  return {
    ...(Object.fromEntries(columns) as Columns<S>),
    audit_id: ['uuid?', (source) => (entryOf(source) === null ? null : newId())],
  }
}

/** Writes the entries that stand in `from` beside the bucket of their owner. */
export function insertAudit(from: string, where = 'true'): string {
  const names = Object.keys(ENTRY).join(', ')
  return `insert into wakeful.audit_log (at, bucket, id, ${names})
    select ${NOW}, bucket, audit_id, ${names} from ${from} where audit_id is not null and ${where}`
}

const INSERT = statement(
  {
    i: rowsOf<AuditEntry>({
      bucket: ['smallint', (e) => bucketOf(e.owner ?? '')],
      ...auditColumns((entry) => entry),
    }),
  },
  ({ i }) => insertAudit(i),
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
