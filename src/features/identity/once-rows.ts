/** What may be used once and soon: the nonces of challenges, and the tickets of sockets. Kept as hashes. */
import type { Db } from '../../store/db.ts'
import { inMs, NOW } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'

const KEEP_CHALLENGE = statement(
  { hash: 'bytea', did: 'text', seconds: 'int' },
  ({ hash, did, seconds }) => `insert into wakeful.auth_challenges (hash, did, expires_at)
    select ${hash}, ${did}, ${inMs(`${seconds} * 1000`)}
    where exists (select 1 from wakeful.api_keys where owner_did = ${did} and role = 'agent' and parent_id is null)`,
)

/**
 * Keeps a nonce if an agent key was made for the DID. For others nothing is kept, so that strangers cannot fill
 * the table; their answer looks the same, and their proof fails.
 */
export async function keepChallenge(
  db: Db,
  challenge: { hash: Buffer; did: string; seconds: number },
): Promise<void> {
  await KEEP_CHALLENGE.run(db, challenge)
}

/** The DID a nonce was made for; null when it is unknown, used or too old. It is used up in any case. */
export async function takeChallenge(db: Db, hash: Buffer): Promise<string | null> {
  const [row] = await db.query<{ did: string; fresh: boolean }>(
    `delete from wakeful.auth_challenges where hash = $2::bytea returning did, expires_at > ${NOW} as fresh`,
    [db.now(), hash],
  )
  return row?.fresh ? row.did : null
}

const KEEP_TICKET = statement(
  { hash: 'bytea', keyId: 'uuid?', actor: 'json', seconds: 'int' },
  (t) => `insert into wakeful.tickets (hash, key_id, actor, expires_at)
    values (${t.hash}, ${t.keyId}, ${t.actor}, ${inMs(`${t.seconds} * 1000`)})`,
)

export async function keepTicket(
  db: Db,
  ticket: { hash: Buffer; keyId: string | null; actor: string; seconds: number },
): Promise<void> {
  await KEEP_TICKET.run(db, ticket)
}

export interface TakenTicket {
  readonly hash: Buffer
  readonly key_id: string | null
  /** JSON text. */
  readonly actor: string
}

/** Those of them that are valid now. They are used up in any case. */
export async function takeTickets(db: Db, hashes: readonly Buffer[]): Promise<TakenTicket[]> {
  const rows = await db.query<TakenTicket & { fresh: boolean }>(
    `delete from wakeful.tickets where hash = any($2::bytea[])
     returning hash, key_id, actor, expires_at > ${NOW} as fresh`,
    [db.now(), hashes],
  )
  return rows.filter((row) => row.fresh)
}

const SHORT_LIVED = [
  ['wakeful.auth_challenges', `t.expires_at <= ${NOW}`],
  ['wakeful.tickets', `t.expires_at <= ${NOW}`],
  ['wakeful.api_keys', `t.parent_id is not null and t.expires_at <= ${NOW}`],
] as const

/** Challenges, tickets and tokens whose time is over; at most `limit` of each at once. */
export async function deleteEnded(db: Db, limit: number): Promise<number> {
  let deleted = 0
  for (const [table, where] of SHORT_LIVED) {
    const rows = await db.query(
      `delete from ${table} where ctid = any(array(select t.ctid from ${table} t where ${where} limit $2::int)) returning 1`,
      [db.now(), limit],
    )
    deleted += rows.length
  }
  return deleted
}
