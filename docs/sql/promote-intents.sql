-- Turn the slots of fired intents into events.
prepare promote_intents as
with taken as (
    update wakeful.scheduled_intents t
    set in_flight = i.event_id, scheduled_for = i.scheduled_for, missed_count = i.missed_count, was_met = i.was_met, seen_at = i.seen_at,
        again = i.again, fact = i.fact, evaluation_ms = i.evaluation_ms, last_checked = /* now */ $1::timestamptz, checks = t.checks + i.looks,
        calls_avoided = t.calls_avoided + i.looks - 1, quiet_execution = null, quiet_reason = null,
        fired_local = coalesce(i.fired_local, t.fired_local)
    from unnest($2::smallint[], $3::text[], $4::int[], $5::uuid[], $6::uuid[], $7::timestamptz[], $8::int[], $9::json[], $10::text[], $11::boolean[], $12::timestamptz[], $13::json[], $14::text[], $15::int[], $16::int[], $17::json[], $18::text[], $19::text[]) i(bucket, session_key, seq, event_id, id, scheduled_for, missed_count, missed, fired_local, was_met, seen_at, again, fact, evaluation_ms, looks, data, traceparent, lineage)
    where t.bucket = any(array[i.bucket]) and t.id = any(array[i.id])
    returning t.bucket, t.id as intent_id, t.intent_name, t.action_type, t.action_context, t.action_priority, t.trigger_type, t.metadata,
      i.traceparent, i.lineage, i.event_id, i.scheduled_for, i.missed_count, i.missed, i.data as trigger_data, i.session_key, i.seq,
      nullif(t.unattended, 'ask') as unattended),
  appended as (insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, 'intent', ('{"intent_id":' || to_json(intent_id) || ',"intent_name":' || to_json(intent_name) || ',"action_type":' || to_json(action_type) || ',"action_context":' || to_json(action_context) || ',"action_priority":' || to_json(action_priority) || ',"trigger_type":' || to_json(trigger_type) || ',"trigger_data":' || to_json(trigger_data) || ',"scheduled_for":' || to_json(to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ',"missed_count":' || to_json(missed_count) || ',"metadata":' || to_json(metadata) || case when missed is null then '' else ',"missed":' || to_json(missed)::text end || case when unattended is null then '' else ',"unattended":' || to_json(unattended)::text end || '}')::json,
      intent_id, scheduled_for, traceparent, lineage, /* now */ $1::timestamptz
    from taken returning id, payload, trigger_id, scheduled_for, traceparent, lineage)
  select * from appended where id = any($20::uuid[]);
