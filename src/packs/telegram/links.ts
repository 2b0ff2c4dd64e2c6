/** Chats and the sessions they stand for, the codes that link them, and where the reader of a bot's updates is. */
import { parseSessionKey, type SessionRef } from '../../core/sessions/session.ts'
import type { Db } from '../../store/db/db.ts'
import { inMs, NOW } from '../../store/db/due.ts'
import { statement } from '../../store/db/statement.ts'
import { lockSessions, startPushing, stopPushing } from '../../store/sessions/pushed.ts'

export interface LinkRow {
  readonly bucket: number
  readonly session_key: string
  readonly user_id: string
  readonly chat_id: number
  readonly created_at: Date
}

/** The name that addresses begin with. */
export const CHANNEL = 'telegram'
const addressOf = (chatId: number) => `${CHANNEL}:${chatId}`

const LINK = 'bucket, session_key, user_id, chat_id, created_at'

export async function linkOfChat(db: Db, chatId: number): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(
    `select ${LINK} from wakeful.telegram_links where chat_id = $1`,
    [chatId],
  )
  return row ?? null
}

/** Of one user, or for null of everybody; by session key. */
export async function listLinks(
  db: Db,
  userId: string | null,
  page: { after: string | null; limit: number },
): Promise<LinkRow[]> {
  return db.query<LinkRow>(
    `select ${LINK} from wakeful.telegram_links
     where ($1::text is null or user_id = $1) and ($2::text is null or session_key > $2 collate "C")
     order by session_key limit $3`,
    [userId, page.after, page.limit],
  )
}

const KEEP_CODE = statement(
  { hash: 'text', bucket: 'smallint', key: 'text', ttlMs: 'int' },
  ({
    hash,
    bucket,
    key,
    ttlMs,
  }) => `insert into wakeful.telegram_codes (code_hash, bucket, session_key, expires_at, created_at)
    values (${hash}, ${bucket}, ${key}, ${inMs(ttlMs)}, ${NOW}) returning expires_at`,
)

/** A new code takes the place of earlier unused ones of its session; expired ones go with it. */
export async function createCode(
  db: Db,
  session: SessionRef,
  hash: string,
  ttlMs: number,
): Promise<Date> {
  await db.query(
    `delete from wakeful.telegram_codes
     where expires_at <= ${NOW} or (bucket = $2 and session_key = $3 and chat_id is null)`,
    [db.now(), session.bucket, session.key],
  )
  const { bucket, key } = session
  const [row] = await KEEP_CODE.run<{ expires_at: Date }>(db, { hash, bucket, key, ttlMs })
  if (row === undefined) throw new Error('the code was not kept')
  return row.expires_at
}

const LINK_CHAT = statement(
  { bucket: 'smallint', key: 'text', userId: 'text', chatId: 'bigint' },
  ({
    bucket,
    key,
    userId,
    chatId,
  }) => `insert into wakeful.telegram_links (bucket, session_key, user_id, chat_id, created_at)
    values (${bucket}, ${key}, ${userId}, ${chatId}, ${NOW})
    on conflict (bucket, session_key) do update set chat_id = excluded.chat_id, created_at = excluded.created_at`,
)

/**
 * Uses up a code: from now on the chat stands for its session, and for no other; what the session has not
 * delivered yet is pushed. Null for a code that is unknown, expired, or another chat's. The same chat may use
 * it again: that is the same update, read once more after a crash.
 */
export async function linkChat(db: Db, hash: string, chatId: number): Promise<SessionRef | null> {
  return db.tx(async (tx) => {
    const [code] = await tx.query<{ session_key: string; chat_id: number | null }>(
      `select session_key, chat_id from wakeful.telegram_codes
       where code_hash = $2 and expires_at > ${NOW} for update`,
      [tx.now(), hash],
    )
    const session = code === undefined ? null : parseSessionKey(code.session_key)
    if (code === undefined || session === null) return null
    if (code.chat_id !== null) return code.chat_id === chatId ? session : null
    const before = await linkOfChat(tx, chatId)
    const old = before === null ? null : parseSessionKey(before.session_key)
    await lockSessions(tx, old === null || old.key === session.key ? [session] : [old, session])
    if (old !== null) await endLink(tx, old, chatId)
    await LINK_CHAT.run(tx, { ...session, chatId })
    await tx.query('update wakeful.telegram_codes set chat_id = $2 where code_hash = $1', [
      hash,
      chatId,
    ])
    await startPushing(tx, session, addressOf(chatId))
    return session
  })
}

/** Ends the link of this session, if it is to this chat (or to any, for null). What was to be pushed stays for the sockets. */
export async function unlinkSession(
  db: Db,
  session: SessionRef,
  chatId: number | null,
): Promise<boolean> {
  return db.tx(async (tx) => {
    await lockSessions(tx, [session])
    return endLink(tx, session, chatId)
  })
}

/** Under the session's lock. */
export async function endLink(
  tx: Db,
  session: SessionRef,
  chatId: number | null,
): Promise<boolean> {
  const [gone] = await tx.query<{ chat_id: number }>(
    `delete from wakeful.telegram_links
     where bucket = $1 and session_key = $2 and ($3::bigint is null or chat_id = $3) returning chat_id`,
    [session.bucket, session.key, chatId],
  )
  if (gone === undefined) return false
  await stopPushing(tx, session, addressOf(gone.chat_id))
  return true
}

const TAKE_BOT = statement(
  { botId: 'bigint', token: 'uuid', leaseMs: 'int' },
  ({
    botId,
    token,
    leaseMs,
  }) => `insert into wakeful.telegram_bots as b (bot_id, claim_token, leased_until, updated_at)
    values (${botId}, ${token}, ${inMs(leaseMs)}, ${NOW})
    on conflict (bot_id) do update
      set claim_token = excluded.claim_token, leased_until = excluded.leased_until, updated_at = excluded.updated_at
      where b.claim_token is null or b.claim_token = excluded.claim_token or b.leased_until <= ${NOW}
    returning next_update_id`,
)

/** Takes or keeps the reading of a bot's updates. Null while another process has it; else where to go on. */
export async function takeBot(
  db: Db,
  botId: number,
  token: string,
  leaseMs: number,
): Promise<number | null> {
  const [row] = await TAKE_BOT.run<{ next_update_id: number }>(db, { botId, token, leaseMs })
  return row?.next_update_id ?? null
}

const ADVANCE_BOT = statement(
  { botId: 'bigint', token: 'uuid', nextUpdateId: 'bigint' },
  ({
    botId,
    token,
    nextUpdateId,
  }) => `update wakeful.telegram_bots set next_update_id = ${nextUpdateId}, updated_at = ${NOW}
    where bot_id = ${botId} and claim_token = ${token} returning bot_id`,
)

/** Everything before this update is durable. False when the bot is another process's by now. */
export async function advanceBot(
  db: Db,
  botId: number,
  token: string,
  nextUpdateId: number,
): Promise<boolean> {
  const rows = await ADVANCE_BOT.run(db, { botId, token, nextUpdateId })
  return rows.length > 0
}

export async function releaseBot(db: Db, botId: number, token: string): Promise<void> {
  await db.query(
    `update wakeful.telegram_bots set claim_token = null, leased_until = null, updated_at = ${NOW}
     where bot_id = $2 and claim_token = $3::uuid`,
    [db.now(), botId, token],
  )
}
