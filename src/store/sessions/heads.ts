/** The next numbers of sessions, for what triggers add to their logs. */
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'
import { rowsOf, statement } from '../db/statement.ts'

/** An event that a due row becomes, in the session it belongs to. */
export interface SlotEvent {
  readonly bucket: number
  readonly sessionKey: string
  readonly userId: string
  readonly agentId: string
  readonly threadId: string
}

/** Makes the sessions that are missing and takes the numbers, under the lock of each row, always in the same order. */
const HEADS = statement(
  {
    i: rowsOf<{ event: SlotEvent; total: number }>({
      bucket: ['smallint', ({ event }) => event.bucket],
      session_key: ['text', ({ event }) => event.sessionKey],
      user_id: ['text', ({ event }) => event.userId],
      agent_id: ['text', ({ event }) => event.agentId],
      thread_id: ['text', ({ event }) => event.threadId],
      total: ['int', ({ total }) => total],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.sessions as s (bucket, session_key, user_id, agent_id, thread_id, last_seq, due_at, created_at, updated_at)
  select bucket, session_key, user_id, agent_id, thread_id, total, ${NOW}, ${NOW}, ${NOW}
  from ${i}
  order by bucket, session_key
  on conflict (bucket, session_key) do update
    set last_seq = s.last_seq + excluded.last_seq, due_at = coalesce(s.due_at, excluded.due_at), updated_at = excluded.updated_at
  returning session_key, last_seq`,
)

/** The number of each event, in the given order within each session. */
export async function takeSeqs(tx: Db, events: readonly SlotEvent[]): Promise<number[]> {
  const totals = new Map<string, { event: SlotEvent; total: number }>()
  for (const event of events) {
    const known = totals.get(event.sessionKey)
    if (known === undefined) totals.set(event.sessionKey, { event, total: 1 })
    else known.total++
  }
  const heads = [...totals.values()]
  const numbered = await HEADS.run<{ session_key: string; last_seq: number }>(tx, { i: heads })
  const taken = new Map(
    numbered.map(({ session_key, last_seq }) => [
      session_key,
      last_seq - (totals.get(session_key)?.total ?? 0),
    ]),
  )
  return events.map(({ sessionKey }) => {
    const seq = (taken.get(sessionKey) ?? 0) + 1
    taken.set(sessionKey, seq)
    return seq
  })
}
