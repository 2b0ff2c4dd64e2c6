/** What people and their agents have used up, day by day: added to in batches, and told to one process when the person is to hear of it. */

import { Refusal } from '../../core/errors.ts'
import type { SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'
import { appendNotices } from '../work/settle-rows.ts'
import { dayOf, type Limit, refusedText } from './rules.ts'

export interface BudgetAdded {
  readonly bucket: number
  readonly user_id: string
  readonly agent_id: string
  /** `2026-11-17` */
  readonly day: string
  readonly fires: number
  readonly calls: number
  readonly tokens: number
  readonly usd: number
  readonly over_limit: Limit | null
}

export interface BudgetRow extends Omit<BudgetAdded, 'bucket'> {
  readonly told: boolean
}

const ADD = statement(
  {
    i: rows({
      bucket: 'smallint',
      user_id: 'text',
      agent_id: 'text',
      day: 'text',
      fires: 'int',
      calls: 'int',
      tokens: 'float8',
      usd: 'float8',
      over_limit: 'text?',
    }),
  },
  ({
    i,
  }) => `insert into wakeful.budgets as b (bucket, user_id, agent_id, day, fires, calls, tokens, usd, over_limit, updated_at)
    select bucket, user_id, agent_id, day::date, fires, calls, tokens::bigint, usd, over_limit, ${NOW} from ${i}
    order by bucket, user_id, agent_id, day
    on conflict (bucket, user_id, agent_id, day) do update
      set fires = b.fires + excluded.fires, calls = b.calls + excluded.calls, tokens = b.tokens + excluded.tokens,
          usd = b.usd + excluded.usd, over_limit = coalesce(b.over_limit, excluded.over_limit), updated_at = excluded.updated_at
    returning b.user_id, b.agent_id, b.day::text as day, b.fires, b.calls, b.tokens::float8 as tokens, b.usd, b.over_limit,
      b.told_at is not null as told`,
)

/** Adds to what is there and answers with the sums of all processes. */
export async function addToBudgets(db: Db, added: readonly BudgetAdded[]): Promise<BudgetRow[]> {
  return added.length === 0 ? [] : ADD.run<BudgetRow>(db, { i: added })
}

const FIRE = statement(
  { bucket: 'smallint', userId: 'text', agentId: 'text', day: 'text', max: 'int' },
  (b) => `insert into wakeful.budgets as b (bucket, user_id, agent_id, day, fires, updated_at)
    select ${b.bucket}, ${b.userId}, ${b.agentId}, ${b.day}::date, 1, ${NOW} where ${b.max} > 0
    on conflict (bucket, user_id, agent_id, day) do update set fires = b.fires + 1, updated_at = excluded.updated_at where b.fires < ${b.max}
    returning b.fires`,
)

/** Counts one fire of all processes, unless so many were counted already: then null. */
export async function countFire(
  db: Db,
  fire: { bucket: number; userId: string; agentId: string; day: string; max: number },
): Promise<number | null> {
  const [row] = await FIRE.run<{ fires: number }>(db, fire)
  return row?.fires ?? null
}

const LOCK = statement(
  { bucket: 'smallint', userId: 'text', agentId: 'text', day: 'text' },
  (b) => `insert into wakeful.budgets as b (bucket, user_id, agent_id, day, updated_at)
    values (${b.bucket}, ${b.userId}, ${b.agentId}, ${b.day}::date, ${NOW})
    on conflict (bucket, user_id, agent_id, day) do update set updated_at = excluded.updated_at`,
)

/**
 * Throws where more waits than may. Called after something was set, in the same transaction: the lock makes everybody else who sets
 * something for these two wait until it ends, so that two cannot both take the last place. It is the last lock of a transaction.
 */
export async function keepPending(
  tx: Db,
  whom: { readonly bucket: number; readonly userId: string; readonly agentId: string },
  now: Date,
  max: number,
): Promise<void> {
  await LOCK.run(tx, { ...whom, day: dayOf(now) })
  const { bucket, userId: user_id, agentId: agent_id } = whom
  const [row] = await countPending(tx, [{ bucket, user_id, agent_id }], max + 1)
  if ((row?.pending ?? 0) > max)
    throw new Refusal('over_budget', refusedText({ limit: 'pending', used: max, max }, whom))
}

/** Set by an agent itself, be it by its key: the depth is 1 for what a person or a program has set. */
const SELF_MADE = (t: string) =>
  `${t}.lineage is not null and (${t}.lineage not like '1.%' or ${t}.lineage like '%.agent\\_key.%')`

const PENDING = statement(
  { i: rows({ bucket: 'smallint', user_id: 'text', agent_id: 'text' }), most: 'int' },
  ({ i, most }) => {
    const some = (from: string, t: string) =>
      `(select count(*)::int from (select 1 from wakeful.${from} and ${SELF_MADE(t)} limit ${most}) c)`
    // An empty name stands for what no agent owns: the wake URL's, or an outside worker's.
    const by = (t: string) => `coalesce(${t}.agent_id, '') = i.agent_id`
    const within = (t: string) =>
      `${t}.bucket = i.bucket and ${t}.session_key > i.user_id || ':' || i.agent_id || ':' and ${t}.session_key < i.user_id || ':' || i.agent_id || ';'`
    return `select i.user_id, i.agent_id,
      ${some(
        `alarms a where a.bucket = i.bucket and a.user_id = i.user_id and ${by('a')} and a.status = 'active'
        and not (a.kind = 'once' and a.in_flight is not null)`,
        'a',
      )}
      + ${some(
        `scheduled_intents n where n.user_id = i.user_id and ${by('n')} and n.enabled = true
        and not (n.trigger_type = 'once' and n.in_flight is not null)`,
        'n',
      )}
      + ${some(`work w where w.bucket = i.bucket and w.user_id = i.user_id and ${by('w')} and w.is_active`, 'w')}
      + ${some(`autonomy_timers t where ${within('t')} and t.status || '' = 'pending'`, 't')}
      + ${some(`questions q where ${within('q')} and q.status = 'open' and q.due_at is not null`, 'q')} as pending
      from ${i}`
  },
)

/** How many triggers wait that agents set themselves, of each kind at most so many; a `once` that is firing waits no more. Walks what the person has: not for every turn. */
export async function countPending(
  db: Db,
  whom: readonly { bucket: number; user_id: string; agent_id: string }[],
  most: number,
): Promise<{ user_id: string; agent_id: string; pending: number }[]> {
  return whom.length === 0 ? [] : PENDING.run(db, { i: whom, most })
}

const TELL = statement(
  { bucket: 'smallint', userId: 'text', agentId: 'text', day: 'text' },
  (b) => `update wakeful.budgets t set told_at = ${NOW}
    where ${eqByKey('t.bucket', b.bucket)} and t.user_id = ${b.userId} and t.agent_id = ${b.agentId} and t.day = ${b.day}::date
      and t.told_at is null returning 1 as one`,
)

/** Tells the person once a day, in the conversation in which it came up, whichever process asks first. */
export async function tellOver(
  db: Db,
  session: SessionRef,
  notice: { day: string; eventId: string; triggerId: string; text: string },
): Promise<boolean> {
  const { bucket, userId, agentId } = session
  return db.tx(async (tx) => {
    const told = await TELL.run(tx, { bucket, userId, agentId, day: notice.day })
    if (told.length === 0) return false
    const payload = JSON.stringify({ notice: true, text: notice.text })
    const { eventId, triggerId: workId } = notice
    await appendNotices(tx, [{ session, payload, eventId, workId, traceparent: null }])
    return true
  })
}
