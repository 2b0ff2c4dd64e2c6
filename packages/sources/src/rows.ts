/** Rows of sources: the next poll, the lease, and the caching state of the server. */
import { bucketOf } from '../../../src/core/session.ts'
import type { Db } from '../../../src/store/db.ts'
import {
  claimRows,
  inMs,
  LEASE,
  NOW,
  oneInOrder,
  SOURCES,
  takenAndNext,
  takenOf,
} from '../../../src/store/due.ts'
import { rowsOf, statement } from '../../../src/store/statement.ts'

interface KnownSource {
  readonly key: string
  readonly kind: string
}

const ENSURE = statement(
  {
    i: rowsOf<KnownSource>({
      bucket: ['smallint', ({ key }) => bucketOf(key)],
      key: ['text', ({ key }) => key],
      kind: ['text', ({ kind }) => kind],
    }),
  },
  ({ i }) => `insert into wakeful.source_polls (bucket, key, kind, due_at, created_at, updated_at)
    select bucket, key, kind, ${NOW}, ${NOW}, ${NOW} from ${i}
    order by bucket, key on conflict (bucket, key) do nothing`,
)

/** Creates missing rows, due at once. Existing rows stay. */
export async function ensureSources(db: Db, sources: readonly KnownSource[]): Promise<void> {
  await ENSURE.run(db, { i: sources })
}

export interface ClaimedSource {
  readonly bucket: number
  readonly key: string
  readonly etag: string | null
  readonly last_modified: string | null
  /** JSON text: `{"<fact>": "<instant> <hash>"}`. */
  readonly told: string | null
  readonly failures: number
  readonly read_at: Date | null
  readonly now: Date
}

const CLAIM = statement({ ...LEASE, keys: 'text[]' }, ({ keys, ...lease }) =>
  takenAndNext(
    SOURCES,
    claimRows(
      SOURCES,
      lease,
      't.bucket, t.key, t.etag, t.last_modified, t.told, t.failures, t.read_at',
      { where: `t.key = any(${keys})` },
    ),
  ),
)

/** Leases due sources among `keys`: another process may be set up with others. */
export async function claimSources(
  db: Db,
  keys: readonly string[],
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ readonly claimed: readonly ClaimedSource[]; readonly nextMs: number | null }> {
  const values = CLAIM.values(db, { limit, leaseMs, token, keys })
  const { taken, nextMs } = takenOf<ClaimedSource>(await oneInOrder(db, CLAIM.text, values))
  return { claimed: taken, nextMs }
}

export interface PolledSource {
  readonly bucket: number
  readonly key: string
  readonly token: string
  readonly waitMs: number
  readonly failures: number
  readonly error: string | null
  /** The state to store; null keeps the old one. */
  readonly read: {
    readonly etag: string | null
    readonly lastModified: string | null
    readonly told: string | null
  } | null
}

const SETTLE = statement(
  {
    bucket: 'smallint',
    key: 'text',
    token: 'uuid',
    waitMs: 'float8',
    failures: 'int',
    error: 'text?',
    wasRead: 'boolean',
    etag: 'text?',
    lastModified: 'text?',
    told: 'json?',
  },
  (p) => `update wakeful.source_polls
    set due_at = ${inMs(p.waitMs)}, claim_token = null, claimed_at = null, failures = ${p.failures},
        last_error = ${p.error}, last_ok_at = case when ${p.failures} = 0 then ${NOW} else last_ok_at end,
        etag = case when ${p.wasRead} then ${p.etag} else etag end,
        last_modified = case when ${p.wasRead} then ${p.lastModified} else last_modified end,
        told = case when ${p.wasRead} then ${p.told} else told end,
        read_at = case when ${p.wasRead} then ${NOW} else read_at end, updated_at = ${NOW}
    where bucket = ${p.bucket} and key = ${p.key} and claim_token = ${p.token} returning 1`,
)

const UNREAD = { etag: null, lastModified: null, told: null }

/** Answers whether the lease was still ours; otherwise nothing is written. */
export async function settlePoll(db: Db, polled: PolledSource): Promise<boolean> {
  const { read } = polled
  const written = await SETTLE.run(db, { ...polled, wasRead: read !== null, ...(read ?? UNREAD) })
  return written.length > 0
}

/** Hops from ticker to ticker along the index instead of reading the watches of all intents. */
const TICKERS = `with recursive k(key) as (
    (select key from wakeful.intent_watches where kind = 'price' order by key limit 1)
    union all
    select (select w.key from wakeful.intent_watches w where w.kind = 'price' and w.key > k.key order by w.key limit 1)
    from k where k.key is not null)
  select k.key from k left join lateral (
    select s.at from wakeful.signals s
    where s.kind = 'price' and s.key = k.key and coalesce(s.user_id, '') = '' order by s.at desc limit 1) s on true
  where k.key is not null and exists (
    select 1 from wakeful.intent_watches w join wakeful.scheduled_intents i on i.bucket = w.bucket and i.id = w.intent_id
    where w.kind = 'price' and w.key = k.key and i.enabled and i.agent_id is not null)
  order by s.at nulls first, k.key limit $1::int`

/** The tickers that enabled intents of ours wait for; those whose price is oldest first. */
export async function awaitedTickers(db: Db, limit: number): Promise<string[]> {
  const rows = await db.query<{ key: string }>(TICKERS, [limit])
  return rows.map(({ key }) => key)
}

export interface SourceState {
  readonly key: string
  readonly kind: string
  readonly failures: number
  readonly last_ok_at: Date | null
  readonly last_error: string | null
  readonly next_poll_at: Date
}

/** Removes sources that no process has polled for a week. */
export async function listSources(db: Db, limit: number): Promise<SourceState[]> {
  return db.query<SourceState>(
    `select key, kind, failures, last_ok_at, last_error, due_at as next_poll_at from wakeful.source_polls
     where due_at > ${inMs('-7 * 86400000')} order by kind, key limit $2::int`,
    [db.now(), limit],
  )
}
