/**
 * Ends the leases of processes that have died. Only for a store that nobody else can have open: the embedded one, whose directory is
 * locked. Rows keep their token, so that they count as after any death. Claims of outside workers on intents stay: their holders live on.
 */
import type { Db } from './db.ts'
import { DELIVERIES, EFFECTS, LEASES, NOW, SESSIONS, SOURCES, WAKES } from './due.ts'

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
    // A row of this table is a lease as a whole.
    const ended = [...LEASED_TABLES, [LEASES.name, LEASES.due] as const].map(
      ([table, end]) => `update ${table} set ${end} = ${NOW}
        where ${end} > ${NOW} ${table === LEASES.name ? '' : 'and claim_token is not null'} returning 1 as one`,
    )
    let count = 0
    for (const text of ended) count += (await tx.query(text, [tx.now()])).length
    return count
  })
}
