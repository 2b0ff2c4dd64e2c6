/** What processes on one PostgreSQL say to each other: hints, on one channel. */
import type { Db } from './db.ts'

export const CHANNEL = 'wakeful'

/** By topic; null keys mean everything. */
export interface Announcement {
  readonly from: string
  readonly topics: readonly (readonly [string, readonly string[] | null])[]
}

/** At most 8000 bytes: that is what NOTIFY takes. */
export async function announce(db: Db, announcement: Announcement): Promise<void> {
  await db.query('select pg_notify($1, $2)', [CHANNEL, JSON.stringify(announcement)])
}
