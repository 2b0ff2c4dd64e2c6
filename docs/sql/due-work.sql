-- Claim due work.
prepare due_work as
with taken as materialized (select t.bucket, t.id, t.user_id, t.agent_type, t.agent_id, t.frequency_cron, t.timezone, t.anchor_at, t.is_active,
  t.next_run_at, t.scheduled_for, t.traceparent, t.catch_up, t.catch_up_within_seconds, t.follows_zone,
  t.fired_local, left(t.task, 200) as name from wakeful.work t 
    where t.is_active and in_flight is null and t.next_run_at <= /* now */ $1::timestamptz and true and true
    order by t.next_run_at limit $2::int for update of t skip locked)
    select n.next_ms, /* now */ $1::timestamptz as now, t.* from (select (select extract(epoch from least((select n.next_run_at from wakeful.work n
    where n.is_active and in_flight is null and n.next_run_at > /* now */ $1::timestamptz order by n.next_run_at limit 1)) - /* now */ $1::timestamptz)::float8 * 1000) as next_ms) n left join taken t on true;
