/** Dismissals and retries of ledger entries. */
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'

export interface SlotMark {
  readonly id: string
  readonly dismissed_at: Date | null
  readonly dismissed_by: string | null
  readonly retried_at: Date | null
  readonly retried_as: string | null
}

interface Marked {
  readonly row: { readonly bucket: number; readonly id: string }
}

const KEYS = { k: rows({ bucket: 'smallint', id: 'uuid' }) }
const READ = statement(
  KEYS,
  ({ k }) => `select m.id, m.dismissed_at, m.dismissed_by, m.retried_at, m.retried_as from ${k}
    join wakeful.slot_marks m on ${eqByKey('m.bucket', 'k.bucket')} and ${eqByKey('m.id', 'k.id')}`,
)

/** By the ids of the slots. */
export async function slotMarks(db: Db, slots: readonly Marked[]): Promise<Map<string, SlotMark>> {
  if (slots.length === 0) return new Map()
  const k = slots.map(({ row: { bucket, id } }) => ({ bucket, id }))
  const marks = await READ.run<SlotMark>(db, { k })
  return new Map(marks.map((mark) => [mark.id, mark]))
}

export interface NewMark {
  readonly bucket: number
  readonly id: string
  readonly userId: string
  readonly agentId: string | null
  readonly by: string
}

const DISMISS = `insert into wakeful.slot_marks as m (bucket, id, user_id, agent_id, dismissed_at, dismissed_by, updated_at)
  values ($2, $3::uuid, $4, $5, ${NOW}, $6, ${NOW}) on conflict (bucket, id) do update
  set dismissed_at = coalesce(m.dismissed_at, excluded.dismissed_at), dismissed_by = coalesce(m.dismissed_by, excluded.dismissed_by),
    updated_at = excluded.updated_at`

/** The first dismissal is kept. */
export async function dismissSlot(tx: Db, mark: NewMark): Promise<void> {
  const { bucket, id, userId, agentId, by } = mark
  await tx.query(DISMISS, [tx.now(), bucket, id, userId, agentId, by])
}

const RETRY = `insert into wakeful.slot_marks as m (bucket, id, user_id, agent_id, retried_at, retried_by, retried_as, updated_at)
  values ($2, $3::uuid, $4, $5, ${NOW}, $6, $7::uuid, ${NOW}) on conflict (bucket, id) do update
  set retried_at = excluded.retried_at, retried_by = excluded.retried_by, retried_as = excluded.retried_as, updated_at = excluded.updated_at`

/** The newest retry is kept. `as`: the id of the timer that replaces one that has fired. */
export async function retriedSlot(tx: Db, mark: NewMark, as: string | null): Promise<void> {
  const { bucket, id, userId, agentId, by } = mark
  await tx.query(RETRY, [tx.now(), bucket, id, userId, agentId, by, as])
}
