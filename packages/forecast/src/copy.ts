/** Copies the rows of a person that can still have an effect. One statement reads them, so they are from one instant. */
import { Refusal } from '../../../src/core/errors.ts'
import { bucketOf } from '../../../src/core/session.ts'
import { tickerKey } from '../../../src/features/intents/signal.ts'
import type { Db } from '../../../src/store/db.ts'

/** Triggers of one person. */
const TRIGGERS_MAX = 1_000
const SESSIONS_MAX = 5_000
/** Events per session, for agents that read the history. */
const HISTORY_MAX = 50
/** As many signals as conditions read, global ones and the person's own. */
const SHARED_MAX = 2_000
const OWN_MAX = 200

const mine = (t: string) => `${t}.bucket = $1::smallint and ${t}.user_id = $2::text`
/** The sessions of one person are one range of keys: ';' is the character after ':'. */
const mySessions = (t: string) =>
  `${t}.bucket = $1::smallint and ${t}.session_key >= $2::text || ':' and ${t}.session_key < $2::text || ';'`
const enabledIntent = `exists (select 1 from wakeful.scheduled_intents i where i.bucket = t.bucket and i.id = t.intent_id and i.enabled)`
/** Deferred slots that are not delivered yet. */
const openDeferred = `(select p.* from wakeful.deferred p join wakeful.sessions s on s.bucket = p.bucket and s.session_key = p.session_key
  where ${mine('p')} and (p.status = 'waiting' or p.status = 'released' and p.released_seq > s.done_seq))`
const few = `limit ${TRIGGERS_MAX + 1}`
const open = `status in ('pending', 'running')`

/** Global signals, and the person's own. */
function facts(kind: 'news' | 'event' | 'calendar', order: string): string {
  const of = (owner: string, most: number) =>
    `select * from (select * from wakeful.signals where kind = '${kind}' and coalesce(user_id, '') = ${owner}
       and ${kind === 'calendar' ? 'at >= $5::timestamptz' : '$5::timestamptz is not null'} order by ${order} limit ${most}) f`
  return `${of("''", SHARED_MAX)} union all ${of('$2::text', OWN_MAX)}`
}

/** Ordered so that foreign keys find their rows. */
export const COPIED: Readonly<Record<string, string>> = {
  people: `select * from wakeful.people t where ${mine('t')}`,
  sessions: `select * from wakeful.sessions t where ${mine('t')} order by updated_at desc limit ${SESSIONS_MAX}`,
  scheduled_intents: `select * from wakeful.scheduled_intents t where ${mine('t')} and enabled ${few}`,
  intent_watches: `select * from wakeful.intent_watches t where ${mine('t')} and ${enabledIntent}`,
  intent_used: `select * from wakeful.intent_used t where ${mine('t')} and ${enabledIntent}`,
  // The row that counts repeated checks with the same result.
  intent_executions: `select t.* from wakeful.scheduled_intents i join wakeful.intent_executions t on t.bucket = i.bucket and t.id = i.quiet_execution
    where ${mine('i')} and i.enabled`,
  alarms: `select * from wakeful.alarms t where ${mine('t')} and status = 'active' ${few}`,
  work: `select * from wakeful.work t where ${mine('t')} and (is_active or in_flight is not null or exists (
      select 1 from wakeful.work_outputs o where o.bucket = t.bucket and o.work_id = t.id and o.${open})) ${few}`,
  work_outputs: `select * from wakeful.work_outputs t where ${mine('t')} and ${open}`,
  autonomy_timers: `select * from wakeful.autonomy_timers t where ${mySessions('t')} and status = 'pending' ${few}`,
  deferred: `select * from ${openDeferred} p ${few}`,
  questions: `select * from wakeful.questions t where ${mine('t')} and status = 'open' ${few}`,
  budgets: `select * from wakeful.budgets t where ${mine('t')} and day >= ($5::timestamptz at time zone 'UTC')::date`,
  // Past events are history only: their slots are not part of the forecast.
  events: `select e.* from ${openDeferred} p join wakeful.events e on e.bucket = p.bucket and e.session_key = p.session_key and e.seq = p.event_seq
    union all
    select e.bucket, e.session_key, e.seq, e.id, e.type, e.payload, e.client_id, e.trigger_id,
      case when e.seq > s.done_seq then e.scheduled_for end, e.traceparent, e.created_at, e.lineage, e.ended_at, e.verdicts, e.checkpoint_id
    from wakeful.sessions s join wakeful.events e on e.bucket = s.bucket and e.session_key = s.session_key
      and e.seq > least(s.done_seq, s.last_seq - case when $4::boolean then ${HISTORY_MAX} else 0 end)
    where ${mySessions('s')} and (s.due_at is not null or $4::boolean)`,
  attempts: `select t.* from ${openDeferred} p
    join wakeful.attempts t on t.bucket = p.bucket and t.session_key = p.session_key and t.event_seq = p.event_seq`,
  checkpoints: `select c.* from wakeful.sessions s join wakeful.checkpoints c on c.bucket = s.bucket and c.thread_id = s.session_key
      and c.checkpoint_ns = '' and c.checkpoint_id = s.checkpoint_id where ${mine('s')} and $4::boolean`,
  signals: `select s.* from (
      select key from wakeful.intent_watches t where ${mine('t')} and kind = 'price' union select unnest($3::text[])) k
    cross join (values (''), ($2::text)) o(owner)
    cross join lateral (select * from wakeful.signals s where s.kind = 'price' and s.key = k.key
      and coalesce(s.user_id, '') = o.owner order by s.at desc limit 1) s
    union all ${facts('news', 'at desc')} union all ${facts('event', 'at desc')} union all ${facts('calendar', 'at')}`,
}
const TRIGGERS = ['scheduled_intents', 'alarms', 'work', 'autonomy_timers', 'deferred', 'questions']

