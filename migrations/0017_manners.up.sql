-- Manners: what a person has said of when, how often and by whom they want to be spoken to. A row without them costs nothing.
alter table wakeful.people add column timezone text;
alter table wakeful.people add column quiet_hours json not null default '[]';
alter table wakeful.people add column most_unasked_per_day int;
alter table wakeful.people add column paused_until timestamptz;
alter table wakeful.people add column muted_agents json not null default '[]';
-- Whether any of these may hold something back: asked for in passing, by every commit that speaks unasked.
alter table wakeful.people add column mannered boolean not null default false;
-- Messages that nobody asked for, on that day of the person's; counted under the lock of the row.
alter table wakeful.people add column unasked_day text;
alter table wakeful.people add column unasked_count int not null default 0;
alter table wakeful.people add constraint people_most_check check (most_unasked_per_day >= 0);
alter table wakeful.people add constraint people_count_check check (unasked_count >= 0);

-- Slots whose time came and whose moment did not. `id` is that of the event the slot had become; its trigger holds it on
-- (`held`), so that who cancels the trigger takes back the slot too. Rows stay as the record of what became of them.
create table wakeful.parked (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  session_key text collate "C" not null,
  event_seq int not null,
  kind text not null,
  trigger_id uuid,
  scheduled_for timestamptz not null,
  name text not null,
  payload json not null,
  reason text not null,
  -- At a stated time, which quiet hours let through; of the highest priority, which all but muting does.
  timed boolean not null,
  critical boolean not null,
  held boolean not null,
  rule text not null,
  status text not null default 'waiting',
  -- Null unless it waits.
  release_at timestamptz,
  -- Released by the person: no rule holds it back again.
  asked boolean not null default false,
  -- The event it was released as, alone or with others.
  released_seq int,
  parked_at timestamptz not null,
  updated_at timestamptz not null,
  traceparent text,
  primary key (bucket, id),
  constraint parked_bucket_check check (bucket between 0 and 1023),
  constraint parked_kind_check check (kind in ('alarm', 'intent', 'work')),
  constraint parked_status_check check (status in ('waiting', 'released', 'expired', 'cancelled')),
  constraint parked_release_check check ((status = 'waiting') = (release_at is not null))
) with (fillfactor = 80);
create index parked_due_idx on wakeful.parked (release_at) where release_at is not null;
create index parked_user_idx on wakeful.parked (bucket, user_id, parked_at desc, id desc);
create index parked_event_idx on wakeful.parked (bucket, session_key, released_seq) where released_seq is not null;
alter table wakeful.parked enable row level security, force row level security; grant select, insert, update, delete on wakeful.parked to wakeful_owner; create policy engine on wakeful.parked to wakeful_engine using (true); create policy owner on wakeful.parked to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- Several slots together.
alter table wakeful.events drop constraint events_type_check;
alter table wakeful.events add constraint events_type_check check (type in ('user_message', 'timer', 'tool_result', 'alarm', 'intent', 'work', 'digest'));

-- What becomes of times that passed while nobody looked.
alter table wakeful.alarms add column catch_up text not null default 'once';
alter table wakeful.alarms add column catch_up_within_seconds int;
alter table wakeful.alarms add constraint alarms_catch_up_check check (catch_up in ('once', 'skip', 'all'));
alter table wakeful.alarms add constraint alarms_within_check check (catch_up_within_seconds >= 1);
alter table wakeful.scheduled_intents add column catch_up text not null default 'once';
alter table wakeful.scheduled_intents add column catch_up_within_seconds int;
alter table wakeful.scheduled_intents add constraint intents_catch_up_check check (catch_up in ('once', 'skip', 'all'));
alter table wakeful.scheduled_intents add constraint intents_within_check check (catch_up_within_seconds >= 1);
alter table wakeful.work add column catch_up text not null default 'once';
alter table wakeful.work add column catch_up_within_seconds int;
alter table wakeful.work add constraint work_catch_up_check check (catch_up in ('once', 'skip', 'all'));
alter table wakeful.work add constraint work_within_check check (catch_up_within_seconds >= 1);

-- Slots that were given up because their time had passed: they became no event.
create table wakeful.missed (
  bucket smallint not null,
  id uuid not null,
  user_id varchar(128) collate "C" not null,
  kind text not null,
  trigger_id uuid not null,
  name text not null,
  -- The first of them, the last, and how many.
  scheduled_for timestamptz not null,
  last_for timestamptz not null,
  slots int not null,
  missed_at timestamptz not null,
  primary key (bucket, id),
  constraint missed_bucket_check check (bucket between 0 and 1023),
  constraint missed_kind_check check (kind in ('alarm', 'intent', 'work')),
  constraint missed_slots_check check (slots >= 1)
);
create index missed_at_idx on wakeful.missed (missed_at, id) where slots >= 1;
create index missed_user_idx on wakeful.missed (bucket, user_id, missed_at, id);
create index missed_trigger_idx on wakeful.missed (trigger_id, missed_at, id);
alter table wakeful.missed enable row level security, force row level security; grant select, insert, update, delete on wakeful.missed to wakeful_owner; create policy engine on wakeful.missed to wakeful_engine using (true); create policy owner on wakeful.missed to wakeful_owner using (user_id = current_setting('wakeful.owner', true));

-- Who is told of runs, and whether the last one failed: only the first failure of a row is told.
alter table wakeful.work add column notify boolean not null default true;
alter table wakeful.work add column notify_session text;
alter table wakeful.work add column failing boolean not null default false;
