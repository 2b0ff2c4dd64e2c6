-- Commit turns of timers together with their events, if the fence still holds.
prepare commit_timers as
with heads as (
    update wakeful.sessions s
    set last_seq = i.event_seq, done_seq = i.event_seq, checkpoint_id = coalesce(i.checkpoint_id, s.checkpoint_id),
        consecutive_autonomous_msgs = i.consecutive, last_autonomous_at = i.last_autonomous_at,
        claim_token = null, claimed_at = null, leased_until = null, in_flight = null, updated_at = /* now */ $1::timestamptz
    from unnest($2::tid[], $3::tid[], $4::text[], $5::uuid[], $6::text[], $7::boolean[], $8::int[], $9::uuid[], $10::timestamptz[], $11::text[], $12::int[], $13::timestamptz[], $14::json[]) i(head, place, key, token, pushed_to, assumesNoPreferences, event_seq, event_id, started_at, checkpoint_id, consecutive, last_autonomous_at, verdicts)
    where s.ctid = i.head and s.in_flight = i.event_id and s.claim_token = i.token and s.last_seq = i.event_seq - 1
      and s.pushed_to is not distinct from i.pushed_to
      and case when i.assumesNoPreferences then not coalesce((select p.has_preferences from wakeful.people p
    where p.bucket = s.bucket and p.user_id = s.user_id::varchar collate "C"), false) else true end
    returning i.place, i.event_id, i.event_seq, i.started_at, i.checkpoint_id, i.verdicts),
  gone as (
    delete from wakeful.autonomy_timers t using heads h
    where t.ctid = h.place and t.id = h.event_id and t.status || '' = 'pending'
    returning h.*, t),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at,
      ended_at, verdicts, checkpoint_id)
    select (t).bucket, (t).session_key, event_seq, event_id, 'timer', ('{"timer_id":' || to_json((t).timer_id)::text ||
  case when (t).payload is null then '' else ',"payload":' || (t).payload::text end || '}')::json, event_id, (t).fire_at, (t).traceparent,
      (t).lineage, greatest(started_at, (t).fire_at), /* now */ $1::timestamptz, verdicts, checkpoint_id from gone)
  , points as (insert into wakeful.checkpoints (bucket, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, created_at)
    select c.bucket, c.thread_id, c.ns, c.id, c.parent_id, c.type, c.checkpoint, c.metadata, /* now */ $1::timestamptz from unnest($15::smallint[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::json[], $22::json[]) c(bucket, thread_id, ns, id, parent_id, type, checkpoint, metadata)
    on conflict (bucket, thread_id, checkpoint_ns, checkpoint_id) do update
      set checkpoint = excluded.checkpoint, metadata = excluded.metadata)
  , sent as (insert into wakeful.effects (bucket, session_key, position, id, checkpoint_id, type, payload, dedupe_key, status,
    channel, event_seq, reason, origin, traceparent, due_at, created_at, updated_at)
  select e.bucket, e.key, e.event_seq::bigint * 1000 + e.ordinal, e.id, e.checkpoint_id, e.type, e.payload,
    e.dedupe_key, e.status, e.channel, e.event_seq, e.reason, e.origin, e.traceparent,
    case when e.status = 'pending' and (e.pushed or coalesce((select true from wakeful.links l where l.bucket = e.bucket and l.user_id between split_part(e.key, ':', 1) and split_part(e.key, ':', 1)
  and coalesce(l.ended_at, 'infinity') = 'infinity' and l.person order by l.user_id limit 1), false)) then /* now */ $1::timestamptz end, /* now */ $1::timestamptz, /* now */ $1::timestamptz
  from unnest($23::smallint[], $24::text[], $25::int[], $26::int[], $27::uuid[], $28::text[], $29::text[], $30::json[], $31::text[], $32::text[], $33::text[], $34::text[], $35::json[], $36::text[], $37::boolean[]) e(bucket, key, event_seq, ordinal, id, checkpoint_id, type, payload, dedupe_key, status, channel, reason, origin, traceparent, pushed))
  select count(*)::int as held from gone;
