/** Who outside is told of what, and how far each was told. */

import type { Db } from '../../../src/store/db.ts'
import { eqByKey, inMs, NOW } from '../../../src/store/due.ts'
import type { Table } from '../../../src/store/page.ts'
import { rows, statement } from '../../../src/store/statement.ts'
import type { EventName } from './event-types.ts'
import type { DeliveryError } from './rules.ts'

export interface SubscriptionRow {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly principal: string
  readonly key_id: string | null
  readonly name: EventName
  /** JSON text. */
  readonly arguments: string
  readonly url: string
  readonly secret: string
  readonly cursor: string
  readonly expires_at: Date | null
  readonly ended_at: Date | null
  readonly truncated: boolean
  readonly last_delivery_at: Date | null
  readonly last_error: DeliveryError | null
  readonly failed_since: Date | null
  readonly created_at: Date
}

const ROW = `s.bucket, s.id, s.user_id, s.principal, s.key_id, s.name, s.arguments, s.url, s.secret, s.cursor, s.expires_at, s.ended_at, s.truncated,
  s.last_delivery_at, s.last_error, s.failed_since, s.created_at`

/** Null without an active one. */
export async function findSubscription(
  db: Db,
  bucket: number,
  id: string,
): Promise<SubscriptionRow | null> {
  const [row] = await db.query<SubscriptionRow>(
    `select ${ROW} from wakeful.subscriptions s
     where s.bucket = $2::smallint and s.id = $3::uuid and s.ended_at is null and (s.expires_at is null or s.expires_at > ${NOW})`,
    [db.now(), bucket, id],
  )
  return row ?? null
}

export async function countSubscriptions(db: Db, bucket: number, userId: string): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from wakeful.subscriptions where bucket = $1::smallint and user_id = $2::text and ended_at is null`,
    [bucket, userId],
  )
  return row?.n ?? 0
}

const SAVE = statement(
  {
    bucket: 'smallint',
    id: 'uuid',
    userId: 'text',
    principal: 'text',
    keyId: 'uuid?',
    name: 'text',
    args: 'json',
    url: 'text',
    secret: 'text',
    cursor: 'text',
    expiresAt: 'timestamptz?',
    oldSecretMs: 'float8',
  },
  (
    p,
  ) => `insert into wakeful.subscriptions as s (bucket, id, user_id, principal, key_id, name, arguments, url, secret, cursor, expires_at, created_at, updated_at)
    values (${p.bucket}, ${p.id}, ${p.userId}, ${p.principal}, ${p.keyId}, ${p.name}, ${p.args}, ${p.url}, ${p.secret}, ${p.cursor},
      ${p.expiresAt}, ${NOW}, ${NOW})
    on conflict (bucket, id) do update
      set key_id = excluded.key_id, secret = excluded.secret, cursor = excluded.cursor, expires_at = excluded.expires_at, ended_at = null,
          old_secret = case when s.secret = excluded.secret then s.old_secret else s.secret end,
          old_secret_until = case when s.secret = excluded.secret then s.old_secret_until else ${inMs(p.oldSecretMs)} end,
          truncated = false, failed_since = null, updated_at = ${NOW}
    returning ${ROW}`,
)

export type SavedSubscription = Parameters<typeof SAVE.run>[1]

/** Makes it, or renews the one that is there. */
export async function saveSubscription(db: Db, saved: SavedSubscription): Promise<SubscriptionRow> {
  const [row] = await SAVE.run<SubscriptionRow>(db, saved)
  if (row === undefined) throw new Error('the subscription was not written')
  return row
}

interface ListedSubscription extends SubscriptionRow {
  readonly waiting: number
}

/** With how much is on its way to each. One that was ended is gone, although its last word may still be on its way. */
export const SUBSCRIPTIONS: Table<ListedSubscription> = {
  from: 'wakeful.subscriptions s',
  columns: `${ROW}, (select count(*)::int from wakeful.subscription_deliveries d
    where d.bucket = s.bucket and d.subscription_id = s.id) as waiting`,
  where: `s.ended_at is null and (s.expires_at is null or s.expires_at > ${NOW})`,
}

const KEYS = rows({ bucket: 'smallint', id: 'uuid' })
type Key = { readonly bucket: number; readonly id: string }
const IS_KEY = `${eqByKey('s.bucket', 'i.bucket')} and ${eqByKey('s.id', 'i.id')}`

const REMOVE = statement(
  { i: KEYS },
  ({ i }) => `delete from wakeful.subscriptions s using ${i} where ${IS_KEY} returning s.id`,
)

/** With all that was on its way. Answers how many there were. */
export async function removeSubscriptions(db: Db, keys: readonly Key[]): Promise<number> {
  return keys.length === 0 ? 0 : (await REMOVE.run(db, { i: keys })).length
}

export interface Reader extends SubscriptionRow {
  readonly now: Date
}

const READERS = statement(
  { bucket: 'smallint', id: 'uuid', limit: 'int' },
  ({ bucket, id, limit }) => `select ${ROW}, ${NOW} as now from wakeful.subscriptions s
    where (s.bucket, s.id) > (${bucket}, ${id}) order by s.bucket, s.id limit ${limit}`,
)

/** All there are, in the order of their keys, from behind one of them on. */
export async function readersBehind(db: Db, behind: Key, limit: number): Promise<Reader[]> {
  return READERS.run<Reader>(db, { ...behind, limit })
}

const MOVE = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid', was: 'text', becomes: 'text' }) },
  ({ i }) => `update wakeful.subscriptions s set cursor = i.becomes from ${i}
    where ${IS_KEY} and s.cursor = i.was and s.ended_at is null returning s.id`,
)

export interface MovedCursor extends Key {
  readonly was: string
  readonly becomes: string
}

/** Answers the ids of those that were where they were thought to be: another process may have been there. */
export async function moveCursors(tx: Db, moved: readonly MovedCursor[]): Promise<Set<string>> {
  const ours = await MOVE.run<{ id: string }>(tx, { i: moved })
  return new Set(ours.map(({ id }) => id))
}

/** Of these keys, those that are worth nothing any more. Keys are kept in the home shard. */
export async function endedKeys(db: Db, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const ended = await db.query<{ id: string }>(
    `select k.id from wakeful.api_keys k
     where k.id = any($2::uuid[]) and (k.revoked_at is not null or k.expires_at <= ${NOW})`,
    [db.now(), ids],
  )
  return new Set(ended.map(({ id }) => id))
}
