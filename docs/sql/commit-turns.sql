-- Commit turns if the fence still holds: checkpoint, counters, effects and the proof of each turn.
prepare commit_turns as
with heads as (
    update wakeful.sessions s
    set done_seq = case when i.status = 'retrying' then s.done_seq else i.event_seq end,
        checkpoint_id = coalesce(i.checkpoint_id, s.checkpoint_id),
        consecutive_autonomous_msgs = i.consecutive, last_autonomous_at = i.last_autonomous_at,
        due_at = case when i.status = 'retrying' then ((/* now */ $1::timestamptz at time zone 'UTC' + i.retry_ms * interval '1 millisecond') at time zone 'UTC')
                      when s.last_seq > i.event_seq then /* now */ $1::timestamptz end,
        claim_token = null, claimed_at = null, leased_until = null, in_flight = null,
        attempt = case when i.status = 'retrying' then s.attempt + 1 else 0 end,
        deaths = case when i.status = 'retrying' then s.deaths else 0 end,
        updated_at = /* now */ $1::timestamptz
    from unnest($2::smallint[], $3::text[], $4::uuid[], $5::text[], $6::int[], $7::text[], $8::boolean[], $9::int[], $10::uuid[], $11::int[], $12::text[], $13::timestamptz[], $14::text[], $15::text[], $16::text[], $17::float8[], $18::int[], $19::timestamptz[], $20::text[], $21::json[]) i(bucket, key, token, pushed_to, last_user_seq, user_id, assumesNoPreferences, event_seq, event_id, attempt, status, started_at, error, cause, checkpoint_id, retry_ms, consecutive, last_autonomous_at, effect_ids, verdicts)
    where s.bucket = any(array[i.bucket]) and s.session_key = i.key and s.claim_token = i.token
      and s.pushed_to is not distinct from i.pushed_to and (i.last_user_seq is null or s.last_user_seq = i.last_user_seq)
      and case when i.assumesNoPreferences then not coalesce((select p.has_preferences from wakeful.people p
    where p.bucket = i.bucket and p.user_id = i.user_id::varchar collate "C"), false) else true end
    returning s.session_key, s.last_seq > i.event_seq as behind),
  proofs as (
    insert into wakeful.attempts (bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at,
      error, cause, checkpoint_id, effect_ids, verdicts)
    select i.bucket, i.key, i.event_seq, i.attempt, i.event_id, i.status, i.started_at, /* now */ $1::timestamptz, i.error, i.cause,
      i.checkpoint_id, i.effect_ids::uuid[], i.verdicts
    from unnest($2::smallint[], $3::text[], $4::uuid[], $5::text[], $6::int[], $7::text[], $8::boolean[], $9::int[], $10::uuid[], $11::int[], $12::text[], $13::timestamptz[], $14::text[], $15::text[], $16::text[], $17::float8[], $18::int[], $19::timestamptz[], $20::text[], $21::json[]) i(bucket, key, token, pushed_to, last_user_seq, user_id, assumesNoPreferences, event_seq, event_id, attempt, status, started_at, error, cause, checkpoint_id, retry_ms, consecutive, last_autonomous_at, effect_ids, verdicts))
  , points as (insert into wakeful.checkpoints (bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, created_at)
    select c.bucket, c.thread_id, c.ns, c.id, c.parent_id, c.type, c.checkpoint, c.metadata, /* now */ $1::timestamptz from unnest($22::smallint[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::json[], $29::json[]) c(bucket, thread_id, ns, id, parent_id, type, checkpoint, metadata)
    on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id) do update
      set checkpoint = excluded.checkpoint, metadata = excluded.metadata)
  , sent as (insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status,
    channel, event_seq, reason, origin, traceparent, due_at, created_at, updated_at)
  select e.bucket, e.key, e.event_seq::bigint * 1000 + e.ordinal, e.id, e.checkpoint_id, e.type, e.payload,
    e.dedupe_key, e.status, e.channel, e.event_seq, e.reason, e.origin, e.traceparent,
    case when e.status = 'pending' and (e.pushed or coalesce((select true from wakeful.links l where l.bucket = e.bucket and l.user_id between split_part(e.key, ':', 1) and split_part(e.key, ':', 1)
  and coalesce(l.ended_at, 'infinity') = 'infinity' and l.person order by l.user_id limit 1), false)) then /* now */ $1::timestamptz end, /* now */ $1::timestamptz, /* now */ $1::timestamptz
  from unnest($30::smallint[], $31::text[], $32::int[], $33::int[], $34::uuid[], $35::text[], $36::text[], $37::json[], $38::text[], $39::text[], $40::text[], $41::text[], $42::json[], $43::text[], $44::boolean[]) e(bucket, key, event_seq, ordinal, id, checkpoint_id, type, payload, dedupe_key, status, channel, reason, origin, traceparent, pushed))
  select count(*)::int as held, coalesce(array_agg(session_key) filter (where behind), '{}') as behind from heads;
