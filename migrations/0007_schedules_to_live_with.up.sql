-- What the clock of a schedule that follows its person showed at the slot that fired last: after a move that time does not fire again.
alter table wakeful.alarms add column fired_local text;
alter table wakeful.scheduled_intents add column fired_local text;
alter table wakeful.work add column fired_local text;
-- Of an event: the JSON that came with it, as it was posted.
alter table wakeful.signals add column data json;
-- Who may tell what happens outside, and by which secret. Few rows, read one by one. In the first shard.
create table wakeful.hooks (
  name text collate "C" not null,
  -- Null: what it tells reaches everybody.
  user_id text collate "C",
  scheme text not null,
  -- Kept as it is: every call is checked by it.
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint hooks_pkey primary key (name),
  constraint hooks_scheme_check check (scheme in ('standard', 'github', 'stripe')),
  constraint hooks_old_secret check ((old_secret is null) = (old_secret_until is null))
);
-- Conditions of the app: what the last poll saw. The lease of a poll is the one that workers outside have on theirs.
alter table wakeful.scheduled_intents add column observed json;
alter table wakeful.scheduled_intents add column observed_at timestamptz;
alter table wakeful.scheduled_intents add column claimed_at timestamptz;
alter table wakeful.scheduled_intents drop constraint chk_trigger_type;
alter table wakeful.scheduled_intents add constraint chk_trigger_type
  check (trigger_type in ('cron', 'interval', 'once', 'price', 'silence', 'event', 'calendar', 'news', 'condition'));
