-- Claim intents that are due for a check.
prepare due_intents as
with taken as materialized (select t.bucket, t.id, t.user_id, t.agent_id, t.thread_id, t.trigger_type, t.trigger_schedule, t.trigger_condition, t.timezone,
  t.anchor_at, t.expires_at, t.max_executions, t.execution_count, t.next_check, t.scheduled_for, t.enabled, t.last_executed, t.was_met,
  t.seen_at, t.again, t.fact, t.evaluation_ms, t.quiet_execution, t.quiet_reason, t.traceparent, t.lineage, t.catch_up,
  t.catch_up_within_seconds, t.missed_count, t.action_priority, t.follows_zone, t.fired_local,
  t.observed, t.intent_name as name from wakeful.scheduled_intents t 
    where t.enabled = true and next_check is not null and agent_id is not null and in_flight is null and (trigger_type <> 'condition' or observed_at >= next_check) and t.next_check <= /* now */ $1::timestamptz and true and true
    order by t.next_check limit $2::int for update of t skip locked)
    select n.next_ms, /* now */ $1::timestamptz as now, t.* from (select (select extract(epoch from least((select n.next_check from wakeful.scheduled_intents n
    where n.enabled = true and next_check is not null and agent_id is not null and in_flight is null and (trigger_type <> 'condition' or observed_at >= next_check) and n.next_check > /* now */ $1::timestamptz order by n.next_check limit 1)) - /* now */ $1::timestamptz)::float8 * 1000) as next_ms) n left join taken t on true;
