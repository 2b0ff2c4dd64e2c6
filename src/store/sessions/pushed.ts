/**
 * Where a session's messages are pushed beside its sockets, as `<channel>:<address>`. A turn's commit holds its session's
 * lock when it reads it: with the lock in hand no message slips through between the two.
 */
import type { SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'
import { ensureSession } from './sessions.ts'

/** Always in the same order. */
export async function lockSessions(tx: Db, sessions: readonly SessionRef[]): Promise<void> {
  const order = sessions.toSorted((a, b) => a.bucket - b.bucket || (a.key < b.key ? -1 : 1))
  for (const session of order) await ensureSession(tx, session)
}

/** What the session has not delivered yet is pushed, too. Under its lock. */
export async function startPushing(tx: Db, session: SessionRef, to: string): Promise<void> {
  await tx.query(
    'update wakeful.sessions set pushed_to = $3 where bucket = $1 and session_key = $2',
    [session.bucket, session.key, to],
  )
  await tx.query(
    `update wakeful.effects set due_at = ${NOW}, updated_at = ${NOW}
     where bucket = $2 and session_key = $3 and status in ('pending', 'executing')
       and type = 'send_message' and due_at is null`,
    [tx.now(), session.bucket, session.key],
  )
}

/** What was to be pushed stays for the sockets. False when the session is pushed elsewhere, or nowhere. */
export async function stopPushing(tx: Db, session: SessionRef, to: string): Promise<boolean> {
  const ended = await tx.query(
    `update wakeful.sessions set pushed_to = null
     where bucket = $1 and session_key = $2 and pushed_to = $3 returning 1`,
    [session.bucket, session.key, to],
  )
  if (ended.length === 0) return false
  await tx.query(
    `update wakeful.effects
     set due_at = null, claim_token = null, claimed_at = null, updated_at = ${NOW},
         status = case when status = 'executing' then 'pending' else status end
     where bucket = $2 and session_key = $3 and due_at is not null`,
    [tx.now(), session.bucket, session.key],
  )
  return true
}
