/**
 * Leases of whole batches. A session that is leased with its promotion ends, as a rule, a moment later, and is not marked as due in
 * between: a row for all of the batch says where to look if their process dies. When it has run out, those that are still held are marked,
 * and found as any other whose lease ends; a long turn is marked so, too, and goes on under its own lease.
 */
import type { Db } from '../../store/db.ts'
import { dueRows, eqByKey, inMs, LEASES, NOW, nextDueMs, oneInOrder } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'

/** Part of the statement that leases them. */
export function keepLeases(batch: { token: string; leaseMs: string; from: string }): string {
  return `insert into wakeful.leases (token, ends_at, buckets, keys)
    select ${batch.token}, ${inMs(batch.leaseMs)}, array_agg(bucket), array_agg(session_key) from ${batch.from} having count(*) > 0
    on conflict (token) do update set buckets = leases.buckets || excluded.buckets, keys = leases.keys || excluded.keys`
}

/** All turns of these batches were committed. */
export async function endLeases(db: Db, tokens: readonly string[]): Promise<void> {
  await db.query('delete from wakeful.leases where token = any($1::uuid[])', [tokens])
}

const BATCHES_MAX = 20

const MARK = statement(
  { limit: 'int' },
  ({ limit }) => `with due as materialized (${dueRows(LEASES, 't.token', limit)}),
    gone as (delete from wakeful.leases l using due where ${eqByKey('l.token', 'due.token')} returning l.token, l.buckets, l.keys),
    marked as (
      update wakeful.sessions s set due_at = ${NOW}
      from (select g.token, unnest(g.buckets) as bucket, unnest(g.keys) as key from gone g order by 2, 3) h
      where ${eqByKey('s.bucket', 'h.bucket')} and s.session_key = h.key and s.claim_token = h.token
        and coalesce(s.due_at, 'infinity') = 'infinity'
      returning s.session_key)
    select (select count(*)::int from marked) as marked, (select count(*)::int from due) as seen, ${nextDueMs(LEASES)} as next_ms`,
)

/** Marks what is still held of the batches whose time is over. */
export async function markHeld(db: Db): Promise<{ marked: number; nextMs: number | null }> {
  const values = MARK.values(db, { limit: BATCHES_MAX })
  const [row] = await oneInOrder<{ marked: number; seen: number; next_ms: number | null }>(
    db,
    MARK.text,
    values,
  )
  if (row === undefined) throw new Error('the look at batches was not answered')
  return { marked: row.marked, nextMs: row.seen === BATCHES_MAX ? 0 : row.next_ms }
}
