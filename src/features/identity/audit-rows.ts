/** The audit log: every change an operation made, written in the transaction of the change. */

import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import type { Table } from '../../store/page.ts'
import { type Columns, rowsOf, statement } from '../../store/statement.ts'
import type { AuditEntry } from './audit.ts'

/** A row, and the entry that tells of it; null where nobody asked for it. */
interface Audited {
  readonly audit: AuditEntry | null
}

/** What a statement takes for the entries that it writes with the rows they tell of. */
export const ENTRY: Columns<Audited> = {
  audit_id: ['uuid?', ({ audit }) => (audit === null ? null : newId())],
  actor_key: ['text?', ({ audit }) => audit?.keyId ?? null],
  actor_role: ['text?', ({ audit }) => audit?.role ?? null],
  actor_user: ['text?', ({ audit }) => audit?.userId ?? null],
  acted_for: ['boolean?', ({ audit }) => audit?.actedFor ?? null],
  operation: ['text?', ({ audit }) => audit?.operation ?? null],
  object_id: ['text?', ({ audit }) => audit?.objectId ?? null],
  owner: ['text?', ({ audit }) => audit?.owner ?? null],
  request_id: ['text?', ({ audit }) => audit?.requestId ?? null],
  summary: ['text?', ({ audit }) => audit?.summary ?? null],
}
const [ID, ...NAMES] = Object.keys(ENTRY)

/** Writes the entries that stand in `from` beside the bucket of their owner. */
export const insertAudit = (
  from: string,
  where = 'true',
) => `insert into wakeful.audit_log (at, bucket, id, ${NAMES})
  select ${NOW}, bucket, ${ID}, ${NAMES} from ${from} where ${ID} is not null and ${where}`

const INSERT = statement(
  {
    i: rowsOf<Audited>({
      bucket: ['smallint', ({ audit }) => bucketOf(audit?.owner ?? '')],
      ...ENTRY,
    }),
  },
  ({ i }) => insertAudit(i),
)

/** All of them in one statement. `tx` is the transaction of what they tell of. */
export async function writeAudit(tx: Db, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length > 0) await INSERT.run(tx, { i: entries.map((audit) => ({ audit })) })
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
  columns: `id, at, ${NAMES.join(', ')}`,
  at: 'at',
}
