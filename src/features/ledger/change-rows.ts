/** Change detection by asking the database, so that writes of other processes are seen. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'

/** The next transaction id of every shard, as one text. Only transactions that write take an id. */
export async function writesSoFar(stores: readonly Db[]): Promise<string> {
  const each = await Promise.all(
    stores.map((db) =>
      db.query<{ at: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as at'),
    ),
  )
  return each.map(([row]) => row?.at).join(' ')
}

const SESSIONS_MAX = 100
const EFFECTS_MAX = 20
const RANGE = `t.session_key > $2 || ':' and t.session_key < $2 || ';'`
const OWN = 't.bucket = $1 and t.user_id = $2'
const newest = (table: string, at: string, where: string) =>
  `(select max(t.${at})::text || ' ' || count(*) from wakeful.${table} t where ${where})`

/** The newest timestamps of one person's rows, with deliveries in recently active sessions. */
const OF_PERSON = `select concat_ws('|',
  ${newest('sessions', 'updated_at', `t.bucket = $1 and ${RANGE}`)},
  ${newest('autonomy_timers', 'updated_at', `t.bucket = $1 and ${RANGE}`)},
  ${newest('alarms', 'updated_at', OWN)},
  ${newest('scheduled_intents', 'updated_at', OWN)},
  ${newest('work', 'updated_at', OWN)},
  ${newest('work_outputs', 'updated_at', OWN)},
  ${newest('questions', 'updated_at', OWN)},
  ${newest('deferred', 'updated_at', OWN)},
  ${newest('slot_marks', 'updated_at', OWN)},
  (select max(x.executed_at)::text || coalesce(max(x.last_seen_at)::text, '') from wakeful.intent_executions x where x.user_id = $2),
  (select row_to_json(p)::text from wakeful.people p where p.bucket = $1 and p.user_id = $2),
  (select max(f.updated_at)::text from (
     select t.bucket, t.session_key from wakeful.sessions t where t.bucket = $1 and ${RANGE}
     order by t.updated_at desc limit ${SESSIONS_MAX}) s
   cross join lateral (select e.updated_at from wakeful.effects e
     where e.bucket = s.bucket and e.session_key = s.session_key order by e.position desc limit ${EFFECTS_MAX}) f)) as seen`

/** A fingerprint of one person's rows, as far as the caller may see them. */
export async function changesOf(db: Db, userId: string): Promise<string> {
  const [row] = await db.query<{ seen: string }>(OF_PERSON, [bucketOf(userId), userId])
  return row?.seen ?? ''
}
