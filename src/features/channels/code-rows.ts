/** One-use codes: sending one on a channel proves whose address it is. */

import { parseSessionKey, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { inMs, NOW } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'
import { type LinkRow, linkAt, makeLink } from './rows.ts'

const KEEP = statement(
  {
    hash: 'text',
    bucket: 'smallint',
    key: 'text',
    channel: 'text',
    person: 'boolean',
    ttlMs: 'int',
  },
  (
    c,
  ) => `insert into wakeful.link_codes (code_hash, bucket, session_key, channel, person, expires_at, created_at)
    values (${c.hash}, ${c.bucket}, ${c.key}, ${c.channel}, ${c.person}, ${inMs(c.ttlMs)}, ${NOW})
    returning expires_at`,
)

export interface NewCode {
  readonly session: SessionRef
  readonly channel: string
  readonly person: boolean
  readonly hash: string
  readonly ttlMs: number
}

/** A new code takes the place of earlier unused ones of its session on the channel; expired ones go with it. */
export async function createCode(db: Db, { session, ...code }: NewCode): Promise<Date> {
  const { bucket, key } = session
  await db.query(
    `delete from wakeful.link_codes
     where expires_at <= ${NOW} or (bucket = $2 and session_key = $3 and channel = $4 and used_by is null)`,
    [db.now(), bucket, key, code.channel],
  )
  const [row] = await KEEP.run<{ expires_at: Date }>(db, { bucket, key, ...code })
  if (row === undefined) throw new Error('the code was not kept')
  return row.expires_at
}

interface CodeRow {
  readonly session_key: string
  readonly person: boolean
  readonly used_by: string | null
}

/**
 * Uses up a code. Null for one that is unknown, expired, of another channel, or another address's. The same address may use it
 * again: that is the same message, read once more after a crash.
 */
export async function linkByCode(
  db: Db,
  hash: string,
  { channel, address }: Pick<LinkRow, 'channel' | 'address'>,
): Promise<LinkRow | null> {
  return db.tx(async (tx) => {
    const [code] = await tx.query<CodeRow>(
      `select session_key, person, used_by from wakeful.link_codes
       where code_hash = $2 and channel = $3 and expires_at > ${NOW} for update`,
      [tx.now(), hash, channel],
    )
    const session = code === undefined ? null : parseSessionKey(code.session_key)
    if (code === undefined || session === null) return null
    if (code.used_by !== null) return code.used_by === address ? linkAt(tx, channel, address) : null
    const { person } = code
    const link = await makeLink(tx, { session, channel, address, person, heard: true })
    await tx.query('update wakeful.link_codes set used_by = $2 where code_hash = $1', [
      hash,
      address,
    ])
    return link
  })
}
