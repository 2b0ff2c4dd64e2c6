/** What an installation keeps for itself. */
import type { Db } from './db.ts'
import { DELIVERIES, EFFECTS, NOW, SESSIONS, SOURCES, WAKES } from './due.ts'

/** The stored value, or `fresh` if there was no value yet. Processes starting together agree on one. */
export async function keepSetting(db: Db, key: string, fresh: string): Promise<string> {
  await db.query(
    `insert into wakeful.settings (key, value, created_at) values ($2, $3, ${NOW}) on conflict (key) do nothing`,
    [db.now(), key, fresh],
  )
  const [row] = await db.query<{ value: string }>(
    'select value from wakeful.settings where key = $1',
    [key],
  )
  if (row === undefined) throw new Error(`the setting ${key} was not kept`)
  return row.value
}

export async function putSetting(db: Db, key: string, value: string): Promise<void> {
  await db.query(
    `insert into wakeful.settings (key, value, created_at) values ($2, $3, ${NOW})
     on conflict (key) do update set value = excluded.value`,
    [db.now(), key, value],
  )
}

export async function readSetting(db: Db, key: string): Promise<string | null> {
  const [row] = await db.query<{ value: string }>(
    'select value from wakeful.settings where key = $1',
    [key],
  )
  return row?.value ?? null
}

// What processes on one PostgreSQL say to each other: hints, on one channel, that of their schema.

/** By topic; null keys mean everything. */
export interface Announcement {
  readonly from: string
  readonly topics: readonly (readonly [string, readonly string[] | null])[]
  /** What sockets are shown of turns that run. */
  readonly live?: readonly object[]
}

/** At most 8000 bytes: that is what NOTIFY takes. */
export async function announce(db: Db, announcement: Announcement): Promise<void> {
  await db.query(...announcing(db.schema, announcement))
}

/** The same for a connection that is no store's. */
export function announcing(schema: string, announcement: Announcement): [string, string[]] {
  return ['select pg_notify($1, $2)', [schema, JSON.stringify(announcement)]]
}

// Ends the leases of processes that have died. Only for a store that nobody else can have open: the embedded one, whose directory is locked.
// Rows keep their token, so that they count as after any death. Claims of outside workers on intents stay: their holders live on.

/** By table, the column that holds the end of a lease while there is a token. */
export const LEASED_TABLES: ReadonlyMap<string, string> = new Map([
  ...[SESSIONS, WAKES, EFFECTS, SOURCES, DELIVERIES].map(
    ({ name, lease, due }) => [name, lease ?? due] as const,
  ),
  ['wakeful.channel_readers', 'leased_until'],
])

/** Answers how many there were. */
export async function expireLeases(db: Db): Promise<number> {
  return db.tx(async (tx) => {
    const ended = [...LEASED_TABLES].map(
      ([table, end]) => `update ${table} set ${end} = ${NOW}
        where ${end} > ${NOW} and claim_token is not null returning 1 as one`,
    )
    await tx.exec('delete from wakeful.leases')
    let count = 0
    for (const text of ended) count += (await tx.query(text, [tx.now()])).length
    return count
  })
}
