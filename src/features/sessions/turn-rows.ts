/**
 * The commit of turns: checkpoint, counters, effects, timers and the proof of the turn, for many
 * sessions at once, by one statement that is fenced by the claim's token and by what the caller's decisions rest on.
 */

import { EFFECTS_PER_TURN_MAX } from '../../core/session.ts'
import { type Db, isDuplicate } from '../../store/db.ts'
import { eqByKey, inMs, lockOrder, NOW } from '../../store/due.ts'
import { type Columns, rows, rowsOf, statement } from '../../store/statement.ts'
import { hasPreferencesOf } from '../people/rows.ts'
import { type CheckpointWrite, POINTS, putPoints } from './checkpoint-rows.ts'
import { bindInFlight, timerPayload } from './in-flight-rows.ts'
import type { Decision, TurnCause } from './turn.ts'

export interface Held {
  readonly bucket: number
  readonly key: string
  readonly token: string
}

/** What the decision about a turn rests on. The counters are changed by nobody but the holder of the lease. */
export interface SessionState {
  readonly session_key: string
  readonly last_user_seq: number
  readonly consecutive_autonomous_msgs: number
  readonly last_autonomous_at: Date | null
  /** The link that was made last for it; null: none. */
  readonly pushed_to: string | null
}

/** Where the rows of a timer in flight and of its session were found. */
export interface InFlight {
  readonly place: string
  readonly head: string
}

/** What a lock shows of a session. */
interface LockedHead extends SessionState {
  /** The place of the row. */
  readonly head: string
  readonly in_flight: string | null
  /** The place of what is in flight; null where it was cancelled since. */
  readonly place: string | null
}

const LOCK = statement(
  { h: rows({ bucket: 'smallint', key: 'text', token: 'uuid' }) },
  ({
    h,
  }) => `select s.ctid as head, s.in_flight, (select t.ctid from wakeful.autonomy_timers t where t.bucket = s.bucket
      and t.session_key = s.session_key and t.id = s.in_flight and t.status || '' = 'pending') as place, s.session_key, s.last_user_seq, s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to
    from wakeful.sessions s
    join ${h} on ${eqByKey('s.bucket', 'h.bucket')} and s.session_key = h.key and s.claim_token = h.token
    ${lockOrder('s', 'session_key')} for update of s`,
)

/** Locks the heads we still hold, always in the same order. Those missing from the answer were lost. */
export async function lockHeads(db: Db, held: readonly Held[]): Promise<Map<string, LockedHead>> {
  const found = await LOCK.run<LockedHead>(db, { h: held })
  return new Map(found.map((row) => [row.session_key, row]))
}

export interface TurnWrite extends Held {
  readonly eventSeq: number
  readonly eventId: string
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly startedAt: Date
  readonly error: string | null
  /** Null exactly where there is no error. */
  readonly cause: TurnCause | null
  /** Null: the state stays as it was. */
  readonly checkpointId: string | null
  readonly retryMs: number | null
  /** Effects and timers belong to the turn's trace. */
  readonly traceparent: string | null
  /** Of the timers it sets. */
  readonly lineage: string | null
  /** The link it knows of: with one, its messages are due to be pushed. */
  readonly pushedTo: string | null
  /** The last message of the user it knows of; null where that does not matter to it. */
  readonly lastUserSeq: number | null
  readonly userId: string
  /** The turn sends an unprompted message and its decision assumed that the person has no preferences; valid only if so. */
  readonly assumesNoPreferences: boolean
  readonly decision: Decision
  /** Its event is written with it, out of a timer; null where the event exists. */
  readonly inFlight: InFlight | null
}

/** A turn and something it decided. */
type Of<T> = T & { readonly turn: TurnWrite }
type TurnEffect = Of<{ readonly effect: Decision['effects'][number] }>
type TurnTimer = Of<{ readonly timer: Decision['timers'][number] }>

const OF_SESSION: Columns<Of<object>> = {
  bucket: ['smallint', ({ turn }) => turn.bucket],
  key: ['text', ({ turn }) => turn.key],
}

