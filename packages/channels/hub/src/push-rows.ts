/**
 * The outbox of channels that push. A message is due until its person has it; `due_at` is the next attempt, or
 * the end of the lease while one runs. Only the first of a session can be claimed, so they leave in order,
 * whichever process sends them. It does not matter here whether a socket has acknowledged the message.
 */
import { newId } from '../../../../src/core/ids.ts'
import type { Reason } from '../../../../src/features/sessions/gate.ts'
import type { Db } from '../../../../src/store/db.ts'
import {
  claimRows,
  commitTx,
  databaseNow,
  EFFECTS,
  eqByKey,
  inMs,
  LEASE,
  NOW,
  nextDueMs,
  oneInOrder,
  takenOf,
} from '../../../../src/store/due.ts'
import { type RowOf, rows, statement } from '../../../../src/store/statement.ts'
import type { LinkOutcome } from './link-rows.ts'

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
  /** JSON text: the links it may go by, the best first. */
  readonly links: string | null
  /** Some link has refused it. */
  readonly refused: boolean
  /** The vendor's id of the message that is answered. */
  readonly asked_as: string | null
  readonly now: Date
}

const refusedBy = (
  t: string,
  whom: string,
) => `exists (select 1 from wakeful.deliveries d where d.bucket = ${t}.bucket
  and d.session_key = ${t}.session_key and d.position = ${t}.position and d.outcome in ('refused', 'failed') ${whom})`

const askedAs = (t: string) => `(select v.client_id
  from wakeful.events v where v.bucket = ${t}.bucket and v.session_key = ${t}.session_key and v.seq = ${t}.event_seq)`

/**
 * The links `l` by which the message `t` may go: those of its session; those of its person, where nobody asked for it or it
 * was asked from there. One that has refused this very message is not asked again.
 */
const linksOf = (t: string) => `wakeful.links l
  where l.bucket = ${t}.bucket and l.user_id = split_part(${t}.session_key, ':', 1) and l.ended_at is null
    and (l.session_key = ${t}.session_key or (l.person and (${t}.reason <> 'answer' or starts_with(${askedAs(t)}, l.channel || ':'))))
    and not ${refusedBy(t, 'and d.link_id = l.id')}`
const bestFirst = (t: string) => `l.session_key <> ${t}.session_key, l.rank, l.created_at, l.id`

/** The first of its session; of a channel that this process has, or of none: then it fails with that reason. */
const first = (channels: string) => `coalesce((select l.channel from ${linksOf('t')}
  order by l.closed_at is not null, ${bestFirst('t')} limit 1), '') = any(${channels}) and not exists (select 1 from wakeful.effects p
  where p.bucket = t.bucket and p.session_key = t.session_key and p.due_at is not null and p.position < t.position)`

/** Attempts are counted here, and a lease that ran out belonged to a process that died. */
const CLAIM = statement(
  { ...LEASE, channels: 'text[]', notUserIds: 'text[]' },
  ({ channels, notUserIds, ...lease }) => `with claimed as (
    ${claimRows(
      EFFECTS,
      lease,
      `t.bucket, t.session_key, t.position, t.id, t.payload, t.event_seq, t.reason, t.origin, t.checkpoint_id, t.traceparent,
       t.parts_sent, t.attempt_count, t.push_deaths, d.was_due_at`,
      {
        set: `, attempt_count = t.attempt_count + 1, last_attempt_at = ${NOW}, updated_at = ${NOW},
          status = case when t.status = 'pending' then 'executing' else t.status end,
          push_deaths = t.push_deaths + (t.claim_token is not null)::int`,
        where: `split_part(t.session_key, ':', 1) <> all(${notUserIds}) and ${first(channels)}`,
      },
    )})
  select n.next_ms, ${NOW} as now, c.*,
    (select json_agg(json_build_object('id', l.id, 'channel', l.channel, 'address', l.address, 'closed', l.closed_at is not null,
       'silentMs', extract(epoch from ${NOW} - l.heard_at)::float8 * 1000) order by ${bestFirst('c')}) from ${linksOf('c')}) as links,
    ${refusedBy('c', '')} as refused, ${askedAs('c')} as asked_as
  from (select ${nextDueMs(EFFECTS)} as next_ms) n left join claimed c on true
  order by c.was_due_at`,
)

