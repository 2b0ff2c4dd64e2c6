/** The tables as they are between two steps, in one statement. */
import type { Db } from '../../src/store/db/db.ts'

export interface SessionFact {
  readonly key: string
  readonly last_seq: number
  readonly done_seq: number
  /** When its next turn may begin; null where none waits. */
  readonly due: number | null
  readonly leased: boolean
  readonly consecutive: number
  /** What the agent's state says it has seen; null before its first checkpoint. */
  readonly seen: number[] | null
}
export interface EventFact {
  readonly key: string
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly trigger_id: string | null
  readonly slot: number | null
  readonly attempt: number | null
  readonly timer_id: string | null
}
export interface TurnFact {
  readonly key: string
  readonly seq: number
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly cause: string | null
  readonly allowed: boolean[]
  /** By manners: its slot comes later, or nothing is said. The agent was not woken, or not heard. */
  readonly held: 'later' | 'dropped' | null
}
export interface EffectFact {
  readonly key: string
  readonly seq: number
  readonly position: number
  readonly id: string
  readonly type: string
  readonly content: string | null
  readonly status: string
  readonly reason: string
  readonly at: number
}
export interface TimerFact {
  readonly key: string
  readonly timer_id: string
  readonly fire_at: number
  readonly status: string
}
export interface AlarmFact {
  readonly id: string
  readonly status: string
  readonly kind: string
  readonly due: number | null
  readonly in_flight: boolean
}
/** A slot whose moment has not come. */
export interface ParkedFact {
  readonly id: string
  readonly key: string
  readonly status: string
  readonly until: number | null
  readonly released_seq: number | null
}
export interface OutputFact {
  readonly work_id: string
  readonly run_number: number
  readonly status: string
  readonly slot: number | null
}

export interface Snapshot {
  readonly sessions: readonly SessionFact[]
  readonly events: readonly EventFact[]
  readonly turns: readonly TurnFact[]
  readonly effects: readonly EffectFact[]
  readonly timers: readonly TimerFact[]
  readonly alarms: readonly AlarmFact[]
  readonly outputs: readonly OutputFact[]
  readonly parked: readonly ParkedFact[]
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

const PARTS: Readonly<Record<keyof Snapshot, string>> = {
  sessions: `select s.session_key as key, last_seq, done_seq, ${ms('due_at')} as due, claim_token is not null as leased,
      consecutive_autonomous_msgs as consecutive, (select k.checkpoint -> 'seen' from wakeful.checkpoints k
        where k.bucket = s.bucket and k.thread_id = s.session_key and k.checkpoint_ns = '' and k.checkpoint_id = s.checkpoint_id) as seen
    from wakeful.sessions s order by 1`,
  events: `select session_key as key, seq, id, type, trigger_id, ${ms('scheduled_for')} as slot,
      (payload ->> 'attempt')::int as attempt, payload ->> 'timer_id' as timer_id from wakeful.events order by 1, 2`,
  turns: `select session_key as key, event_seq as seq, attempt, status, cause,
      coalesce((select json_agg(v -> 'allowed') from json_array_elements(verdicts) v), '[]') as allowed,
      (select case when (v ->> 'parked')::boolean then 'later' else 'dropped' end
       from json_array_elements(verdicts) v where (v -> 'parked') is not null limit 1) as held
    from wakeful.turns order by 1, 2, 3`,
  effects: `select session_key as key, event_seq as seq, position, id, type, payload ->> 'content' as content, status, reason,
      ${ms('created_at')} as at from wakeful.effects order by 1, position`,
  timers: `select session_key as key, timer_id, ${ms('fire_at')} as fire_at, status from wakeful.autonomy_timers order by 1, 2`,
  alarms: `select id, status, kind, ${ms('due_at')} as due, in_flight is not null as in_flight from wakeful.alarms order by 1`,
  parked: `select id, session_key as key, status, ${ms('release_at')} as until, released_seq from wakeful.parked order by 1`,
  outputs: `select work_id, run_number, status, ${ms('slot')} as slot from wakeful.work_outputs order by 1, 2`,
}

const ALL = Object.entries(PARTS)
  .map(([name, part]) => `(select coalesce(json_agg(r), '[]') from (${part}) r) as ${name}`)
  .join(', ')

export async function snapshotOf(db: Db): Promise<Snapshot> {
  const [row] = await db.query<Record<keyof Snapshot, string>>(`select ${ALL}`)
  const parts = Object.entries(row ?? {}).map(([name, json]) => [name, JSON.parse(json)])
  return Object.fromEntries(parts) as Snapshot
}

/** Another number after whatever has written since. */
export async function versionOf(db: Db): Promise<string> {
  const [row] = await db.query<{ version: string }>(
    'select pg_snapshot_xmax(pg_current_snapshot())::text as version',
  )
  return row?.version ?? ''
}