const TURNS = rowsOf<TurnWrite>({
  bucket: ['smallint', (t) => t.bucket],
  key: ['text', (t) => t.key],
  token: ['uuid', (t) => t.token],
  pushed_to: ['text?', (t) => t.pushedTo],
  last_user_seq: ['int?', (t) => t.lastUserSeq],
  user_id: ['text', (t) => t.userId],
  assumesNoPreferences: ['boolean', (t) => t.assumesNoPreferences],
  event_seq: ['int', (t) => t.eventSeq],
  event_id: ['uuid', (t) => t.eventId],
  attempt: ['int', (t) => t.attempt],
  status: ['text', (t) => t.status],
  started_at: ['timestamptz', (t) => t.startedAt],
  error: ['text?', (t) => t.error],
  cause: ['text?', (t) => t.cause],
  checkpoint_id: ['text?', (t) => t.checkpointId],
  retry_ms: ['float8?', (t) => t.retryMs],
  consecutive: ['int', (t) => t.decision.counters.consecutive],
  last_autonomous_at: ['timestamptz?', (t) => t.decision.counters.lastAt],
  effect_ids: ['text', (t) => `{${t.decision.effects.map((e) => e.id).join(',')}}`],
  verdicts: ['json', (t) => JSON.stringify(t.decision.verdicts)],
})

/** Of a turn whose event is written with it. */
const LATE = rowsOf<TurnWrite>({
  head: ['tid', (t) => t.inFlight?.head ?? ''],
  place: ['tid', (t) => t.inFlight?.place ?? ''],
  key: ['text', (t) => t.key],
  token: ['uuid', (t) => t.token],
  pushed_to: ['text?', (t) => t.pushedTo],
  assumesNoPreferences: ['boolean', (t) => t.assumesNoPreferences],
  event_seq: ['int', (t) => t.eventSeq],
  event_id: ['uuid', (t) => t.eventId],
  started_at: ['timestamptz', (t) => t.startedAt],
  checkpoint_id: ['text?', (t) => t.checkpointId],
  consecutive: ['int', (t) => t.decision.counters.consecutive],
  last_autonomous_at: ['timestamptz?', (t) => t.decision.counters.lastAt],
  verdicts: [
    'json?',
    (t) => (t.decision.verdicts.length === 0 ? null : JSON.stringify(t.decision.verdicts)),
  ],
})

const EFFECTS = rowsOf<TurnEffect>({
  ...OF_SESSION,
  event_seq: ['int', ({ turn }) => turn.eventSeq],
  ordinal: ['int', ({ effect }) => effect.ordinal],
  id: ['uuid', ({ effect }) => effect.id],
  checkpoint_id: ['text', ({ turn }) => turn.checkpointId ?? ''],
  type: ['text', ({ effect }) => effect.type],
  payload: ['json', ({ effect }) => effect.payload],
  dedupe_key: ['text', ({ effect }) => effect.dedupeKey],
  status: ['text', ({ effect }) => effect.status],
  channel: ['text', ({ effect }) => effect.channel],
  reason: ['text', ({ effect }) => effect.reason],
  origin: ['json?', ({ effect }) => effect.origin],
  traceparent: ['text?', ({ turn }) => turn.traceparent],
  pushed: ['boolean', ({ turn }) => turn.pushedTo !== null],
})

const USER = `split_part(e.key, ':', 1)`
/**
 * A session that began after its person was linked: one look at an index that is empty where nobody is, said so that no partial one fits.
 * With the order only the index of people fits: for an empty table any other looks as cheap, and reads the links of a whole bucket.
 */
const REACHED = `coalesce((select true from wakeful.links l where l.bucket = e.bucket and l.user_id between ${USER} and ${USER}
  and coalesce(l.ended_at, 'infinity') = 'infinity' and l.person order by l.user_id limit 1), false)`

const putEffects = (
  e: string,
) => `insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status,
    channel, event_seq, reason, origin, traceparent, due_at, created_at, updated_at)
  select e.bucket, e.key, e.event_seq::bigint * ${EFFECTS_PER_TURN_MAX} + e.ordinal, e.id, e.checkpoint_id, e.type, e.payload,
    e.dedupe_key, e.status, e.channel, e.event_seq, e.reason, e.origin, e.traceparent,
    case when e.status = 'pending' and (e.pushed or ${REACHED}) then ${NOW} end, ${NOW}, ${NOW}
  from ${e}`

