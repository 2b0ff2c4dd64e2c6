/**
 * The outbox of channels that push. A message is due until its device has it; `due_at` is the next attempt, or
 * the end of the lease while one runs. Only the first of a session can be claimed, so they leave in order,
 * whichever process sends them. It does not matter here whether a socket has acknowledged the message.
 */
import type { Reason } from '../../core/sessions/reason.ts'
import type { Db } from '../db/db.ts'
import {
  byKey,
  claimRows,
  EFFECTS,
  inMs,
  keyIs,
  LEASE,
  NOW,
  nextDueMs,
  oneInOrder,
  takenOf,
} from '../db/due.ts'
import { type RowOf, rows, statement } from '../db/statement.ts'

export interface ClaimedPush {
  readonly bucket: number
  readonly session_key: string
  readonly position: number
  readonly id: string
  readonly payload: string
  readonly event_seq: number
  readonly reason: Reason
  readonly origin: string | null
  readonly checkpoint_id: string
  readonly traceparent: string | null
  readonly parts_sent: number
  readonly attempt_count: number
  readonly push_deaths: number
  readonly was_due_at: Date
  /** `<channel>:<address>` */
  readonly pushed_to: string
  readonly now: Date
}

/** The first of its session, of a channel that this process has. */
const first = (channels: string) => `split_part((select s.pushed_to from wakeful.sessions s
  where s.bucket = t.bucket and s.session_key = t.session_key), ':', 1) = any(${channels}) and not exists (select 1 from wakeful.effects p
  where p.bucket = t.bucket and p.session_key = t.session_key and p.due_at is not null and p.position < t.position)`

/** Attempts are counted here, and a lease that ran out belonged to a process that died. */
const CLAIM = statement(
  { ...LEASE, channels: 'text[]' },
  ({ channels, ...lease }) => `with claimed as (
    ${claimRows(
      EFFECTS,
      lease,
      `t.bucket, t.session_key, t.position, t.id, t.payload, t.event_seq, t.reason, t.origin, t.checkpoint_id, t.traceparent,
       t.parts_sent, t.attempt_count, t.push_deaths, d.was_due_at`,
      {
        set: `, attempt_count = t.attempt_count + 1, last_attempt_at = ${NOW}, updated_at = ${NOW},
          status = case when t.status = 'pending' then 'executing' else t.status end,
          push_deaths = t.push_deaths + (t.claim_token is not null)::int`,
        where: first(channels),
      },
    )})
  select n.next_ms, ${NOW} as now, c.*,
    (select s.pushed_to from wakeful.sessions s where s.bucket = c.bucket and s.session_key = c.session_key) as pushed_to
  from (select ${nextDueMs(EFFECTS)} as next_ms) n left join claimed c on true
  order by c.was_due_at`,
)

export async function claimPushes(
  db: Db,
  channels: readonly string[],
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ pushes: ClaimedPush[]; nextMs: number | null }> {
  const values = CLAIM.values(db, { limit, leaseMs, token, channels })
  const { taken, nextMs } = takenOf<ClaimedPush>(await oneInOrder(db, CLAIM.text, values))
  return { pushes: taken, nextMs }
}

const HELD = { bucket: 'smallint', key: 'text', position: 'bigint', token: 'uuid' } as const
const HELD_ROWS = rows(HELD)
export type HeldPush = RowOf<typeof HELD_ROWS>

/** `h`: a list of pushes in hand. */
const IS_HELD = `${keyIs('e.bucket', 'h.bucket')} and ${keyIs('e.session_key', 'h.key')} and e.position = h.position and e.claim_token = h.token`

const EXTEND = statement(
  { h: HELD_ROWS, leaseMs: 'int' },
  ({ h, leaseMs }) => `update wakeful.effects e set due_at = ${inMs(leaseMs)}
    from ${h} where ${IS_HELD} returning e.session_key, e.position`,
)

/** Heartbeat. Answers with the tokens and positions still held. */
export async function extendPushes(
  db: Db,
  held: readonly HeldPush[],
  leaseMs: number,
): Promise<Set<string>> {
  const still = await EXTEND.run<{ session_key: string; position: number }>(db, {
    h: held,
    leaseMs,
  })
  return new Set(still.map((row) => `${row.session_key} ${row.position}`))
}

export interface SettledPush extends HeldPush {
  readonly channel: string
  readonly outcome: 'sent' | 'later' | 'dropped'
  readonly waitMs: number
  readonly partsSent: number
  readonly error: string | null
}

const SETTLE = statement(
  {
    h: rows({
      ...HELD,
      channel: 'text',
      outcome: 'text',
      waitMs: 'float8',
      partsSent: 'int',
      error: 'text?',
    }),
  },
  ({ h }) => `update wakeful.effects e
    set status = case when h.outcome = 'sent' or e.status = 'completed' then 'completed'
                      when h.outcome = 'dropped' then 'failed' else 'pending' end,
        delivered_by = case when h.outcome = 'sent' then coalesce(e.delivered_by, h.channel) else e.delivered_by end,
        delivered_at = case when h.outcome = 'sent' then coalesce(e.delivered_at, ${NOW}) else e.delivered_at end,
        due_at = case when h.outcome = 'later' then ${inMs('h.wait_ms')} end,
        parts_sent = h.parts_sent, last_error = h.error, push_deaths = 0, claim_token = null, claimed_at = null, updated_at = ${NOW}
    from ${h} where ${IS_HELD} returning e.session_key, e.position, h.token`,
)

/** What was claimed becomes sent, due again, or failed and left to the sockets. Answers which were still ours. */
export async function settlePushes(db: Db, settled: readonly SettledPush[]): Promise<boolean[]> {
  const written = await byKey(db, (tx) =>
    SETTLE.run<{ session_key: string; position: number; token: string }>(tx, { h: settled }),
  )
  const ours = new Set(written.map((row) => `${row.session_key} ${row.position} ${row.token}`))
  return settled.map((s) => ours.has(`${s.key} ${s.position} ${s.token}`))
}

/** Why a message that waits for the sockets now did not go the other way. */
export async function notePushError(
  tx: Db,
  { bucket, session_key: key, position }: Pick<ClaimedPush, 'bucket' | 'session_key' | 'position'>,
  error: string,
): Promise<void> {
  await tx.query(
    `update wakeful.effects set last_error = $5, updated_at = ${NOW}
     where bucket = $2 and session_key = $3 and position = $4`,
    [tx.now(), bucket, key, position, error],
  )
}
