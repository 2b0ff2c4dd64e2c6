/** Figures of one agent: sessions, turns of the last day and their cost. Reads are bounded. */
import type { Db } from '../../store/db.ts'
import { claimTx, commitTx, inMs, NOW } from '../../store/due.ts'

/** Upper bounds per figure: sessions with user messages, due slots, and turns of each session. */
const SESSIONS_MAX = 500
const SLOTS_MAX = 5_000
const TURNS_MAX = 200
const DAY = inMs('-86400000')

export interface AgentCounts {
  readonly sessions: number
  readonly running: number
}

const COUNTS = `select count(*)::int as sessions, count(*) filter (where claim_token is not null and leased_until > ${NOW})::int as running
  from wakeful.sessions where agent_id = $2`

export interface AgentTurns {
  readonly turns: number
  readonly failed: number
  readonly p50: number | null
  readonly p95: number | null
}

const ACTIVE = `select bucket, session_key from (
    select s.bucket, s.session_key from wakeful.sessions s
    where s.last_user_at is not null and s.last_user_at >= ${DAY} and s.agent_id = $2
    order by s.last_user_at desc, s.session_key desc limit ${SESSIONS_MAX}) u
  union
  select bucket, session_key from (
    select e.bucket, e.session_key from wakeful.events e
    where e.scheduled_for is not null and e.seq >= 1 and e.created_at >= ${DAY}
    order by e.created_at desc, e.id desc limit ${SLOTS_MAX}) d
  where split_part(session_key, ':', 2) = $2`

const TURNS = `select count(*)::int as turns, count(*) filter (where t.status <> 'committed')::int as failed,
    percentile_disc(0.5) within group (order by t.ms) as p50, percentile_disc(0.95) within group (order by t.ms) as p95
  from unnest($3::smallint[], $4::text[]) a(bucket, session_key)
  cross join lateral (
    select o.status, extract(epoch from o.finished_at - o.started_at)::float8 * 1000 as ms, o.finished_at
    from wakeful.sessions s join wakeful.turns o on o.bucket = s.bucket and o.session_key = s.session_key
      and o.event_seq > s.last_seq - ${TURNS_MAX}
    where s.bucket = a.bucket and s.session_key = a.session_key) t
  where t.finished_at >= ${DAY} and $2::text is not null`

export interface AgentSpending {
  readonly calls: number
  readonly usd: number
}

/** Budgets are stored per day: yesterday counts by the share that lies within the last 24 hours. */
const SPENT = `select coalesce(round(sum(calls * share)), 0)::int as calls, coalesce(sum(usd * share), 0)::float8 as usd
  from (select b.calls, b.usd, case when b.day < (${NOW} at time zone 'UTC')::date
      then 1 - extract(epoch from ${NOW} at time zone 'UTC' - date_trunc('day', ${NOW} at time zone 'UTC')) / 86400 else 1 end as share
    from wakeful.budgets b where b.agent_id = $2 and b.day >= (${NOW} at time zone 'UTC')::date - 1) d`

export async function agentFigures(
  db: Db,
  id: string,
): Promise<AgentCounts & AgentTurns & AgentSpending> {
  const values = [db.now(), id]
  const active = await claimTx(db, (tx) =>
    tx.query<{ bucket: number; session_key: string }>(ACTIVE, values),
  )
  const keys = [active.map(({ bucket }) => bucket), active.map((each) => each.session_key)]
  return commitTx(db, async (tx) => {
    const [counts] = await tx.query<AgentCounts>(COUNTS, values)
    const [turns] = await tx.query<AgentTurns>(TURNS, [...values, ...keys])
    const [spent] = await tx.query<AgentSpending>(SPENT, values)
    if (counts === undefined || turns === undefined || spent === undefined)
      throw new Error('the database answered no figures')
    return { ...counts, ...turns, ...spent }
  })
}