export async function claimPushes(
  db: Db,
  channels: readonly string[],
  limit: number,
  leaseMs: number,
  token: string,
  notUserIds: readonly string[] = [],
): Promise<{ pushes: ClaimedPush[]; nextMs: number | null }> {
  const given = { limit, leaseMs, token, channels: ['', ...channels], notUserIds }
  const values = CLAIM.values(db, given)
  const { taken, nextMs } = takenOf<ClaimedPush>(await oneInOrder(db, CLAIM.text, values))
  return { pushes: taken, nextMs }
}

const HELD = { bucket: 'smallint', key: 'text', position: 'bigint', token: 'uuid' } as const
const HELD_ROWS = rows(HELD)
export type HeldPush = RowOf<typeof HELD_ROWS>

/** `h`: a list of pushes in hand. */
const IS_HELD = `${eqByKey('e.bucket', 'h.bucket')} and e.session_key = h.key and e.position = h.position and e.claim_token = h.token`

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
  /** By which it went; null where none took it. */
  readonly channel: string | null
  /** `waits`: for somebody who links or writes, without a time. */
  readonly outcome: 'sent' | 'later' | 'waits' | 'dropped'
  readonly waitMs: number
  readonly partsSent: number
  readonly error: string | null
  /** False: nothing left this house, so it was no attempt. */
  readonly tried: boolean
  /** When it was claimed: later links and messages do not count. */
  readonly since: Date
}

const SINCE = `exists (select 1 from wakeful.links l where l.bucket = e.bucket and l.user_id = split_part(e.session_key, ':', 1)
  and l.ended_at is null and greatest(l.created_at, l.heard_at) > h.since)`

const SETTLE = statement(
  {
    h: rows({
      ...HELD,
      channel: 'text?',
      outcome: 'text',
      waitMs: 'float8',
      partsSent: 'int',
      error: 'text?',
      tried: 'boolean',
      since: 'timestamptz',
    }),
  },
  ({ h }) => `update wakeful.effects e
    set status = case when h.outcome = 'sent' or e.status = 'completed' then 'completed'
                      when h.outcome = 'dropped' then 'failed' else 'pending' end,
        delivered_by = case when h.outcome = 'sent' then coalesce(e.delivered_by, h.channel) else e.delivered_by end,
        delivered_at = case when h.outcome = 'sent' then coalesce(e.delivered_at, ${NOW}) else e.delivered_at end,
        due_at = case when h.outcome = 'later' then ${inMs('h.wait_ms')}
                      when h.outcome = 'waits' and ${SINCE} then ${NOW} end,
        attempt_count = e.attempt_count - (not h.tried)::int,
        parts_sent = h.parts_sent, last_error = case when h.outcome = 'sent' then null else coalesce(h.error, e.last_error) end,
        push_deaths = 0, claim_token = null, claimed_at = null, updated_at = ${NOW}
    from ${h} where ${IS_HELD} returning e.session_key, e.position, h.token`,
)

/** What a link said of a message. */
export interface Said {
  readonly linkId: string
  readonly channel: string
  readonly outcome: LinkOutcome
  readonly error: string | null
  /** The channel's names for what was sent of it just now. */
  readonly providerIds: readonly string[]
}

const NOTE = statement(
  {
    n: rows({
      bucket: 'smallint',
      key: 'text',
      position: 'bigint',
      id: 'uuid',
      linkId: 'uuid',
      channel: 'text',
      outcome: 'text',
      providerId: 'text?',
      error: 'text?',
    }),
  },
  ({
    n,
  }) => `insert into wakeful.deliveries (bucket, session_key, position, id, link_id, channel, outcome, provider_id, error, created_at)
    select n.bucket, n.key, n.position, n.id, n.link_id, n.channel, n.outcome, n.provider_id, n.error, ${NOW} from ${n}`,
)

const MARK = statement(
  { bucket: 'smallint', id: 'uuid', outcome: 'text', error: 'text?', since: 'timestamptz' },
  ({ bucket, id, outcome, error, since }) => `update wakeful.links
    set last_outcome = ${outcome}, last_error = ${error}, last_at = ${NOW}, updated_at = ${NOW},
      closed_at = case when ${outcome} = 'closed' and (heard_at is null or heard_at <= ${since}) then ${NOW} else closed_at end
    where bucket = ${bucket} and id = ${id} and ended_at is null`,
)