const READ = Object.entries(COPIED)
  .map(
    ([table, rows]) => `select '${table}' as table, row_to_json(t)::text as row from (${rows}) t`,
  )
  .join('\nunion all\n')

/** Their rows as JSON, by table. */
export type Copy = ReadonlyMap<string, readonly string[]>

/** `tickers`: also needed by the draft. `history`: agents run and may read past events. */
export async function readCopy(
  db: Db,
  userId: string,
  wanted: { readonly tickers: readonly string[]; readonly history: boolean; readonly at: Date },
): Promise<Copy> {
  const rows = await db.query<{ table: string; row: string }>(READ, [
    bucketOf(userId),
    userId,
    wanted.tickers.map(tickerKey),
    wanted.history,
    wanted.at,
  ])
  const copy = new Map<string, string[]>()
  for (const { table, row } of rows) copy.set(table, [...(copy.get(table) ?? []), row])
  const triggers = TRIGGERS.reduce((sum, table) => sum + (copy.get(table)?.length ?? 0), 0)
  if (triggers > TRIGGERS_MAX)
    throw new Refusal(
      'rule',
      `${userId} has more than ${TRIGGERS_MAX} timers, alarms, intents, works and questions; a forecast takes no more`,
    )
  return copy
}

/** Events of slots that are still open. */
export function openEvents(copy: Copy): Set<string> {
  const read = <R>(table: string) => (copy.get(table) ?? []).map((row) => JSON.parse(row) as R)
  const done = new Map(
    read<{ session_key: string; done_seq: number }>('sessions').map((row) => [
      row.session_key,
      row.done_seq,
    ]),
  )
  const waiting = read<{ id: string; session_key: string; seq: number }>('events').filter(
    ({ session_key, seq }) => seq > (done.get(session_key) ?? 0),
  )
  return new Set([...waiting, ...read<{ id: string }>('deferred')].map(({ id }) => id))
}

/**
 * A condition without signals stays false until a signal arrives, which evaluates it at once. So the checks in between, one every
 * five minutes, are skipped: 4,000 in two weeks for each condition.
 */
export async function skipIdleChecks(db: Db, until: Date): Promise<void> {
  await db.query(
    `update wakeful.scheduled_intents set next_check = least(expires_at, $1::timestamptz)
     where enabled and in_flight is null and trigger_type in ('price', 'news', 'event')
       and quiet_reason in ('unknown', 'stale', 'nothing_new') and next_check < least(expires_at, $1::timestamptz)`,
    [until],
  )
}

/** Clears leases of other processes and pushes; without history the agents' state is not needed. */
const FREED = (
  history: boolean,
) => `update wakeful.sessions set leased_until = null, claim_token = null, claimed_at = null, in_flight = null,
  pushed_to = null${history ? '' : ', checkpoint_id = null'}`

export async function writeCopy(db: Db, copy: Copy): Promise<void> {
  await db.tx(async (tx) => {
    for (const table of Object.keys(COPIED)) {
      const rows = copy.get(table) ?? []
      if (rows.length > 0)
        await tx.query(
          `insert into wakeful.${table} select r.* from unnest($1::text[]) j(row)
           cross join lateral json_populate_record(null::wakeful.${table}, j.row::json) r on conflict do nothing`,
          [rows],
        )
    }
    await tx.exec(FREED(copy.has('checkpoints')))
  })
}
