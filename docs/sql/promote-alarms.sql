-- Turn the slots of claimed alarms into events.
prepare promote_alarms as
with taken as (
    update wakeful.alarms a
    set in_flight = i.event_id, due_at = null, claim_token = null, claimed_at = /* now */ $1::timestamptz, attempt = a.attempt + 1,
        scheduled_for = i.scheduled_for, missed_count = i.missed_count,
        fired_local = coalesce(i.fired_local, a.fired_local), updated_at = /* now */ $1::timestamptz
    from unnest($2::smallint[], $3::text[], $4::int[], $5::uuid[], $6::uuid[], $7::timestamptz[], $8::int[], $9::json[], $10::text[]) i(bucket, session_key, seq, event_id, id, scheduled_for, missed_count, missed, fired_local)
    where a.bucket = any(array[i.bucket]) and a.id = any(array[i.id])
    returning a.bucket, coalesce(a.parent_id, a.id) as alarm_id, a.label, a.wake_message, a.payload, a.scheduled_for, a.missed_count,
      a.attempt, a.traceparent, a.lineage, i.event_id, i.session_key, i.seq, i.missed, nullif(a.unattended, 'ask') as unattended,
      nullif(a.priority, 'normal') as priority),
  appended as (insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, 'alarm', ('{"alarm_id":' || to_json(alarm_id) || ',"label":' || to_json(label) || ',"wake_message":' || to_json(wake_message) || ',"payload":' || to_json(payload) || ',"scheduled_for":' || to_json(to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ',"missed_count":' || to_json(missed_count) || ',"attempt":' || to_json(attempt) || case when missed is null then '' else ',"missed":' || to_json(missed)::text end || case when unattended is null then '' else ',"unattended":' || to_json(unattended)::text end || case when priority is null then '' else ',"priority":' || to_json(priority)::text end || '}')::json,
      alarm_id, scheduled_for, traceparent, lineage, /* now */ $1::timestamptz
    from taken returning id, payload, trigger_id, scheduled_for, traceparent, lineage)
  select * from appended where id = any($11::uuid[]);
