/** Messages that no reader has taken for some time. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { commitTx, inMs } from '../../store/due.ts'

const PREVIEW_MAX = 200

export interface UndeliveredMessage {
  readonly session_key: string
  readonly effect_id: string
  readonly created_at: Date
  readonly preview: string
  readonly reason: string
}

/** Older than so many milliseconds; at most `limit` are looked at, newest first among them. */
export async function undeliveredSince(
  db: Db,
  userId: string | null,
  ms: number,
  limit: number,
): Promise<UndeliveredMessage[]> {
  const owned = userId !== null
  const own = owned
    ? `and t.bucket = $4 and t.session_key > $5 || ':' and t.session_key < $5 || ';'`
    : ''
  return commitTx(db, (tx) =>
    tx.query<UndeliveredMessage>(
      `select t.session_key, t.id as effect_id, t.created_at, coalesce(left(t.payload ->> 'content', ${PREVIEW_MAX}), '') as preview,
         coalesce(t.last_error, case when t.attempt_count > 0 then 'sent, and not acknowledged yet' else 'nobody has connected to receive it' end) as reason
       from (select * from wakeful.effects t where t.status in ('pending', 'executing') ${own}
         and t.created_at < ${inMs('-$2::float8')} order by t.bucket, t.session_key, t.position limit $3) t
       order by t.created_at desc, t.id desc`,
      [db.now(), ms, limit, ...(owned ? [bucketOf(userId), userId] : [])],
    ),
  )
}
