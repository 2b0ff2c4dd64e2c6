/**
 * Which sessions are pushed somewhere beside their sockets. `pushed_to` of a session is the link that was made last for it,
 * as `<channel>:<address>`: a turn's commit sees by it that its messages are due, and one under way while it changes decides
 * again. By which link a message goes is chosen when it goes.
 */

import type { SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import { makeSession } from './rows.ts'

/** One session, or with `person` all those of its user. */
export interface Reach {
  readonly session: SessionRef
  readonly person: boolean
}

/** The keys of one user are one range: ';' is the character after ':'. */
function rangeOf({ session, person }: Reach) {
  const { bucket, key, userId } = session
  return person
    ? { bucket, low: `${userId}:`, high: `${userId};` }
    : { bucket, low: key, high: key }
}

const LOCK = statement(
  { r: rows({ bucket: 'smallint', low: 'text', high: 'text' }) },
  ({ r }) => `select 1 from ${r}
    join wakeful.sessions s on s.bucket = r.bucket and s.session_key between r.low and r.high
    order by s.bucket, s.session_key for update of s`,
)

/** The rows of the sessions named exist and are locked, with all others that are reached; always in the same order. */
export async function lockReach(tx: Db, reaches: readonly Reach[]): Promise<void> {
  for (const { session } of reaches) await makeSession(tx, session)
  await LOCK.run(tx, { r: reaches.map(rangeOf) })
}

/** A person who links gets what was said to them since, not what nobody heard in a year. */
const BACKLOG = `interval '1 day'`

/** What is not delivered yet is pushed, too. Under the lock. */
export async function startPushing(tx: Db, reach: Reach, to: string): Promise<void> {
  const { bucket, low, high } = rangeOf(reach)
  await tx.query(
    'update wakeful.sessions set pushed_to = $4 where bucket = $1 and session_key between $2 and $3',
    [bucket, low, high, to],
  )
  await tx.query(
    `update wakeful.effects e set due_at = ${NOW}, updated_at = ${NOW}
     where bucket = $2 and session_key between $3 and $4 and status in ('pending', 'executing')
       and type = 'send_message' and due_at is null
       and (session_key = $5 or created_at > ${NOW} - ${BACKLOG} or exists (select 1 from wakeful.deliveries d
         where d.bucket = e.bucket and d.session_key = e.session_key and d.position = e.position))`,
    [tx.now(), bucket, low, high, reach.session.key],
  )
}

/** What no link reaches any more stays for the sockets. Under the lock, after the link has ended. */
export async function stopPushing(tx: Db, reach: Reach, to: string): Promise<void> {
  const { bucket, low, high } = rangeOf(reach)
  const ended = await tx.query<{ session_key: string; pushed_to: string | null }>(
    `update wakeful.sessions s set pushed_to = (select l.channel || ':' || l.address from wakeful.links l
       where l.bucket = s.bucket and l.user_id = s.user_id and l.ended_at is null and (l.person or l.session_key = s.session_key)
       order by l.rank limit 1)
     where bucket = $1 and session_key between $2 and $3 and pushed_to = $4 returning session_key, pushed_to`,
    [bucket, low, high, to],
  )
  const keys = ended.filter((row) => row.pushed_to === null).map((row) => row.session_key)
  if (keys.length === 0) return
  await tx.query(
    `update wakeful.effects
     set due_at = null, claim_token = null, claimed_at = null, updated_at = ${NOW},
         status = case when status = 'executing' then 'pending' else status end
     where bucket = $2 and session_key = any($3::text[]) and due_at is not null`,
    [tx.now(), bucket, keys],
  )
}
