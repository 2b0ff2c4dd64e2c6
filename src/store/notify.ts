/** What processes on one PostgreSQL say to each other: hints, on one channel, that of their schema. */
import type { Db } from './db.ts'

/** By topic; null keys mean everything. */
export interface Announcement {
  readonly from: string
  readonly topics: readonly (readonly [string, readonly string[] | null])[]
}

/** At most 8000 bytes: that is what NOTIFY takes. */
export async function announce(db: Db, announcement: Announcement): Promise<void> {
  await db.query('select pg_notify($1, $2)', [db.schema, JSON.stringify(announcement)])
}
