/** The people directory: last message and next schedule of each person, read through indexes; nothing else is stored for it. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { claimTx, commitTx, eqByKey, NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'

export interface Person {
  readonly user_id: string
  readonly timezone: string | null
  readonly paused_until: Date | null
  readonly last_seen_at: Date | null
  readonly next_at: Date | null
  /** `next_at` with its microseconds. */
  readonly next_text: string | null
  readonly sessions: number
}

/** A person and their sort key. */
export interface Placed {
  readonly user_id: string
  readonly place: string
}

const TEXT = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
/** Checks of conditions do not count as scheduled times. */
const TIMED = `t.trigger_type in ('cron', 'interval', 'once')`

interface Lane {
  readonly table: string
  readonly due: string
  /** Conditions of waiting rows, one for each partial index. */
  readonly live: readonly string[]
  readonly user: string
  readonly of: string
  /** The same condition, written so that no index over all people fits. */
  readonly waits: string
}

const BY_USER = 't.bucket = k.bucket and t.user_id = k.user_id'
const LANES: readonly Lane[] = [
  {
    table: 'autonomy_timers',
    due: 'fire_at',
    live: [`t.status = 'pending'`],
    user: `split_part(t.session_key, ':', 1)`,
    of: `t.bucket = k.bucket and t.session_key > k.user_id || ':' and t.session_key < k.user_id || ';'`,
    waits: `t.status || '' = 'pending'`,
  },
  {
    table: 'alarms',
    due: 'due_at',
    live: [
      't.due_at is not null and t.agent_id is not null',
      't.due_at is not null and t.agent_id is null',
    ],
    user: 't.user_id',
    of: BY_USER,
    waits: 'true',
  },
  {
    table: 'scheduled_intents',
    due: 'next_check',
    live: [
      `t.enabled = true and t.next_check is not null and t.agent_id is not null and t.in_flight is null and ${TIMED}`,
      `t.enabled = true and t.next_check is not null and t.agent_id is null and ${TIMED}`,
    ],
    user: 't.user_id',
    of: BY_USER,
    waits: `t.enabled and (t.agent_id is null or t.in_flight is null) and ${TIMED}`,
  },
  {
    table: 'work',
    due: 'next_run_at',
    live: ['t.is_active and t.in_flight is null'],
    user: 't.user_id',
    of: BY_USER,
    waits: 't.is_active and t.in_flight is null',
  },
]

// min() over an expression: min() of the plain column may walk the index over all people.
const NEXT = LANES.map(
  ({ table, due, of, waits }) =>
    `(select min(greatest(t.${due}, t.${due})) from wakeful.${table} t where ${of} and ${waits})`,
).join(', ')

const FACTS = statement(
  { k: rows({ bucket: 'smallint', user_id: 'text' }) },
  ({ k }) => `select f.*, ${TEXT('f.next_at')} as next_text from (
    select k.user_id, p.timezone, case when p.paused_until > ${NOW} then p.paused_until end as paused_until,
      s.last_seen_at, s.sessions, least(${NEXT}) as next_at
    from ${k} left join wakeful.people p on ${eqByKey('p.bucket', 'k.bucket')} and p.user_id = k.user_id
    cross join lateral (select max(o.last_user_at) as last_seen_at, count(*)::int as sessions from wakeful.sessions o
      where o.bucket = k.bucket and o.session_key > k.user_id || ':' and o.session_key < k.user_id || ';') s) f`,
)

/** By their ids. */
export async function personFacts(
  db: Db,
  userIds: readonly string[],
): Promise<Map<string, Person>> {
  if (userIds.length === 0) return new Map()
  const k = userIds.map((user_id) => ({ bucket: bucketOf(user_id), user_id }))
  const found = await commitTx(db, (tx) => FACTS.run<Person>(tx, { k }))
  return new Map(found.map((person) => [person.user_id, person]))
}

/** By name, after this one; those whose name contains `q`, in any case. */
export async function peopleByName(
  db: Db,
  { after, q, limit }: { after: string; q: string | null; limit: number },
): Promise<Placed[]> {
  return claimTx(db, (tx) =>
    tx.query<Placed>(
      `select user_id, '' as place from wakeful.people
       where user_id > $1::text collate "C" and ($2::text is null or position(lower($2) in lower(user_id)) > 0)
       order by user_id limit $3`,
      [after, q, limit],
    ),
  )
}

/** Each person is listed at the newest of their sessions. */
const SEEN = `select s.user_id, s.session_key as key, ${TEXT('s.last_user_at')} as place from wakeful.sessions s
  where s.last_user_at is not null and ($1::text is null or (s.last_user_at, s.session_key) < ($1::timestamptz, $2::text collate "C"))
    and not exists (select 1 from wakeful.sessions o
      where o.bucket = s.bucket and o.session_key > s.user_id || ':' and o.session_key < s.user_id || ';'
        and (o.last_user_at, o.session_key) > (s.last_user_at, s.session_key))
  order by s.last_user_at desc, s.session_key desc limit $3`

/** People who have written, latest message first. */
export async function peopleBySeen(
  db: Db,
  { after, limit }: { after: readonly [string, string] | null; limit: number },
): Promise<(Placed & { readonly key: string })[]> {
  const [at, key] = after ?? [null, null]
  return claimTx(db, (tx) => tx.query(SEEN, [at, key, limit]))
}

const DUE = LANES.flatMap(({ table, due, live, user }) =>
  live.map(
    (where) =>
      `(select ${user} as user_id, ${TEXT(`t.${due}`)} as place from wakeful.${table} t
        where ${where} and ($1::text is null or t.${due} >= $1::timestamptz) order by t.${due} limit $2)`,
  ),
)

/** What is due from this instant on, soonest first: one window per index. */
export async function peopleByDue(db: Db, from: string | null, size: number): Promise<Placed[][]> {
  return claimTx(db, async (tx) => {
    const windows: Placed[][] = []
    for (const text of DUE) windows.push(await tx.query<Placed>(text, [from, size]))
    return windows
  })
}
