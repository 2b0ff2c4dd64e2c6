/** Links: where people are reached beside their sockets, and how that changes. */
import { Refusal } from '../../../../src/core/errors.ts'
import { newId } from '../../../../src/core/ids.ts'
import { parseSessionKey, type SessionRef } from '../../../../src/core/session.ts'
import { makeSession } from '../../../../src/features/sessions/rows.ts'
import type { Db } from '../../../../src/store/db.ts'
import { inMs, NOW } from '../../../../src/store/due.ts'
import { rows, statement } from '../../../../src/store/statement.ts'
import { LINKS_FULL, LINKS_MAX } from './text.ts'

export interface LinkRow {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  /** Where what they write there goes. */
  readonly session_key: string
  readonly channel: string
  readonly address: string
  /** Also what their other agents say unasked goes there. */
  readonly person: boolean
  readonly rank: number
  readonly heard_at: Date | null
  readonly closed_at: Date | null
  readonly ended_at: Date | null
  readonly last_outcome: LinkOutcome | null
  readonly last_error: string | null
  readonly last_at: Date | null
  readonly created_at: Date
}

export type LinkOutcome = 'sent' | 'later' | 'closed' | 'refused' | 'gone' | 'failed'

const LINK = `bucket, id, user_id, session_key, channel, address, person, rank, heard_at, closed_at, ended_at, last_outcome,
  last_error, last_at, created_at`

/** Ranks count from here; the next one is the last to be tried. */
const RANK_STEP = 10

/** The live link of an address. */
export async function linkAt(db: Db, channel: string, address: string): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(
    `select ${LINK} from wakeful.links where channel = $1 and address = $2 and ended_at is null`,
    [channel, address],
  )
  return row ?? null
}

/** The live link of a session on a channel. */
export async function linkOfSession(
  db: Db,
  { bucket, key }: SessionRef,
  channel: string,
): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(
    `select ${LINK} from wakeful.links
     where bucket = $1 and session_key = $2 and channel = $3 and ended_at is null`,
    [bucket, key, channel],
  )
  return row ?? null
}

/** Of one user, or with null of any; also one that has ended. */
export async function getLink(db: Db, userId: string | null, id: string): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(
    `select ${LINK} from wakeful.links where id = $1::uuid and ($2::text is null or user_id = $2)`,
    [id, userId],
  )
  return row ?? null
}

export interface LinksPage {
  /** Null: of everybody. */
  readonly userId: string | null
  readonly channel?: string
  /** Those that have ended, too. */
  readonly ended: boolean
  /** Session key and id of the last one seen. */
  readonly after: readonly [string, string] | null
  readonly limit: number
}

/** By session. */
export async function listLinks(db: Db, page: LinksPage): Promise<LinkRow[]> {
  const [key, id] = page.after ?? [null, null]
  return db.query<LinkRow>(
    `select ${LINK} from wakeful.links
     where ($1::text is null or user_id = $1) and ($2::text is null or channel = $2) and ($3 or ended_at is null)
       and ($4::text is null or (session_key, id) > ($4 collate "C", $5::uuid))
     order by session_key, id limit $6`,
    [page.userId, page.channel ?? null, page.ended, key, id, page.limit],
  )
}

const INSERT = statement(
  {
    bucket: 'smallint',
    id: 'uuid',
    userId: 'text',
    key: 'text',
    channel: 'text',
    address: 'text',
    person: 'boolean',
    heard: 'boolean',
  },
  (
    l,
  ) => `insert into wakeful.links (bucket, id, user_id, session_key, channel, address, person, rank, heard_at, created_at, updated_at)
    values (${l.bucket}, ${l.id}, ${l.userId}, ${l.key}, ${l.channel}, ${l.address}, ${l.person},
      coalesce((select max(o.rank) from wakeful.links o where o.bucket = ${l.bucket} and o.user_id = ${l.userId} and o.ended_at is null), 0) + ${RANK_STEP},
      case when ${l.heard} then ${NOW} end, ${NOW}, ${NOW})
    returning ${LINK}`,
)

