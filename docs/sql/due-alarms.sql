-- Claim due alarms.
prepare due_alarms as
with taken as materialized (select t.bucket, t.id, t.parent_id, t.user_id, t.agent_id, t.conversation_id, t.kind, t.cron_expr, t.timezone,
  t.anchor_at, t.max_failures, t.status, t.scheduled_for, t.missed_count, t.attempt, t.delivery_id,
  t.failure_count, t.last_error, t.next_fire_at, t.due_at, t.last_fired_at, t.traceparent, t.catch_up, t.catch_up_within_seconds,
  t.follows_zone, t.fired_local, left(coalesce(nullif(t.label, ''), t.wake_message), 200) as name from wakeful.alarms t 
    where t.due_at is not null and agent_id is not null and t.due_at <= /* now */ $1::timestamptz and true and true
    order by t.due_at limit $2::int for update of t skip locked)
    select n.next_ms, /* now */ $1::timestamptz as now, t.* from (select (select extract(epoch from least((select n.due_at from wakeful.alarms n
    where n.due_at is not null and agent_id is not null and n.due_at > /* now */ $1::timestamptz order by n.due_at limit 1)) - /* now */ $1::timestamptz)::float8 * 1000) as next_ms) n left join taken t on true;
