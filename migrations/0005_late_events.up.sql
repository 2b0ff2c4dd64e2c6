-- A due timer is leased and run before it becomes an event; the commit of its turn writes the event with its outcome, once. Until then
-- the session names the timer. Whoever changes the session's log or timers first makes the event, without an outcome.
alter table wakeful.sessions add column in_flight uuid;

-- The outcome of a turn that was committed together with its event, at the first attempt. Null for every other event.
alter table wakeful.events add column ended_at timestamptz, add column verdicts json, add column checkpoint_id text;

-- Turns whose event was there before them, and failed attempts. `turns` shows them all.
alter table wakeful.turns rename to attempts;
alter table wakeful.attempts rename constraint turns_pkey to attempts_pkey;
alter table wakeful.attempts rename constraint turns_cause_check to attempts_cause_check;
alter table wakeful.attempts rename constraint turns_check to attempts_check;
alter table wakeful.attempts rename constraint turns_failed_check to attempts_failed_check;
alter table wakeful.attempts rename constraint turns_status_check to attempts_status_check;
create view wakeful.turns with (security_invoker = true) as
  select bucket, session_key, event_seq, attempt, event_id, status, started_at, finished_at, error, checkpoint_id, effect_ids, verdicts, cause
  from wakeful.attempts
  union all
  select e.bucket, e.session_key, e.seq, 1, e.id, 'committed', e.created_at, e.ended_at, null::text, e.checkpoint_id,
    array(select f.id from wakeful.effects f where f.bucket = e.bucket and f.session_key = e.session_key
      and f.position >= e.seq::bigint * 1000 and f.position < (e.seq::bigint + 1) * 1000 order by f.position),
    coalesce(e.verdicts, '[]'::json), null::text
  from wakeful.events e where e.ended_at is not null;
grant select on wakeful.turns to wakeful_owner;

-- The timers of a batch that are in flight: claims leave them out. Sessions are found by their timers again when a process dies.
truncate wakeful.leases;
drop index wakeful.leases_due_idx;
alter table wakeful.leases drop column buckets, drop column keys, add column ids uuid[] not null;
