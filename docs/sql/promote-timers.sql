-- Turn due timers into events, in the order of their times.
prepare promote_timers as
with taken as (
    delete from wakeful.autonomy_timers t
    using unnest($2::smallint[], $3::text[], $4::text[], $5::uuid[]) i(bucket, key, timer_id, id) 
    where t.bucket = any(array[i.bucket]) and t.session_key = i.key and t.status || '' = 'pending'
      and t.timer_id = i.timer_id and t.id = i.id and greatest(t.fire_at, /* now */ $1::timestamptz) = /* now */ $1::timestamptz
    returning t),
  -- Gathered into one array for each session, so that numbering needs no join of one CTE with another: the planner knows
  -- nothing of their sizes and would compare every row with every other.
  heads as (
    update wakeful.sessions s
    set last_seq = s.last_seq + cardinality(h.timers), due_at = coalesce(s.due_at, /* now */ $1::timestamptz), updated_at = /* now */ $1::timestamptz
      
    from (select array_agg(k.t) as timers from (select t from taken order by (t).bucket, (t).session_key, (t).fire_at, (t).id) k
          group by (k.t).bucket, (k.t).session_key) h
    where s.bucket = any(array[(h.timers[1]).bucket]) and s.session_key = (h.timers[1]).session_key
    returning s.last_seq - cardinality(h.timers) as base, h.timers, /* now */ $1::timestamptz as at),
  numbered as (select h.base, h.at, unnest(h.timers) as t, generate_subscripts(h.timers, 1) as n from heads h),
  added as (
    insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select (t).bucket, (t).session_key, base + n, (t).id, 'timer', ('{"timer_id":' || to_json((t).timer_id)::text ||
  case when (t).payload is null then '' else ',"payload":' || (t).payload::text end || '}')::json, (t).id, (t).fire_at,
      (t).traceparent, (t).lineage, at from numbered
    returning bucket, session_key, seq, trigger_id, scheduled_for, created_at, traceparent)
  select * from added order by bucket, session_key, seq;
