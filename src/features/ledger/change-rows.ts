/** Whether anything was written: asked instead of told, so that what another process writes is seen, too. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'

/** Each transaction that writes takes the next number; one that only reads takes none. Of all shards, as one text. */
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

/** The newest of everything that is one person's, with deliveries in the sessions that were active lately. */
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

/** Differs after each change of what is theirs; of one agent's where the rights of the caller end there. */
export async function changesOf(db: Db, userId: string): Promise<string> {
  const [row] = await db.query<{ seen: string }>(OF_PERSON, [bucketOf(userId), userId])
  return row?.seen ?? ''
}
