-- Create the outputs of due runs, and their events.
prepare promote_work as
with taken as (
    update wakeful.work w
    set run_count = w.run_count + 1, updated_at = /* now */ $1::timestamptz, fired_local = coalesce(i.fired_local, w.fired_local),
        in_flight = case when i.slot is null then w.in_flight else i.event_id end,
        scheduled_for = coalesce(i.slot, w.scheduled_for),
        next_run_at = case when i.slot is null then w.next_run_at else i.next_run_at end,
        is_active = case when i.slot is null then w.is_active else i.next_run_at is not null end
    from unnest($2::smallint[], $3::text[], $4::int[], $5::uuid[], $6::uuid[], $7::uuid[], $8::timestamptz[], $9::timestamptz[], $10::int[], $11::int[], $12::json[], $13::text[], $14::text[]) i(bucket, session_key, seq, event_id, id, output_id, slot, next_run_at, missed_count, told_count, missed, fired_local, traceparent)
    where w.bucket = any(array[i.bucket]) and w.id = any(array[i.id])
    returning w.bucket, w.id as work_id, w.user_id, w.agent_id, w.run_count as run_number, w.task, w.parameters, w.timezone,
      coalesce(i.traceparent, w.traceparent) as traceparent, w.lineage,
      i.event_id, i.output_id, i.session_key, i.seq, i.slot, i.missed_count as covered, i.told_count as missed_count, i.missed,
      coalesce(i.slot, date_trunc('milliseconds', /* now */ $1::timestamptz at time zone 'UTC') at time zone 'UTC') as scheduled_for),
  made as (
    insert into wakeful.work_outputs (bucket, id, work_id, user_id, agent_id, run_number, event_id, slot, scheduled_for, missed_count, traceparent,
      created_at, updated_at)
    select bucket, output_id, work_id, user_id, agent_id, run_number, event_id, slot, scheduled_for, covered, traceparent, /* now */ $1::timestamptz, /* now */ $1::timestamptz
    from taken),
  appended as (insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, 'work', ('{"work_id":' || to_json(work_id) || ',"run_number":' || to_json(run_number) || ',"task":' || to_json(task) || ',"parameters":' || to_json(parameters) || ',"timezone":' || to_json(timezone) || ',"scheduled_for":' || to_json(to_char(scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || ',"missed_count":' || to_json(missed_count) || case when missed is null then '' else ',"missed":' || to_json(missed)::text end || '}')::json,
      work_id, scheduled_for, traceparent, lineage, /* now */ $1::timestamptz
    from taken returning id, payload, trigger_id, scheduled_for, traceparent, lineage)
  select id from appended;
