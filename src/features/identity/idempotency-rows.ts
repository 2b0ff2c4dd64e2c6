/**
 * Idempotency keys: one row per owner and key, written in the transaction of the operation itself, so
 * that the key is taken if and only if what it guards has happened.
 */
import type { Db } from '../../store/db.ts'
import { inMs, NOW } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'

/** A key older than this counts as never used. */
export const IDEMPOTENCY_RETENTION_HOURS = 24

export interface KeyClaim {
  readonly owner: string
  readonly key: string
  readonly fingerprint: string
}

export interface KeptAnswer {
  readonly fingerprint: string
  readonly status: number
  /** JSON text, or null where the answer had no body. */
  readonly body: string | null
}

const CLAIM = statement(
  { owner: 'text', key: 'text', fingerprint: 'text' },
  (c) => `insert into wakeful.idempotency_keys as kept (owner, key, fingerprint, created_at)
    values (${c.owner}, ${c.key}, ${c.fingerprint}, ${NOW})
    on conflict (owner, key) do update
      set fingerprint = excluded.fingerprint, status = null, body = null, created_at = excluded.created_at
      where kept.created_at <= ${inMs(`-${IDEMPOTENCY_RETENTION_HOURS * 3_600_000}`)}
    returning kept.key`,
)

/**
 * True if the key is now ours. While another transaction holds it, this waits for that one's end:
 * after its commit the answer is false, after its rollback true. An expired row is taken over.
 */
export async function claimKey(db: Db, claim: KeyClaim): Promise<boolean> {
  return (await CLAIM.run(db, claim)).length > 0
}

/** What the first request was answered. The body is read as text: a driver would parse `json`. */
export async function keptAnswer(
  db: Db,
  owner: string,
  key: string,
): Promise<KeptAnswer | undefined> {
  const [row] = await db.query<KeptAnswer>(
    `select fingerprint, status, body::text as body
     from wakeful.idempotency_keys where owner = $1 and key = $2 and status is not null`,
    [owner, key],
  )
  return row
}

const COMPLETE = statement(
  { owner: 'text', key: 'text', status: 'int', body: 'json?' },
  (a) => `update wakeful.idempotency_keys set status = ${a.status}, body = ${a.body}
    where owner = ${a.owner} and key = ${a.key}`,
)

export async function completeKey(
  db: Db,
  answer: { owner: string; key: string; status: number; body: string | null },
): Promise<void> {
  await COMPLETE.run(db, answer)
}

/** For what has no answer to keep: what the key was for when it came first, which is now where it is new. */
export async function firstUse(
  tx: Db,
  claim: KeyClaim,
): Promise<{ readonly fresh: boolean; readonly use: string }> {
  const { owner, key, fingerprint } = claim
  const fresh = await claimKey(tx, claim)
  if (fresh) await completeKey(tx, { owner, key, status: 200, body: null })
  const kept = fresh ? undefined : await keptAnswer(tx, owner, key)
  return { fresh, use: kept?.fingerprint ?? fingerprint }
}

/** Returns how many went, at most `limit` at once so that no statement holds on for long. */
export async function deleteExpired(db: Db, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from wakeful.idempotency_keys where (owner, key) in (
       select owner, key from wakeful.idempotency_keys
       where created_at <= ${inMs(`-${IDEMPOTENCY_RETENTION_HOURS * 3_600_000}`)} limit $2::int)
     returning key`,
    [db.now(), limit],
  )
  return rows.length
}
