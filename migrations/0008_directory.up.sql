-- Everybody who has something here has a row among the people, so that they can be listed by name.
insert into wakeful.people (bucket, user_id, created_at)
select bucket, user_id, min(created_at) from (
  select bucket, user_id, created_at from wakeful.sessions
  union all select bucket, user_id, created_at from wakeful.alarms
  union all select bucket, user_id, created_at from wakeful.scheduled_intents
  union all select bucket, user_id, created_at from wakeful.work) p
group by bucket, user_id
on conflict do nothing;
create index people_user_idx on wakeful.people (user_id);
-- People by when they wrote last. A session that only its agent writes to is not touched: its updates stay within the page.
create index sessions_seen_idx on wakeful.sessions (last_user_at, session_key) where last_user_at is not null;
-- What somebody did about a slot of the ledger: dismissed its failure, or had its trigger run again. `id` is that of the ledger entry.
create table wakeful.slot_marks (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  agent_id text,
  dismissed_at timestamptz,
  dismissed_by text,
  retried_at timestamptz,
  retried_by text,
  -- Of a timer, which is gone once it has fired: the one that was set in its place.
  retried_as uuid,
  updated_at timestamptz not null,
  constraint slot_marks_pkey primary key (bucket, id),
  constraint slot_marks_bucket_check check (bucket between 0 and 1023),
  constraint slot_marks_dismissed_check check ((dismissed_at is null) = (dismissed_by is null)),
  constraint slot_marks_retried_check check ((retried_at is null) = (retried_by is null))
);
alter table wakeful.slot_marks enable row level security, force row level security;
grant delete, insert, select, update on wakeful.slot_marks to wakeful_owner;
create policy engine on wakeful.slot_marks to wakeful_engine using (true);
create policy owner on wakeful.slot_marks to wakeful_owner using ((user_id)::text = current_setting('wakeful.owner', true));
create policy agent on wakeful.slot_marks as restrictive to wakeful_owner using (
  coalesce(current_setting('wakeful.agent', true), '') = '' or coalesce(current_setting('wakeful.agent', true), '') = agent_id);
-- What failed, by time: few rows, found without a walk through all that went well.
create index attempts_failed_idx on wakeful.attempts (finished_at) where status = 'failed';
create index outputs_failed_idx on wakeful.work_outputs (created_at) where status = 'failed';
create index effects_failed_idx on wakeful.effects (created_at) where status = 'failed';
create index executions_failed_idx on wakeful.intent_executions (executed_at) where status = 'failed' and event_seq is null;
create index wakes_failed_idx on wakeful.alarm_wakes (created_at) where status = 'failed';
