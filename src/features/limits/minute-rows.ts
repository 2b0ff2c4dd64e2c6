/** How many turns of an agent may still begin in this minute of the clock: counted over all processes. */
import type { Db } from '../../store/db.ts'
import { claimTx, NOW, SESSIONS } from '../../store/due.ts'
import { statement } from '../../store/statement.ts'

const MINUTE = `date_trunc('minute', ${NOW} at time zone 'UTC') at time zone 'UTC'`

interface Room {
  readonly room: number
  /** To the next minute. */
  readonly next_ms: number
}

const LEFT = `extract(epoch from interval '1 minute' - (${NOW} - (${MINUTE})))::float8 * 1000 as next_ms`
const LOOK = statement(
  { agentId: 'text', max: 'int' },
  ({
    agentId,
    max,
  }) => `select greatest(0, ${max} - coalesce((select m.begun from wakeful.agent_minutes m
    where m.agent_id = ${agentId} and m.minute = ${MINUTE}), 0)) as room, ${LEFT}`,
)
/** Held until the end of the transaction, so that two processes do not count the same turns. */
const LOCK = statement(
  { agentId: 'text', max: 'int' },
  ({
    agentId,
    max,
  }) => `insert into wakeful.agent_minutes as m (agent_id, minute, begun) values (${agentId}, ${MINUTE}, 0)
    on conflict (agent_id) do update
      set begun = case when m.minute = excluded.minute then m.begun else 0 end, minute = excluded.minute
    returning greatest(0, ${max} - begun) as room, ${LEFT}`,
)
const ADD = statement(
  { agentId: 'text', turns: 'int' },
  ({ agentId, turns }) =>
    `update wakeful.agent_minutes set begun = begun + ${turns} where agent_id = ${agentId}`,
)
const WAITS = statement(
  { agentId: 'text' },
  ({ agentId }) => `select exists (select 1 from ${SESSIONS.name} s
    where s.${SESSIONS.live} and s.due_at <= ${NOW} and (s.leased_until is null or s.leased_until <= ${NOW}) and s.agent_id = ${agentId}) as waits`,
)

/**
 * Takes at most as much as the minute has room for, and counts it. The first shard keeps the counts of all: `take` gets a transaction of
 * it where the sessions are there, too. Null: there is nothing to take, or no room until the answer's `nextMs`.
 */
export async function withinMinute<T extends { readonly turns: readonly unknown[] }>(
  claims: Db,
  { agentId, max, limit }: { agentId: string; max: number; limit: number },
  take: (db: Db, limit: number) => Promise<T>,
): Promise<{ readonly taken: T | null; readonly nextMs: number | null }> {
  const counts = claims.home ?? claims
  // Most looks find nobody who waits, and write nothing.
  const [found] = await WAITS.run<{ waits: boolean }>(claims, { agentId })
  if (!found?.waits) return { taken: null, nextMs: null }
  const [seen] = await LOOK.run<Room>(counts, { agentId, max })
  if (seen?.room === 0) return { taken: null, nextMs: seen.next_ms }
  return claimTx(counts, async (tx) => {
    const [locked] = await LOCK.run<Room>(tx, { agentId, max })
    const { room = 0, next_ms: nextMs = null } = locked ?? {}
    if (room === 0) return { taken: null, nextMs }
    const taken = await take(counts === claims ? tx : claims, Math.min(limit, room))
    const turns = taken.turns.length
    if (turns > 0) await ADD.run(tx, { agentId, turns })
    return { taken, nextMs: turns === room ? nextMs : null }
  })
}