const WRITE = statement(
  { i: TURNS, c: POINTS, e: EFFECTS },
  ({ i, c, e }, has) => `with heads as (
    update wakeful.sessions s
    set done_seq = case when i.status = 'retrying' then s.done_seq else i.event_seq end,
        checkpoint_id = coalesce(i.checkpoint_id, s.checkpoint_id),
        consecutive_autonomous_msgs = i.consecutive, last_autonomous_at = i.last_autonomous_at,
        due_at = case when i.status = 'retrying' then ${inMs('i.retry_ms')}
                      when s.last_seq > i.event_seq then ${NOW} end,
        claim_token = null, claimed_at = null, leased_until = null, in_flight = null,
        attempt = case when i.status = 'retrying' then s.attempt + 1 else 0 end,
        deaths = case when i.status = 'retrying' then s.deaths else 0 end,
        updated_at = ${NOW}
    from ${i}
    where ${eqByKey('s.bucket', 'i.bucket')} and s.session_key = i.key and s.claim_token = i.token
      and s.pushed_to is not distinct from i.pushed_to and (i.last_user_seq is null or s.last_user_seq = i.last_user_seq)
      and case when i.assumesNoPreferences then not ${hasPreferencesOf('i')} else true end
    returning s.session_key, s.last_seq > i.event_seq as behind),
  proofs as (
    insert into wakeful.attempts (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at,
      error, cause, checkpoint_id, effect_ids, verdicts)
    select i.bucket, i.key, i.event_seq, i.attempt, i.event_id, i.status, i.started_at, ${NOW}, i.error, i.cause,
      i.checkpoint_id, i.effect_ids::uuid[], i.verdicts
    from ${i})
  ${has.c ? `, points as (${putPoints(c)})` : ''}
  ${has.e ? `, sent as (${putEffects(e)})` : ''}
  select count(*)::int as held, coalesce(array_agg(session_key) filter (where behind), '{}') as behind from heads`,
)

/** Thrown when the session changed after the decision was made, or its lease was lost. */
export class HeadMovedError extends Error {
  override readonly name = 'HeadMovedError'
}

/**
 * Commits turns together with their events, which so far were timers in flight. The session's row is the version that the claim wrote,
 * or that the lock showed: nothing about the session has changed since. A start is told to the millisecond: cut off, it would lie before
 * the instant of a timer that was due within the same one.
 */
const WRITE_LATE = statement(
  { i: LATE, c: POINTS, e: EFFECTS },
  ({ i, c, e }, has) => `with heads as (
    update wakeful.sessions s
    set last_seq = i.event_seq, done_seq = i.event_seq, checkpoint_id = coalesce(i.checkpoint_id, s.checkpoint_id),
        consecutive_autonomous_msgs = i.consecutive, last_autonomous_at = i.last_autonomous_at,
        claim_token = null, claimed_at = null, leased_until = null, in_flight = null, updated_at = ${NOW}
    from ${i}
    where s.ctid = i.head and s.in_flight = i.event_id and s.claim_token = i.token and s.last_seq = i.event_seq - 1
      and s.pushed_to is not distinct from i.pushed_to
      and case when i.assumesNoPreferences then not ${hasPreferencesOf('s')} else true end
    returning i.place, i.event_id, i.event_seq, i.started_at, i.checkpoint_id, i.verdicts),
  gone as (
    delete from wakeful.autonomy_timers t using heads h
    where t.ctid = h.place and t.id = h.event_id and t.status || '' = 'pending'
    returning h.*, t),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at,
      ended_at, verdicts, checkpoint_id)
    select (t).bucket, (t).session_key, event_seq, event_id, 'timer', ${timerPayload('(t)')}, event_id, (t).fire_at, (t).traceparent,
      (t).lineage, greatest(started_at, (t).fire_at), ${NOW}, verdicts, checkpoint_id from gone)
  ${has.c ? `, points as (${putPoints(c)})` : ''}
  ${has.e ? `, sent as (${putEffects(e)})` : ''}
  select count(*)::int as held from gone`,
)

const inKeyOrder = (a: Held, b: Held) => a.bucket - b.bucket || (a.key < b.key ? -1 : 1)

/**
 * Answers with the sessions in which more waits. Throws `HeadMovedError` where a session has moved: the transaction is to be rolled
 * back then, what was written is not only of the others. Sessions are locked in the order of their keys, as by everybody.
 */
export async function writeTurns(
  db: Db,
  turns: readonly TurnWrite[],
  points: readonly CheckpointWrite[],
): Promise<ReadonlySet<string>> {
  const late = turns.filter(isLate)
  const rest = late.length === 0 ? turns : turns.filter((turn) => !isLate(turn))
  if (late.length > 0) await writeLate(db, late, partsOf(late, turns, points))
  const behind = rest.length === 0 ? [] : await writeBehind(db, rest, partsOf(rest, turns, points))
  await writeTimers(db, turns)
  return new Set(behind)
}

