/**
 * Idempotency keys: one row per owner and key, written in the transaction of the operation itself, so
 * that the key is taken if and only if what it guards has happened.
 */
import type { Db } from '../db/db.ts'

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

/**
 * True if the key is now ours. While another transaction holds it, this waits for that one's end:
 * after its commit the answer is false, after its rollback true. An expired row is taken over.
 */
export async function claimKey(db: Db, claim: KeyClaim): Promise<boolean> {
  const rows = await db.query(
    `insert into wakeful.idempotency_keys as kept (owner, key, fingerprint, created_at)
     values ($1, $2, $3, coalesce($4::timestamptz, now()))
     on conflict (owner, key) do update
       set fingerprint = excluded.fingerprint, status = null, body = null,
           created_at = excluded.created_at
       where kept.created_at <= excluded.created_at - make_interval(hours => $5::int)
     returning kept.key`,
    [claim.owner, claim.key, claim.fingerprint, db.now(), IDEMPOTENCY_RETENTION_HOURS],
  )
  return rows.length > 0
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

export async function completeKey(
  db: Db,
  { owner, key, status, body }: { owner: string; key: string; status: number; body: string | null },
): Promise<void> {
  await db.query(
    `update wakeful.idempotency_keys set status = $3::int, body = $4::text::json
     where owner = $1 and key = $2`,
    [owner, key, status, body],
  )
}

/** Returns how many went, at most `limit` at once so that no statement holds on for long. */
export async function deleteExpired(db: Db, limit: number): Promise<number> {
  const rows = await db.query(
    `delete from wakeful.idempotency_keys where (owner, key) in (
       select owner, key from wakeful.idempotency_keys
       where created_at <= coalesce($1::timestamptz, now()) - make_interval(hours => $2::int)
       limit $3::int)
     returning key`,
    [db.now(), IDEMPOTENCY_RETENTION_HOURS, limit],
  )
  return rows.length
}