/** What was claimed becomes sent, due again, waiting, or failed and left to the sockets. False when it was not ours any more. */
export async function settlePush(
  db: Db,
  settled: SettledPush,
  said: readonly Said[],
): Promise<boolean> {
  return commitTx(db, async (tx) => {
    const written = await SETTLE.run(tx, { h: [settled] })
    if (written.length === 0) return false
    for (const each of said) await note(tx, settled, each)
    return true
  })
}

async function note(
  tx: Db,
  { bucket, key, position, since }: SettledPush,
  { linkId, channel, outcome, error, providerIds }: Said,
): Promise<void> {
  const own = { bucket, key, position, linkId, channel }
  const sent = providerIds.map((providerId) => ({
    ...{ ...own, id: newId(), outcome: 'sent', providerId, error: null },
  }))
  const last =
    outcome === 'later' || (outcome === 'sent' && sent.length > 0)
      ? []
      : [{ ...own, id: newId(), outcome, providerId: null, error }]
  if (sent.length + last.length > 0) await NOTE.run(tx, { n: [...sent, ...last] })
  await MARK.run(tx, { bucket, id: linkId, outcome, error, since })
}

/** What a link said of a line that was no message of anybody's. */
export async function markLink(
  db: Db,
  { bucket, id }: { readonly bucket: number; readonly id: string },
  outcome: LinkOutcome,
  error: string | null,
): Promise<void> {
  await MARK.run(db, { bucket, id, outcome, error, since: await databaseNow(db) })
}

/** A message that a link took, by the channel's name for it. */
export interface Delivered {
  readonly bucket: number
  readonly session_key: string
  readonly position: number
  readonly reason: Reason
  readonly effect_id: string
  readonly event_seq: number
  readonly content: string
  /** The question that it asks. */
  readonly question_id: string | null
  readonly origin: string | null
  readonly delivered_at: Date
}

const DELIVERED = `d.created_at as delivered_at, e.bucket, e.session_key, e.position, e.reason, e.id as effect_id, e.event_seq, e.payload ->> 'content' as content, e.payload -> 'question' ->> 'id' as question_id, e.origin`

/** By the channel's name for it, or by its own id; for null the newest one. */
export async function deliveredBy(
  db: Db,
  link: { readonly bucket: number; readonly id: string },
  providerId: string | null,
  effectId: string | null = null,
): Promise<Delivered | null> {
  const [row] = await db.query<Delivered>(
    `select ${DELIVERED} from wakeful.deliveries d
     join wakeful.effects e on e.bucket = d.bucket and e.session_key = d.session_key and e.position = d.position
     where d.bucket = $1 and d.link_id = $2::uuid and d.outcome = 'sent'
       and ($3::text is null or d.provider_id = $3) and ($4::uuid is null or e.id = $4)
     order by d.created_at desc, d.id desc limit 1`,
    [link.bucket, link.id, providerId, effectId],
  )
  return row ?? null
}

const UNSEND = statement(
  {
    bucket: 'smallint',
    key: 'text',
    position: 'bigint',
    linkId: 'uuid',
    channel: 'text',
    outcome: 'text',
    error: 'text?',
    waits: 'boolean',
  },
  (u) => `with told as (
    update wakeful.deliveries set outcome = ${u.outcome}, error = ${u.error}
    where bucket = ${u.bucket} and session_key = ${u.key} and position = ${u.position} and link_id = ${u.linkId} and outcome = 'sent'
    returning 1),
  undone as (
  update wakeful.effects e
  set status = case when ${u.waits} then 'pending' else 'failed' end, delivered_by = null, delivered_at = null, parts_sent = 0,
      due_at = case when ${u.waits} then ${NOW} end, last_error = ${u.error}, claim_token = null, updated_at = ${NOW}
  where e.bucket = ${u.bucket} and e.session_key = ${u.key} and e.position = ${u.position}
    and e.status = 'completed' and e.delivered_by = ${u.channel} and exists (select 1 from told)
  returning 1)
  select 1 from undone`,
)

/** The channel took it and says now that it did not arrive: it is due again, by whatever link still takes it. */
export async function unsend(
  db: Db,
  { bucket, session_key: key, position, reason, delivered_at: since }: Delivered,
  { linkId, channel, outcome, error }: Said,
): Promise<boolean> {
  return db.tx(async (tx) => {
    const told = { bucket, key, position, linkId, channel, outcome, error }
    const undone = await UNSEND.run(tx, { ...told, waits: reason !== 'follow_up' })
    await MARK.run(tx, { bucket, id: linkId, outcome, error, since })
    return undone.length > 0
  })
}