/** A failed attempt leaves its event to be tried again. */
const isLate = ({ inFlight, status }: TurnWrite) => inFlight !== null && status === 'committed'

function partsOf(
  some: readonly TurnWrite[],
  all: readonly TurnWrite[],
  points: readonly CheckpointWrite[],
) {
  const keys = some.length === all.length ? null : new Set(some.map(({ key }) => key))
  return {
    c: keys === null ? points : points.filter(({ threadId }) => keys.has(threadId)),
    e: some.flatMap((turn) => turn.decision.effects.map((effect) => ({ turn, effect }))),
  }
}
type Parts = ReturnType<typeof partsOf>

async function writeLate(db: Db, turns: readonly TurnWrite[], parts: Parts): Promise<void> {
  const i = turns.toSorted(inKeyOrder)
  const [row] = await WRITE_LATE.run<{ held: number }>(db, { i, ...parts })
  refuseMoved(turns, row)
}

/** Of turns whose events exist. */
async function writeBehind(
  db: Db,
  turns: readonly TurnWrite[],
  parts: Parts,
): Promise<readonly string[]> {
  await bindInFlight(
    db,
    turns.filter(({ inFlight }) => inFlight !== null),
  )
  const [row] = await WRITE.run<{ held: number; behind: string[] }>(db, {
    i: turns.toSorted(inKeyOrder),
    ...parts,
  }).catch((error: unknown) => {
    // Its proof is there already: an attempt whose commit was not answered is written again.
    throw isDuplicate(error) ? new HeadMovedError('written already', { cause: error }) : error
  })
  refuseMoved(turns, row)
  return row?.behind ?? []
}

function refuseMoved(turns: readonly TurnWrite[], row: { held: number } | undefined): void {
  if (row?.held !== turns.length) throw new HeadMovedError('a session has moved')
}

const TIMERS = statement(
  {
    c: rowsOf<Of<{ readonly timerId: string }>>({
      ...OF_SESSION,
      timer_id: ['text', ({ timerId }) => timerId],
    }),
    t: rowsOf<TurnTimer>({
      ...OF_SESSION,
      id: ['uuid', ({ timer }) => timer.id],
      timer_id: ['text', ({ timer }) => timer.timerId],
      fire_at: ['timestamptz', ({ timer }) => timer.fireAt],
      payload: ['json?', ({ timer }) => timer.payload],
      status: ['text', ({ timer }) => timer.status],
      traceparent: ['text?', ({ turn }) => turn.traceparent],
      lineage: ['text?', ({ turn }) => turn.lineage],
    }),
  },
  ({ c, t }) => `with gone as (
    update wakeful.autonomy_timers t set status = 'cancelled', updated_at = ${NOW}
    from ${c}
    where ${eqByKey('t.bucket', 'c.bucket')} and t.session_key = c.key and t.timer_id = c.timer_id and t.status || '' in ('pending', 'paused')),
  made as (
    insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, payload, status, traceparent, lineage, created_at, updated_at)
    select bucket, key, id, timer_id, fire_at, payload, status, traceparent, lineage, ${NOW}, ${NOW} from ${t}
    on conflict (bucket, session_key, timer_id) do update
      set fire_at = excluded.fire_at, payload = excluded.payload, status = excluded.status, traceparent = excluded.traceparent,
        lineage = excluded.lineage, updated_at = excluded.updated_at
      where excluded.status = 'pending')
  select 1`,
)

/**
 * Most turns set no timer: this second statement runs only for those that do. A timer that a later message has
 * overtaken is kept for the record alone: it never replaces one that was set after that message.
 */
async function writeTimers(db: Db, turns: readonly TurnWrite[]): Promise<void> {
  const set = turns.flatMap((turn) => turn.decision.timers.map((timer) => ({ turn, timer })))
  const cancelled = turns.flatMap((turn) =>
    turn.decision.cancelledTimers.map((timerId) => ({ turn, timerId })),
  )
  if (set.length === 0 && cancelled.length === 0) return
  await TIMERS.run(db, { c: cancelled, t: set })
}

export interface TurnRow {
  readonly event_seq: number
  readonly event_id: string
  readonly attempt: number
  readonly status: 'committed' | 'failed' | 'retrying'
  readonly started_at: Date
  readonly finished_at: Date
  readonly error: string | null
  readonly checkpoint_id: string | null
  readonly effect_ids: string[]
  readonly verdicts: string
}
