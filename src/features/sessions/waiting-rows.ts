/** Messages that arrived while a turn of their session ran, or waited. */
import type { EventType } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import type { ClaimedTurn } from './rows.ts'

/** Messages that one turn answers at most; those behind them have the next one. */
const MERGED_MAX = 100

const AFTER = { i: rows({ bucket: 'smallint', key: 'text', seq: 'int' }) }
const FOLLOWING = statement(
  AFTER,
  ({
    i,
  }) => `select i.key, e.id, e.seq, e.type, e.payload, e.created_at, e.traceparent, e.lineage from ${i}
    join wakeful.events e on ${eqByKey('e.bucket', 'i.bucket')} and e.session_key = i.key and e.seq > i.seq and e.seq < i.seq + ${MERGED_MAX}
    order by i.key, e.seq`,
)

interface Following {
  readonly key: string
  readonly id: string
  readonly seq: number
  readonly type: EventType
  readonly payload: string
  readonly created_at: Date
  readonly traceparent: string | null
  readonly lineage: string | null
}

const afterOf = ({ bucket, session_key: key, seq }: ClaimedTurn) => ({ bucket, key, seq })

/** Each of these turns over a message with the messages right behind it: the last is its event, the earlier ones are `merged`. */
export async function withFollowing(
  db: Db,
  claims: readonly ClaimedTurn[],
): Promise<Map<ClaimedTurn, ClaimedTurn>> {
  const behind = claims.filter(({ seq, last_seq = seq }) => last_seq > seq)
  if (behind.length === 0) return new Map()
  const found = await FOLLOWING.run<Following>(db, { i: behind.map(afterOf) })
  return new Map(behind.map((claim) => [claim, merged(claim, found)]))
}

function merged(claim: ClaimedTurn, found: readonly Following[]): ClaimedTurn {
  const following = found.filter(({ key }) => key === claim.session_key)
  const end = following.findIndex(({ type }) => type !== 'user_message')
  const messages = end === -1 ? following : following.slice(0, end)
  const last = messages.at(-1)
  if (last === undefined) return claim
  const { event_id: id, seq, type, payload, event_created_at: created_at } = claim
  const { key: _, id: event_id, created_at: event_created_at, ...event } = last
  return {
    ...{ ...claim, ...event, event_id, event_created_at },
    merged: [{ id, seq, type, payload, created_at }, ...messages.slice(0, -1)],
  }
}

const SPOKEN = statement(
  AFTER,
  ({ i }) => `select s.session_key as key from ${i}
    join wakeful.sessions s on ${eqByKey('s.bucket', 'i.bucket')} and s.session_key = i.key and s.last_user_seq > i.seq`,
)

/** The sessions of these turns in which the person has written since. */
export async function spokenSince(
  db: Db,
  claims: readonly ClaimedTurn[],
): Promise<ReadonlySet<string>> {
  const found = await SPOKEN.run<{ key: string }>(db, { i: claims.map(afterOf) })
  return new Set(found.map(({ key }) => key))
}
