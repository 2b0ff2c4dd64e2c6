/**
 * The commit of turns: checkpoint, counters, effects, timers and the proof of the turn, for many
 * sessions at once, fenced by the claim's token. First the heads are locked and read, the caller
 * decides by what it found there, then one statement writes everything.
 */
import { EFFECTS_PER_TURN_MAX } from '../../core/sessions/session.ts'
import type { Decision, TurnCause } from '../../core/sessions/turn.ts'
import type { Db } from '../db/db.ts'
import { keyIs, keyOrder, NOW } from '../db/due.ts'

export interface Held {
  readonly bucket: number
  readonly key: string
  readonly token: string
}

export interface HeldHead {
  readonly session_key: string
  readonly last_seq: number
  readonly last_user_seq: number
  readonly consecutive_autonomous_msgs: number
  readonly last_autonomous_at: Date | null
  /** Where its messages are pushed beside its sockets. */
  readonly pushed_to: string | null
  readonly now: Date
}

/** Locks the heads we still hold, always in the same order. Those missing from the answer were lost. */
export async function lockHeads(db: Db, held: readonly Held[]): Promise<Map<string, HeldHead>> {
  const rows = await db.query<HeldHead>(
    `select s.session_key, s.last_seq, s.last_user_seq, s.consecutive_autonomous_msgs, s.last_autonomous_at, s.pushed_to, ${NOW} as now
     from wakeful.sessions s
     join unnest($2::smallint[], $3::text[], $4::uuid[]) h(bucket, key, token)
       on ${keyIs('s.bucket', 'h.bucket')} and ${keyIs('s.session_key', 'h.key')} and s.claim_token = h.token
     ${keyOrder('s', 'session_key')} for update of s`,
    [db.now(), held.map((h) => h.bucket), held.map((h) => h.key), held.map((h) => h.token)],
  )
  return new Map(rows.map((row) => [row.session_key, row]))
}

export interface TurnWrite {
  readonly bucket: number
  readonly key: string
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
  /** Its messages are due to be pushed. */
  readonly pushed: boolean
  readonly decision: Decision
}

export interface CheckpointWrite {
  readonly bucket: number
  readonly threadId: string
  readonly ns: string
  readonly id: string
  readonly parentId: string | null
  readonly type: string | null
  readonly checkpoint: string
  readonly metadata: string
}

const WRITE = `with heads as (
    update wakeful.sessions s
    set done_seq = case when i.status = 'retrying' then s.done_seq else i.event_seq end,
        checkpoint_id = coalesce(i.checkpoint_id, s.checkpoint_id),
        consecutive_autonomous_msgs = i.consecutive, last_autonomous_at = i.last_autonomous_at,
        due_at = case when i.status = 'retrying' then ${NOW} + i.retry_ms * interval '1 millisecond'
                      when s.last_seq > i.event_seq then ${NOW} end,
        claim_token = null, claimed_at = null, leased_until = null,
        attempt = case when i.status = 'retrying' then s.attempt + 1 else 0 end,
        deaths = case when i.status = 'retrying' then s.deaths else 0 end,
        updated_at = ${NOW}
    from unnest($2::smallint[], $3::text[], $4::int[], $5::text[], $6::text[], $7::int[], $8::timestamptz[], $9::float8[])
      i(bucket, key, event_seq, status, checkpoint_id, consecutive, last_autonomous_at, retry_ms)
    where ${keyIs('s.bucket', 'i.bucket')} and ${keyIs('s.session_key', 'i.key')}),
  proofs as (
    insert into wakeful.turns (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at,
      error, cause, checkpoint_id, effect_ids, verdicts)
    select i.bucket, i.key, i.event_seq, i.attempt, i.event_id, i.status, i.started_at, ${NOW}, i.error, i.cause,
      i.checkpoint_id, i.effect_ids::uuid[], i.verdicts::json
    from unnest($2::smallint[], $3::text[], $4::int[], $5::text[], $6::text[], $10::int[], $11::uuid[], $12::timestamptz[],
      $13::text[], $14::text[], $15::text[], $38::text[])
      i(bucket, key, event_seq, status, checkpoint_id, attempt, event_id, started_at, error, effect_ids, verdicts, cause)),
  points as (
    insert into wakeful.checkpoints (bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, created_at)
    select c.bucket, c.thread_id, c.ns, c.id, c.parent_id, c.type, c.checkpoint::json, c.metadata::json, ${NOW}
    from unnest($16::smallint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[])
      c(bucket, thread_id, ns, id, parent_id, type, checkpoint, metadata)
    -- A graph that stops at its next interrupt within the same step ends in the checkpoint it began with.
    on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id) do update
      set checkpoint = excluded.checkpoint, metadata = excluded.metadata)
  insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status,
    channel, event_seq, reason, origin, traceparent, due_at, created_at, updated_at)
  select e.bucket, e.key, e.event_seq::bigint * ${EFFECTS_PER_TURN_MAX} + e.ordinal, e.id, e.checkpoint_id, e.type, e.payload::json,
    e.dedupe_key, e.status, e.channel, e.event_seq, e.reason, e.origin::json, e.traceparent,
    case when e.status = 'pending' and e.pushed then ${NOW} end, ${NOW}, ${NOW}
  from unnest($24::smallint[], $25::text[], $26::int[], $27::int[], $28::uuid[], $29::text[], $30::text[], $31::text[], $32::text[],
    $33::text[], $34::text[], $35::text[], $36::text[], $37::text[], $39::bool[])
    e(bucket, key, event_seq, ordinal, id, checkpoint_id, type, payload, dedupe_key, status, channel, reason, origin, traceparent, pushed)`

