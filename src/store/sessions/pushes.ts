/**
 * The outbox of channels that push. A message is due until its device has it; `due_at` is the next attempt, or
 * the end of the lease while one runs. Only the first of a session can be claimed, so they leave in order,
 * whichever process sends them. It does not matter here whether a socket has acknowledged the message.
 */
import type { Db } from '../db/db.ts'
import { byKey, claimRows, EFFECTS, keyIs, NOW, nextDueMs, oneInOrder } from '../db/due.ts'

export interface ClaimedPush {
  readonly bucket: number
  readonly session_key: string
  readonly position: number
  readonly id: string
  readonly payload: string
  readonly parts_sent: number
  readonly attempt_count: number
  readonly push_deaths: number
  readonly was_due_at: Date
  /** `<channel>:<address>` */
  readonly pushed_to: string
  readonly now: Date
}

/** The first of its session, of a channel ($5) that this process has. */
const FIRST = `split_part((select s.pushed_to from wakeful.sessions s
  where s.bucket = t.bucket and s.session_key = t.session_key), ':', 1) = any($5::text[]) and not exists (select 1 from wakeful.effects p
  where p.bucket = t.bucket and p.session_key = t.session_key and p.due_at is not null and p.position < t.position)`

/** Attempts are counted here, and a lease that ran out belonged to a process that died. */
const CLAIM = `with claimed as (
    ${claimRows(
      EFFECTS,
      't.bucket, t.session_key, t.position, t.id, t.payload, t.parts_sent, t.attempt_count, t.push_deaths, d.was_due_at',
      {
        set: `, attempt_count = t.attempt_count + 1, last_attempt_at = ${NOW}, updated_at = ${NOW},
          status = case t.status when 'pending' then 'executing' else t.status end,
          push_deaths = t.push_deaths + (t.claim_token is not null)::int`,
        where: FIRST,
      },
    )})
  select n.next_ms, ${NOW} as now, c.*,
    (select s.pushed_to from wakeful.sessions s where s.bucket = c.bucket and s.session_key = c.session_key) as pushed_to
  from (select ${nextDueMs(EFFECTS)} as next_ms) n left join claimed c on true
  order by c.was_due_at`

export async function claimPushes(
  db: Db,
  channels: readonly string[],
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ pushes: ClaimedPush[]; nextMs: number | null }> {
  const values = [db.now(), limit, leaseMs, token, channels]
  const rows = await oneInOrder<ClaimedPush & { next_ms: number | null }>(db, CLAIM, values)
  const nextMs = rows[0]?.next_ms ?? null
  return { pushes: rows.filter((row) => row.session_key !== null), nextMs }
}

export interface HeldPush {
  readonly bucket: number
  readonly key: string
  readonly position: number
  readonly token: string
}

const heldColumns = (held: readonly HeldPush[]) => [
  held.map((h) => h.bucket),
  held.map((h) => h.key),
  held.map((h) => h.position),
  held.map((h) => h.token),
]

/** Heartbeat. Answers with the tokens and positions still held. */
export async function extendPushes(
  db: Db,
  held: readonly HeldPush[],
  leaseMs: number,
): Promise<Set<string>> {
  const rows = await db.query<{ session_key: string; position: number }>(
    `update wakeful.effects e set due_at = ${NOW} + $2::int * interval '1 millisecond'
     from unnest($3::smallint[], $4::text[], $5::bigint[], $6::uuid[]) h(bucket, key, position, token)
     where ${keyIs('e.bucket', 'h.bucket')} and ${keyIs('e.session_key', 'h.key')} and e.position = h.position and e.claim_token = h.token
     returning e.session_key, e.position`,
    [db.now(), leaseMs, ...heldColumns(held)],
  )
  return new Set(rows.map((row) => `${row.session_key} ${row.position}`))
}

export interface SettledPush extends HeldPush {
  readonly outcome: 'sent' | 'later' | 'dropped'
  readonly waitMs: number
  readonly partsSent: number
  readonly error: string | null
}

/** What was claimed becomes sent, due again, or left to the sockets. Answers which were still ours. */
export async function settlePushes(db: Db, settled: readonly SettledPush[]): Promise<boolean[]> {
  const rows = await byKey(db, (tx) =>
    tx.query<{ session_key: string; position: number; token: string }>(
      `update wakeful.effects e
       set status = case when r.outcome = 'sent' then 'completed' when e.status = 'executing' then 'pending' else e.status end,
           due_at = case when r.outcome = 'later' then ${NOW} + r.wait_ms * interval '1 millisecond' end,
           parts_sent = r.parts_sent, last_error = r.error, push_deaths = 0, claim_token = null, claimed_at = null, updated_at = ${NOW}
       from unnest($2::smallint[], $3::text[], $4::bigint[], $5::uuid[], $6::text[], $7::float8[], $8::int[], $9::text[])
         r(bucket, key, position, token, outcome, wait_ms, parts_sent, error)
       where ${keyIs('e.bucket', 'r.bucket')} and ${keyIs('e.session_key', 'r.key')} and e.position = r.position and e.claim_token = r.token
       returning e.session_key, e.position, r.token`,
      [
        tx.now(),
        ...heldColumns(settled),
        settled.map((s) => s.outcome),
        settled.map((s) => s.waitMs),
        settled.map((s) => s.partsSent),
        settled.map((s) => s.error),
      ],
    ),
  )
  const ours = new Set(rows.map((row) => `${row.session_key} ${row.position} ${row.token}`))
  return settled.map((s) => ours.has(`${s.key} ${s.position} ${s.token}`))
}
