/** What PostgreSQL has done so far: records in its write-ahead log, and CPU time of all its processes. */
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

export interface Counters {
  readonly walRecords: number
  /** Null where there is no /proc to read it from. */
  readonly cpuMs: number | null
}

/** The kernel counts in hundredths of a second. */
const TICK_MS = 10

export async function counters(url: string): Promise<Counters> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ records: string; pid: number }>(
      'select wal_records as records, pg_backend_pid() as pid from pg_stat_wal',
    )
    const [row] = rows
    if (row === undefined) throw new Error('PostgreSQL counts no records: it must be 14 or newer')
    return { walRecords: Number(row.records), cpuMs: cpuOf(row.pid) }
  } finally {
    await client.end()
  }
}

/** Of the backend's postmaster, all that runs under it, and all that did and has ended. */
function cpuOf(backend: number): number | null {
  const postmaster = statOf(String(backend))?.parent
  if (postmaster === undefined) return null
  let ticks = statOf(postmaster)?.withEnded ?? 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = statOf(name)
    if (stat?.parent === postmaster) ticks += stat.own
  }
  return ticks * TICK_MS
}

/** Of one process, with its threads. */
export function cpuMsOf(pid: number): number {
  return (statOf(String(pid))?.own ?? Number.NaN) * TICK_MS
}

function statOf(pid: string) {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // It has ended meanwhile, or this is no Linux.
    return undefined
  }
  // The name in brackets may hold spaces; what follows it does not.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
  const own = user + system
  return { parent: fields[1] ?? '', own, withEnded: own + endedUser + endedSystem }
}