export async function writeTurns(
  db: Db,
  turns: readonly TurnWrite[],
  points: readonly CheckpointWrite[],
): Promise<void> {
  const effects = turns.flatMap((turn) => turn.decision.effects.map((effect) => ({ turn, effect })))
  await db.query(WRITE, [
    db.now(),
    turns.map((t) => t.bucket),
    turns.map((t) => t.key),
    turns.map((t) => t.eventSeq),
    turns.map((t) => t.status),
    turns.map((t) => t.checkpointId),
    turns.map((t) => t.decision.counters.consecutive),
    turns.map((t) => t.decision.counters.lastAt),
    turns.map((t) => t.retryMs),
    turns.map((t) => t.attempt),
    turns.map((t) => t.eventId),
    turns.map((t) => t.startedAt),
    turns.map((t) => t.error),
    turns.map((t) => `{${t.decision.effects.map((e) => e.id).join(',')}}`),
    turns.map((t) => JSON.stringify(t.decision.verdicts)),
    points.map((p) => p.bucket),
    points.map((p) => p.threadId),
    points.map((p) => p.ns),
    points.map((p) => p.id),
    points.map((p) => p.parentId),
    points.map((p) => p.type),
    points.map((p) => p.checkpoint),
    points.map((p) => p.metadata),
    effects.map(({ turn }) => turn.bucket),
    effects.map(({ turn }) => turn.key),
    effects.map(({ turn }) => turn.eventSeq),
    effects.map(({ effect }) => effect.ordinal),
    effects.map(({ effect }) => effect.id),
    effects.map(({ turn }) => turn.checkpointId ?? ''),
    effects.map(({ effect }) => effect.type),
    effects.map(({ effect }) => effect.payload),
    effects.map(({ effect }) => effect.dedupeKey),
    effects.map(({ effect }) => effect.status),
    effects.map(({ effect }) => effect.channel),
    effects.map(({ effect }) => effect.reason),
    effects.map(({ effect }) => effect.origin),
    effects.map(({ turn }) => turn.traceparent),
    turns.map((t) => t.cause),
    effects.map(({ turn }) => turn.pushed),
  ])
  await writeTimers(db, turns)
}

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
  await db.query(
    `with gone as (
       update wakeful.autonomy_timers t set status = 'cancelled', updated_at = ${NOW}
       from unnest($2::smallint[], $3::text[], $4::text[]) c(bucket, key, timer_id)
       where ${keyIs('t.bucket', 'c.bucket')} and ${keyIs('t.session_key', 'c.key')} and t.timer_id = c.timer_id and t.status || '' = 'pending')
     insert into wakeful.autonomy_timers (bucket, session_key, id, timer_id, fire_at, payload, status, traceparent, created_at, updated_at)
     select bucket, key, id, timer_id, fire_at, payload::json, status, traceparent, ${NOW}, ${NOW}
     from unnest($5::smallint[], $6::text[], $7::uuid[], $8::text[], $9::timestamptz[], $10::text[], $11::text[],
       $12::text[]) t(bucket, key, id, timer_id, fire_at, payload, status, traceparent)
     on conflict (bucket, session_key, timer_id) do update
       set fire_at = excluded.fire_at, payload = excluded.payload, status = excluded.status, traceparent = excluded.traceparent,
         updated_at = excluded.updated_at
       where excluded.status = 'pending'`,
    [
      db.now(),
      cancelled.map(({ turn }) => turn.bucket),
      cancelled.map(({ turn }) => turn.key),
      cancelled.map(({ timerId }) => timerId),
      set.map(({ turn }) => turn.bucket),
      set.map(({ turn }) => turn.key),
      set.map(({ timer }) => timer.id),
      set.map(({ timer }) => timer.timerId),
      set.map(({ timer }) => timer.fireAt),
      set.map(({ timer }) => timer.payload),
      set.map(({ timer }) => timer.status),
      set.map(({ turn }) => turn.traceparent),
    ],
  )
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