/** Refuses a link beyond the most that a person may have. One that it replaces does not count. */
export async function requireRoom(db: Db, session: SessionRef, channel: string): Promise<void> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from wakeful.links
     where bucket = $1 and user_id = $2 and ended_at is null and not (channel = $3 and session_key = $4)`,
    [session.bucket, session.userId, channel, session.key],
  )
  if (Number(row?.count) >= LINKS_MAX) throw new Refusal('rule', LINKS_FULL)
}

export interface NewLink {
  readonly session: SessionRef
  readonly channel: string
  readonly address: string
  readonly person: boolean
  /** They have just written from there. */
  readonly heard: boolean
}

/**
 * From now on the address stands for the session, and for no other; what the session has not delivered yet is pushed. An
 * earlier link of the address, or of the session on this channel, ends.
 */
export async function makeLink(tx: Db, link: NewLink): Promise<LinkRow> {
  const { session, channel, address, person } = link
  const before = await tx.query<LinkRow>(
    `select ${LINK} from wakeful.links
     where ended_at is null and channel = $1 and (address = $2 or (bucket = $3 and session_key = $4))`,
    [channel, address, session.bucket, session.key],
  )
  const reach = { session, person }
  await lockReach(tx, [reach, ...before.flatMap(reachOf)])
  for (const old of before) await endLink(tx, old, null)
  await requireRoom(tx, session, channel)
  // What ended before at this address has nothing more to tell.
  await tx.query(
    `delete from wakeful.links where bucket = $1 and channel = $2 and address = $3 and ended_at is not null`,
    [session.bucket, channel, address],
  )
  const [made] = await INSERT.run<LinkRow>(tx, { id: newId(), ...session, ...link })
  if (made === undefined) throw new Error('the link was not kept')
  await startPushing(tx, reach, `${channel}:${address}`)
  return made
}

/** Nobody is reached there any more. `gone`: what the channel said, and the link is kept to be shown. */
export async function unlink(db: Db, link: LinkRow, gone: string | null): Promise<boolean> {
  return db.tx(async (tx) => {
    await lockReach(tx, reachOf(link))
    return endLink(tx, link, gone)
  })
}

async function endLink(tx: Db, link: LinkRow, gone: string | null): Promise<boolean> {
  const ended =
    gone === null
      ? await tx.query(
          'delete from wakeful.links where bucket = $1 and id = $2::uuid and ended_at is null returning 1',
          [link.bucket, link.id],
        )
      : await tx.query(
          `update wakeful.links set ended_at = ${NOW}, last_outcome = 'gone', last_error = $4, last_at = ${NOW}, updated_at = ${NOW}
           where bucket = $2 and id = $3::uuid and ended_at is null returning 1`,
          [tx.now(), link.bucket, link.id, gone],
        )
  if (ended.length === 0) return false
  for (const reach of reachOf(link)) await stopPushing(tx, reach, `${link.channel}:${link.address}`)
  return true
}

function reachOf({ session_key: key, person }: LinkRow): Reach[] {
  const session = parseSessionKey(key)
  return session === null ? [] : [{ session, person }]
}

export interface LinkChange {
  readonly person?: boolean
  /** Before all others of the person. */
  readonly first?: boolean
}

export async function changeLink(tx: Db, link: LinkRow, change: LinkChange): Promise<LinkRow> {
  const person = change.person ?? link.person
  const [reach] = reachOf({ ...link, person: person || link.person })
  if (reach !== undefined) await lockReach(tx, [reach])
  const [row] = await tx.query<LinkRow>(
    `update wakeful.links l set person = $4, updated_at = ${NOW}, rank = case when $5 then
       (select min(o.rank) from wakeful.links o where o.bucket = l.bucket and o.user_id = l.user_id and o.ended_at is null) - ${RANK_STEP} else l.rank end
     where bucket = $2 and id = $3::uuid and ended_at is null returning ${LINK}`,
    [tx.now(), link.bucket, link.id, person, change.first ?? false],
  )
  if (row === undefined) return link
  const to = `${link.channel}:${link.address}`
  for (const each of reachOf(row)) await startPushing(tx, each, to)
  return row
}

const HEARD = `update wakeful.links set heard_at = ${NOW}, closed_at = null, updated_at = ${NOW}
  where bucket = $2 and id = $3::uuid and ended_at is null`
const OPENED = `update wakeful.effects e set due_at = ${NOW}, updated_at = ${NOW}
  from wakeful.deliveries d
  where d.bucket = $2 and d.outcome = 'closed'
    and d.link_id in (select l.id from wakeful.links l where l.bucket = $2 and l.user_id = $3 and l.ended_at is null)
    and e.bucket = d.bucket and e.session_key = d.session_key and e.position = d.position
    and e.status = 'pending' and e.due_at is null`

/** They wrote from there: its window is open, and what waited for that is due. */
export async function hear(tx: Db, link: LinkRow): Promise<void> {
  await tx.query(HEARD, [tx.now(), link.bucket, link.id])
  await tx.query(OPENED, [tx.now(), link.bucket, link.user_id])
}

// One-use codes: sending one on a channel proves whose address it is.

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

// Which sessions are pushed somewhere beside their sockets. `pushed_to` of a session is the link that was made last for it, as
// `<channel>:<address>`: a turn's commit sees by it that its messages are due, and one under way while it changes decides again. By which link
// a message goes is chosen when it goes.

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
